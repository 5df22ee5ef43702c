"""Runs on Dask workers: nothing is paid twice, and a scheduler that is gone is told so."""

import os
import signal
import stat
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from mflno.campaign import Campaign, Plan, read_campaign
from mflno.campaign.dask_runner import Dask, cluster_of
from mflno.campaign.task import Job, search_path
from mflno.errors import ArgumentError, StoreError
from mflno.store import find_run, list_runs

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
]
SLOW = """
import time
from pathlib import Path
import numpy as np
from mflno.problems import Chain

class Slow(Chain):
    name = "slow"
    def solve(self, case, level):
        if level == 2:
            place = Path(__file__).parent
            with open(place / "starts.log", "a") as log:
                log.write(f"{case[0]!r}\\n")
            (place / "begun").touch()
            time.sleep(2.0)
        return super().solve(case, level)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def small(problem="chain", **words):
    return Plan(problem, **{"budget": 5, "method": "pod-gp", "pool": "grid:9",
                            "lower": "grid:4", "draws": 8, **words})  # fmt: skip


def job(root, name="0000", case=(3.0, 0.3)):
    spec = {"run": name, "attempt": 0, "round": 0, "case": list(case), "level": 2,
            "cost": 1.0, "problem": f"{root}/slow.py:Slow", "folder": str(root)}  # fmt: skip
    return Job(str(root), name, spec, None, search_path())


def patient(holds, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to pass")


def starts(root):
    path = root / "starts.log"
    return path.read_text().splitlines() if path.exists() else []


def worker_pids(runner):
    return list(runner.client.run(os.getpid).values())


@pytest.fixture
def slow(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    return tmp_path


def test_a_campaign_on_dask_is_that_on_processes(tmp_path):
    for name in ("dask", "inline"):
        campaign = Campaign(tmp_path / name, plan=small(runner=name, jobs=2))
        campaign.run(show=False)
    one, other = (read_campaign(tmp_path / name) for name in ("dask", "inline"))
    assert [run.case for run in one.runs] == [run.case for run in other.runs]
    assert np.array_equal(one.trajectories().values, other.trajectories().values)


def test_a_worker_killed_in_the_middle_of_a_run_costs_that_attempt_alone(slow):
    runner = Dask(slots=1)
    try:
        runner.submit(job(slow))
        patient(lambda: (slow / "begun").exists())
        os.kill(worker_pids(runner)[0], signal.SIGKILL)
        back = patient(lambda: runner.ended(0.5))
    finally:
        runner.close()
    assert [each.name for each in back] == ["0000"]
    record = find_run(slow / "runs", "0000")
    assert record is not None
    assert record.succeeded
    assert len(starts(slow)) == 2
    assert [each.name for each in list_runs(slow / "runs")] == ["0000"]


def test_a_worker_killed_before_its_result_was_gathered_is_not_paid_twice(slow):
    runner = Dask(slots=1)
    try:
        runner.submit(job(slow))
        patient(lambda: find_run(slow / "runs", "0000"))
        patient(lambda: all(future.done() for future in runner.work))
        # The scheduler now starts the task again, for nobody has fetched what it gave.
        os.kill(worker_pids(runner)[0], signal.SIGKILL)
        time.sleep(1.0)
        back = patient(lambda: runner.ended(0.5))
    finally:
        runner.close()
    assert [each.name for each in back] == ["0000"]
    assert len(starts(slow)) == 1


@pytest.fixture
def standing(tmp_path):
    """A scheduler and a worker in processes of their own."""
    file = tmp_path / "scheduler.json"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    work = [sys.executable, "-m", "distributed.cli.dask_worker"]
    words = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen([*dask, *words, "--no-dashboard"], **quiet)
    patient(file.exists)
    words = ["--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard"]
    worker = subprocess.Popen([*work, *words], **quiet)
    yield file, scheduler
    for process in (worker, scheduler):
        process.terminate()
        process.wait(20)


def test_a_scheduler_that_is_gone_is_a_clear_error_and_the_campaign_goes_on(slow, standing):
    file, scheduler = standing
    plan = small(
        f"{slow}/slow.py:Slow", budget=3, jobs=1, runner={"name": "dask", "address": str(file)}
    )
    campaign = Campaign(slow / "c", plan=plan)

    class Doomed(Dask):
        def submit(self, job):
            super().submit(job)
            if job.name == "0001":
                scheduler.kill()

    with pytest.raises(StoreError, match="repeat the same line"):
        campaign.run(runner=Doomed(slots=1, address=str(file)), show=False)
    assert read_campaign(slow / "c").state.known >= 1
    with pytest.raises(StoreError, match="does not answer"):
        Campaign(slow / "c").run(show=False)
    Campaign(slow / "c", plan=small(f"{slow}/slow.py:Slow", budget=3)).run(show=False)
    assert read_campaign(slow / "c").state.known == 3


def test_a_run_on_a_standing_scheduler_outlives_its_driver(slow, standing):
    file, _ = standing
    first = Dask(slots=1, address=str(file))
    first.submit(job(slow))
    patient(lambda: (slow / "begun").exists())
    first.close()
    second = Dask(slots=1, address=str(file))
    second.submit(job(slow))
    try:
        patient(lambda: second.ended(0.5))
    finally:
        second.close()
    assert len(starts(slow)) == 1


def test_the_job_script_for_slurm_holds_what_was_asked(tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "sbatch"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ncp \"$1\" {tmp_path}/job.sh\necho 'Submitted batch job 42'\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    (fake.parent / "scancel").write_text("#!/bin/sh\n")
    (fake.parent / "scancel").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    words = {"queue": "long", "walltime": "12:00:00", "memory": "8GB", "interface": "lo"}
    cluster = cluster_of("slurm", 1, words)
    try:
        text = patient(
            lambda: (tmp_path / "job.sh").exists() and (tmp_path / "job.sh").read_text()
        )
    finally:
        cluster.close()
    assert "#SBATCH -p long" in text
    assert "#SBATCH -t 12:00:00" in text
    assert "#SBATCH --mem=8G" in text
    assert "distributed.cli.dask_worker" in text
    assert "--nthreads 1" in text


def test_an_unknown_cluster_is_refused():
    with pytest.raises(ArgumentError, match="local, slurm, pbs"):
        cluster_of("lsf", 1, {})


def test_a_scheduler_that_never_was_is_refused_at_once():
    with pytest.raises(StoreError, match="does not answer"):
        Dask(address="tcp://127.0.0.1:9")
