"""Sampling: the same file however it was made, and no finished case solved twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mflno
from mflno.cache import Cache, cache_folder
from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed, StoreError
from mflno.problems import Chain, Duffing, grid_cases
from mflno.sampling import grouped, paced, sample

PROBLEM = '''
import os, signal, sys, time
import numpy as np
from mflno.data import Level, Parameter

class Wave:
    """sin(k t + shift), slowly, with a log of every solve that was begun."""

    name, version, outputs = "wave", "1", ("u",)
    parameters = (Parameter("k", 0.0, 10.0),)
    levels = (
        Level("low", np.linspace(0, 1, 20), 0.1),
        Level("high", np.linspace(0, 1, 40), 1.0),
    )

    def __init__(self, log, seconds=0.0):
        self.log, self.seconds = str(log), seconds

    def inputs(self, case, level):
        return np.empty((0, self.levels[level].points))

    def solve(self, case, level):
        with open(self.log, "a") as file:
            file.write(f"{os.getpid()} {float(case[0])!r}\\n")
        time.sleep(self.seconds)
        k = float(case[0])
        if k == 1.0:
            raise ValueError("no answer for one")
        if k == 2.0:
            os.kill(os.getpid(), signal.SIGKILL)
        if k == 3.0:
            os._exit(7)
        values = np.sin(k * self.levels[level].grid)[None]
        return values * np.nan if k == 4.0 else values

class Waves(Wave):
    def solve_many(self, cases, level):
        return [self.solve(case, level) for case in cases]
'''
DRIVER = """
import sys, numpy as np
from waves import Wave
import mflno
if __name__ == "__main__":
    cases = np.linspace(5.0, 9.0, 60)[:, None]
    log, cache, out, jobs = sys.argv[1:]
    problem = Wave(log, 0.02)
    found = mflno.sample(problem, cases, 1, cache=cache, jobs=int(jobs), show=False)
    mflno.write_trajectories(found, out)
"""


@pytest.fixture
def waves(tmp_path, monkeypatch):
    """A module of its own, so that other processes can import the problem."""
    (tmp_path / "waves.py").write_text(PROBLEM)
    (tmp_path / "driver.py").write_text(DRIVER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "waves", raising=False)
    log = tmp_path / "log"
    module = __import__("waves")
    return SimpleNamespace(
        one=lambda: module.Wave(log), many=lambda: module.Waves(log), cache=tmp_path / "cache",
        log=lambda: log.read_text().split()[1::2] if log.exists() else [],
    )  # fmt: skip


def rows(*numbers):
    return [[float(number)] for number in numbers]


@pytest.mark.parametrize("jobs", [1, 2])
def test_solutions_come_in_the_order_of_their_cases(waves, jobs):
    found = sample(waves.one(), rows(9, 5, 7), 1, jobs=jobs, cache=False)
    assert found.cases[:, 0].tolist() == [9.0, 5.0, 7.0]
    for case, values in zip(found.cases, found.values, strict=True):
        assert np.array_equal(values[0], np.sin(case[0] * found.grid))
    assert found.inputs.shape == (3, 0, 40)


def test_a_case_in_several_rows_is_solved_once(waves):
    found = sample(waves.one(), rows(5, 6, 5, 5), 0, cache=False)
    assert len(waves.log()) == 2
    assert np.array_equal(found.values[0], found.values[3])


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_was_solved_before_is_read(waves, jobs):
    first = sample(waves.one(), rows(5, 6), 0, cache=waves.cache, jobs=jobs)
    again = sample(waves.many(), rows(6, 7, 5), 0, cache=waves.cache, jobs=jobs)
    assert sorted(waves.log()) == ["5.0", "6.0", "7.0"]
    assert np.array_equal(first.values, again.values[[2, 0]])


def test_another_version_box_grid_or_level_is_another_problem(waves):
    problem = waves.one()
    sample(problem, rows(5), 0, cache=waves.cache)
    for change in [
        {"version": "2"},
        {"name": "swell"},
        {"parameters": (Parameter("k", 0.0, 11.0),)},
        {"levels": (Level("low", np.linspace(0, 2, 20), 0.1), problem.levels[1])},
        {"outputs": ("v",)},
    ]:
        before, other = len(waves.log()), waves.one()
        for name, value in change.items():
            setattr(other, name, value)
        sample(other, rows(5), 0, cache=waves.cache)
        assert len(waves.log()) == before + 1, change
    sample(problem, rows(5), 1, cache=waves.cache)
    sample(problem, rows(5), 0, cache=waves.cache)
    assert len(waves.log()) == 7


def test_a_damaged_file_in_the_cache_is_solved_again(waves):
    whole = sample(waves.one(), rows(5), 0, cache=waves.cache)
    (path,) = waves.cache.glob("*/*.safetensors")
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(bytes(data))
    again = sample(waves.one(), rows(5), 0, cache=waves.cache)
    assert len(waves.log()) == 2
    assert np.array_equal(whole.values, again.values)


@pytest.mark.parametrize("kind", ["one", "many"])
def test_a_failure_costs_its_own_case_alone(waves, kind):
    failures = {}
    problem = getattr(waves, kind)()
    found = sample(problem, rows(5, 1, 4, 6), 0, cache=waves.cache, failures=failures)
    assert found.cases[:, 0].tolist() == [5.0, 6.0]
    assert {row: error.kind for row, error in failures.items()} == {1: "error", 2: "nan"}
    assert "ValueError: no answer for one (waves.py:" in failures[1].detail
    with pytest.raises(SolveFailed, match=r"1 of 2 cases of wave failed, .* row 1 \(k = 1\)"):
        sample(problem, rows(5, 1), 0, cache=waves.cache)


def test_a_solver_that_kills_its_process_costs_its_own_case_alone(waves):
    failures = {}
    cases = rows(2, 5, 3, 6, 1, 7)
    found = sample(waves.one(), cases, 0, jobs=2, cache=False, failures=failures)
    assert found.cases[:, 0].tolist() == [5.0, 6.0, 7.0]
    assert {row: each.kind for row, each in failures.items()} == {
        0: "signal",
        2: "exit",
        4: "error",
    }
    assert "SIGKILL" in failures[0].detail
    assert "exit code 7" in failures[2].detail


def test_a_killed_group_is_solved_one_by_one(waves):
    failures = {}
    found = sample(
        waves.many(), rows(5, 6, 2, 7), 0, jobs=2, cache=waves.cache, failures=failures
    )
    assert found.cases[:, 0].tolist() == [5.0, 6.0, 7.0]
    assert failures[2].kind == "signal"


def test_groups_are_a_few_a_process_and_never_large():
    assert grouped([3, 1, 2], 2) == [[3], [1], [2]]
    assert grouped(list(range(16)), 2) == [[n, n + 1] for n in range(0, 16, 2)]
    assert grouped([], 4) == []
    assert max(map(len, grouped(list(range(1000)), 2))) == 32


def test_groups_grow_while_they_are_quick_and_shrink_when_they_are_slow(monkeypatch):
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("mflno.sampling.time.monotonic", lambda: clock.now)
    sizes = []
    for group in paced(list(range(500))):
        sizes.append(len(group))
        # The first three groups take no time, then a case takes a second.
        clock.now += len(group) if len(sizes) > 3 else 0.0
    assert sizes[:5] == [16, 128, 128, 128, 2]
    assert set(sizes[4:]) == {2}
    assert sum(sizes) == 500
    assert [*paced([])] == []


def test_nothing_is_left_of_a_failed_write(waves, monkeypatch):
    sample(waves.one(), rows(5), 0, cache=waves.cache)
    (folder,) = waves.cache.iterdir()
    old, fresh = folder / ".a.1-2.tmp", folder / ".b.3-4.tmp"
    for path in (old, fresh):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200, time.time() - 7200))
    sample(waves.one(), rows(5), 0, cache=waves.cache)
    assert not old.exists()
    assert fresh.exists()


def test_arguments_are_checked_before_anything_is_solved(waves, tmp_path):
    for keywords, words in [
        ({"jobs": 0}, "sample.jobs: must be 1 or more"),
        ({"level": 2}, r"wave.level: must be one of 0 \(low\), 1 \(high\)"),
        ({"cases": np.empty((0, 1))}, "must not be empty"),
        ({"cases": rows(11)}, r"k must lie in \[0, 10\]"),
    ]:
        given = {"cases": rows(5), "level": 0, "cache": False, **keywords}
        with pytest.raises(ArgumentError, match=words):
            sample(waves.one(), **given)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="set MFLNO_CACHE"):
        sample(waves.one(), rows(5), 0, cache=tmp_path / "file")
    assert waves.log() == []


def test_a_problem_that_cannot_travel_is_refused(waves):
    problem = waves.one()
    problem.callback = lambda: None
    with pytest.raises(ArgumentError, match="picklable"):
        sample(problem, rows(5, 6), 0, jobs=2, cache=False)


def test_a_script_without_guard_is_told_so(waves, tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import mflno, waves\n"
        f"mflno.sample(waves.Wave({str(tmp_path / 'log')!r}), [[5.0], [6.0]], 0, jobs=2, "
        "cache=False)\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 1
    assert "guard the script by if __name__ == '__main__'" in done.stderr


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("MFLNO_CACHE", raising=False)
    assert cache_folder() == tmp_path / "xdg" / "mflno"
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    sample(Chain(), [[3.0, 0.2]], 0)
    assert list((tmp_path / "own").iterdir())


def test_the_cache_does_not_depend_on_how_it_was_filled(tmp_path):
    problem, cases = Duffing(), grid_cases(Duffing(), 2)
    alone, together = tmp_path / "alone", tmp_path / "together"
    for case in cases:
        sample(problem, [case], 0, cache=alone)
    sample(problem, cases, 0, cache=together)
    files = sorted(path.relative_to(alone) for path in alone.rglob("*.safetensors"))
    assert len(files) == 4
    for file in files:
        assert (alone / file).read_bytes() == (together / file).read_bytes()


def running(pid):
    """Whether a process is there and not merely waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ten_kills_leave_the_file_of_one_uninterrupted_run(waves, tmp_path, jobs):
    driver = [sys.executable, str(tmp_path / "driver.py")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    def begin(name):
        words = [*driver, tmp_path / f"{name}.log", tmp_path / name, tmp_path / f"{name}.npz"]
        return subprocess.Popen([*map(str, words), str(jobs)], env=environment)

    assert begin("whole").wait(timeout=120) == 0
    log, generator, kills = tmp_path / "killed.log", np.random.default_rng(7), 0
    attempt = 0
    while kills < 10:
        attempt += 1
        finished, before = finished_cases(tmp_path / "killed"), len(lines(log))
        process = begin("killed")
        # Every other run is given the time to begin some solves, however slow the machine.
        wanted = before + int(generator.integers(1, 6)) * (attempt % 2)
        while process.poll() is None and len(lines(log)) < wanted:
            time.sleep(0.01)
        time.sleep(float(generator.uniform(0.0, 0.15)))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
        wait_until_gone({pid for pid, _ in lines(log)[before:]})
        begun = {case for _, case in lines(log)[before:]}
        assert not begun & finished, "a finished case was solved again"
    assert len(finished_cases(tmp_path / "killed")) > 0
    assert begin("killed").wait(timeout=120) == 0
    assert (tmp_path / "killed.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert len({case for _, case in lines(log)}) == 60
    assert len(lines(log)) <= 60 + jobs * kills


def wait_until_gone(pids):
    """Wait for the processes to end; workers must not outlive their caller."""
    deadline = time.monotonic() + 10.0
    while any(map(running, pids)):
        assert time.monotonic() < deadline, "a worker outlived its caller"
        time.sleep(0.01)


def lines(log):
    """Process and case of every solve that was begun."""
    text = log.read_text() if log.exists() else ""
    found = (line.split() for line in text.splitlines())
    return [(int(pid), float(word)) for pid, word in found]


def finished_cases(folder):
    """The cases whose solution is on the disk."""
    paths = folder.glob("*/*.safetensors")
    return {float(read_case(path)[0]) for path in paths}


def read_case(path):
    from mflno.store import read_arrays

    return read_arrays(path).arrays["case"]


def test_two_processes_may_fill_one_cache_at_once(waves, tmp_path):
    driver = [sys.executable, str(tmp_path / "driver.py"), tmp_path / "log", waves.cache]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    processes = [
        subprocess.Popen([*map(str, [*driver, tmp_path / f"{n}.npz", 1])], env=environment)
        for n in range(2)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0, 0]
    assert (tmp_path / "0.npz").read_bytes() == (tmp_path / "1.npz").read_bytes()
    assert not list(waves.cache.rglob("*.tmp"))


def test_sample_is_public():
    assert mflno.sample is sample
    assert Cache.__name__ == "Cache"
