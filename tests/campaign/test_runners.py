"""Runs in processes of their own: solvers that fail, executors, scripts."""

import os
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from mflno.campaign import Campaign, Local, Plan, Pool, read_campaign
from mflno.campaign.naming import source_of
from mflno.campaign.task import Job, perform, search_path
from mflno.errors import ArgumentError, MflnoError
from mflno.problems import Chain, Duffing, ExternalProblem, Lorenz
from mflno.store import find_run, incomplete_runs, list_runs, load_output

SOURCES = Path(__file__).parent / "sources"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def small(problem="chain", **words):
    return Plan(problem, **{"budget": 5, "method": "pod-gp", "pool": "grid:9", "batch": 2,
                            "lower": "grid:4", "draws": 16, **words})  # fmt: skip


def job(root, name="0000", case=(3.0, 0.3), problem="chain", limit=None):
    spec = {"run": name, "attempt": 0, "round": 0, "case": list(case), "level": 2,
            "cost": 1.0, "problem": problem, "folder": str(root)}  # fmt: skip
    return Job(str(root), name, spec, limit, search_path())


def test_a_run_in_a_process_gives_the_solvers_numbers(tmp_path):
    assert perform(job(tmp_path)) == "0000"
    found = load_output(tmp_path / "runs", "0000")
    chain = Chain()
    assert np.array_equal(found["values"], chain.solve(np.array([3.0, 0.3]), 2))
    assert np.array_equal(found["inputs"], chain.inputs(np.array([3.0, 0.3]), 2))
    assert np.array_equal(found["grid"], chain.levels[2].grid)
    begin = time.perf_counter()
    perform(job(tmp_path))
    assert time.perf_counter() - begin < 0.1
    assert len(list_runs(tmp_path / "runs")) == 1


def test_two_attempts_at_once_solve_once(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(perform, [job(tmp_path)] * 2))
    assert [record.name for record in list_runs(tmp_path / "runs")] == ["0000"]
    assert incomplete_runs(tmp_path / "runs") == []


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [("divergent", "error"), ("empty", "nan"), ("crashing", "signal"), ("hanging", "timeout"),
     ("raising", "error"), ("leaving", "exit")],
)  # fmt: skip
def test_a_failing_run_is_told_by_its_kind(trouble, kind, tmp_path):
    source = f"{SOURCES}/troubled.py:{trouble}"
    runner = Local(1)
    runner.submit(job(tmp_path, case=(3.0, 0.15), problem=source, limit=3.0))
    while not runner.ended(1.0):
        pass
    runner.close()
    record = find_run(tmp_path / "runs", "0000")
    assert record is not None
    assert (record.succeeded, record.kind) == (False, kind)
    assert (tmp_path / "runs" / "0000" / "log.txt").exists()


def test_a_solver_that_fails_in_part_of_the_box_is_worked_around(tmp_path):
    source = f"{SOURCES}/troubled.py:divergent"
    campaign = Campaign(tmp_path / "c", plan=small(source, design="sobol", budget=7))
    campaign.run(show=False)
    history = campaign.history
    failed = [run for run in history.runs if run.state == "failed"]
    assert failed
    assert all(run.case[1] < 0.2 for run in failed)
    assert all(run.detail == "the time step fell below 1e-12" for run in failed)
    assert len({run.case for run in history.runs}) == len(history.runs) == 7
    assert history.state.fitted == history.state.done
    assert [each["run"] for each in history.failures] == [run.name for run in failed]


def test_a_run_that_was_killed_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("FLAKY_MARKS", str(tmp_path))
    plan = small(f"{SOURCES}/troubled.py:Flaky", budget=3, jobs=2)
    campaign = Campaign(tmp_path / "c", plan=plan)
    campaign.run(show=False)
    assert [run.state for run in campaign.history.runs] == ["done"] * 3
    assert [run.attempt for run in campaign.history.runs] == [1] * 3
    assert {each["kind"] for each in campaign.history.failures} == {"signal"}


def test_what_would_meet_every_run_stops_the_campaign_and_spends_nothing(tmp_path):
    plan = small(f"{SOURCES}/troubled.py:Unlicensed")
    with pytest.raises(MflnoError, match="the exact chain needs pricey"):
        Campaign(tmp_path / "c", plan=plan).run(show=False)
    state = read_campaign(tmp_path / "c").state
    assert not state.named("failed", "done")


def test_any_executor_will_do(tmp_path):
    results = []
    for kind in (ThreadPoolExecutor, ProcessPoolExecutor):
        with kind(2) as executor:
            campaign = Campaign(tmp_path / kind.__name__, plan=small())
            campaign.run(runner=Pool(executor, slots=2), show=False)
        results.append([run.case for run in campaign.history.runs])
        assert campaign.history.state.known == 5
    assert results[0] == results[1]


def test_problems_are_found_by_name_where_they_have_one():
    assert source_of(Duffing()) == "duffing"
    assert source_of(Duffing.wide()) == "duffing-wide"
    assert source_of(Lorenz()) == "lorenz"

    class Local(Chain):
        name = "local"

    assert source_of(Local()) == ""


def own_problem():
    solve = lambda case, grid: np.exp(-case["a"] * grid)
    return ExternalProblem(
        "decay",
        parameters=[Chain.parameters[0].__class__("a", 0.1, 1.0)],
        levels=Chain.levels[:2],
        solvers=[solve, solve],
    )


def test_a_nameless_problem_is_solved_right_here(tmp_path):
    campaign = Campaign(tmp_path / "c", own_problem(), small(""))
    assert campaign.plan.problem == ""
    campaign.run(show=False)
    assert campaign.history.state.known == 5
    with pytest.raises(ArgumentError, match="pass the problem object again"):
        Campaign(tmp_path / "c")
    Campaign(tmp_path / "c", own_problem(), small("", budget=6)).run(show=False)


SCRIPT = """
    import numpy as np, mflno
    from mflno.problems import ExternalProblem
    def solve(case, grid):
        return np.exp(-case["a"] * grid)
    problem = ExternalProblem(
        "decay", parameters=[mflno.Parameter("a", 0.1, 1.0)], solvers=[solve, solve],
        levels=[mflno.Level("coarse", np.linspace(0, 1, 9), 1.0),
                mflno.Level("fine", np.linspace(0, 1, 17), 10.0)])
"""
RUN = """
    plan = mflno.Plan(budget=3, method="pod-gp", lower="grid:4", pool="grid:9", draws=8)
    mflno.Campaign("c", problem, plan).run(show=False)
"""


def script(tmp_path, text):
    path = tmp_path / "own.py"
    path.write_text(textwrap.dedent(text))
    words = [sys.executable, str(path)]
    return subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)


@pytest.mark.slow
def test_a_scripts_own_problem_is_solved_in_processes(tmp_path):
    guarded = "    if __name__ == '__main__':\n" + textwrap.indent(RUN.strip("\n"), "    ")
    ended = script(tmp_path, SCRIPT + guarded)
    assert ended.returncode == 0, ended.stderr
    assert read_campaign(tmp_path / "c").plan.problem == f"{tmp_path}/own.py:problem"
    assert read_campaign(tmp_path / "c").state.known == 3


def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    ended = script(tmp_path, SCRIPT + RUN)
    assert ended.returncode == 1
    assert "guard the script by if __name__ == '__main__'" in ended.stderr
    assert not read_campaign(tmp_path / "c").state.named("failed", "done")


def test_no_run_outlives_a_closed_runner(tmp_path):
    source = f"{SOURCES}/troubled.py:hanging"
    runner = Local(1)
    runner.submit(job(tmp_path, case=(3.0, 0.15), problem=source))
    time.sleep(1.0)
    runner.close()
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes()
        except OSError:
            continue
        assert str(tmp_path).encode() not in words
    assert find_run(tmp_path / "runs", "0000") is None
