"""SIGKILL at random moments: of the driver, of the worker, of the solver, in turn.

A fast campaign whose highest level is a program, driven by `mflno run` and nothing else. After
each kill the same line goes on. Whatever was killed, the outcome is that of the campaign that
nobody touched.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mflno.campaign import Campaign, read_campaign
from mflno.campaign.history import JOURNAL, RUNS
from mflno.store import list_runs, read_journal

SOURCES = Path(__file__).parent / "sources"
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
TOKEN = "MFLNO_TEST_TOKEN"
TARGETS = "driver", "worker", "solver"
PAUSE = "0.2"
MOMENTS = 2.0
"""Seconds between two kills, at most."""

PROBLEM = """
name = "ringing"
[parameters.a]
low = 0.1
high = 0.5
[parameters.b]
low = 3.0
high = 5.0
[[levels]]
name = "coarse"
cost = 1.0
grid = {{stop = 5.0, points = 32}}
solver = {{kind = "function", function = "{here}/ringing.py:coarse"}}
[[levels]]
name = "program"
cost = 100.0
grid = {{stop = 5.0, points = 64}}
[levels.solver]
kind = "executable"
command = ["sh", "{sources}/solver.sh", "${{a}}", "${{b}}", "${{grid.stop}}",
           "${{grid.points}}", "{pause}"]
limit = 60.0
output = {{file = "out.csv", time = "t", columns = ["u"]}}
"""
COARSE = """
import numpy as np
def coarse(case, grid):
    return np.exp(-case["a"] * grid) * np.cos(0.98 * case["b"] * grid)
"""


class Zygote:
    """Starts drivers in milliseconds: everything is imported once."""

    def __init__(self, token, cache):
        environment = {**os.environ, TOKEN: token, "MFLNO_CACHE": str(cache),
                       "OMP_NUM_THREADS": "1"}  # fmt: skip
        self.token = token
        words = [sys.executable, str(SOURCES / "zygote.py")]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()

    def order(self, **words):
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, words, log, **environment):
        return self.order(words=words, log=str(log), environment=environment)["pid"]

    def ended(self, wait=False):
        return self.order(wait=wait)["ended"]

    def close(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def zygote(tmp_path_factory):
    place = tmp_path_factory.mktemp("zygote")
    made = Zygote(str(place), place / "cache")
    yield made
    made.close()
    assert patient(lambda: not kin(str(place)))


def ours(pid):
    """Command line of a process, if the test began it."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def kin(token):
    """Every process with our mark in its environment, dead ones left out."""
    mark, found = f"{TOKEN}={token}".encode(), []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            held = mark in Path("/proc", name, "environ").read_bytes()
            dead = Path("/proc", name, "stat").read_text().rpartition(")")[2].split()[0] in "ZX"
        except OSError:
            continue
        if held and not dead:
            found.append(int(name))
    return found


def patient(holds, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return False


class Scene:
    """One campaign, its command line, and what must hold after every kill."""

    def __init__(self, place, zygote, pause):
        self.place, self.zygote = place, zygote
        self.token = zygote.token
        place.mkdir(parents=True)
        (place / "ringing.py").write_text(COARSE)
        text = PROBLEM.format(here=place, sources=SOURCES, pause=pause)
        (place / "problem.toml").write_text(text)
        self.out, self.log = place / "c", place / "log.txt"
        self.words = [
            "run", str(place / "problem.toml"), "--out", str(self.out), "--budget", "5",
            "--batch", "2", "--method", "pod-gp", "--pool", "grid:7", "--lower", "grid:4",
            "--draws", "8", "--retries", "1000", "--jobs", "2", "--json",
        ]  # fmt: skip
        self.sealed = {}

    def start(self):
        starts = str(self.place / "starts.log")
        return self.zygote.start(self.words, self.log, STARTS_LOG=starts)

    def victims(self, target, driver):
        """Processes of one kind below the driver."""
        if target == "driver":
            return [driver]
        parts = {"worker": "mflno.campaign.task", "solver": "solver.sh"}
        kin_now = [(pid, ours(pid)) for pid in kin(self.token)]
        found = [pid for pid, words in kin_now if parts[target] in words]
        if target == "worker":
            found += [pid for pid, words in kin_now if "supervisor.py" in words]
        return found

    def check(self):
        """The journal is readable, and what was finished stays as it was."""
        if not (self.out / JOURNAL).exists():
            return
        list(read_journal(self.out / JOURNAL))
        for record in list_runs(self.out / RUNS) if (self.out / RUNS).exists() else []:
            text = (self.out / RUNS / record.name / "done.json").read_bytes()
            assert self.sealed.setdefault(record.name, text) == text
        now = {record.name for record in list_runs(self.out / RUNS)}
        assert self.sealed.keys() <= now

    def outcome(self):
        campaign = Campaign(self.out)
        found = campaign.surrogate.predict([[0.2, 3.3], [0.4, 4.6]], draws=2)
        history = campaign.history
        picks = [(run.name, run.case, run.round) for run in history.runs]
        assert [run.state for run in history.runs] == ["done"] * 5
        return picks, found.mean, found.std, found.draws

    def check_none_solved_twice(self):
        """After a run was sealed, no program was started for its case again."""
        ended = {}
        lines = (self.place / "starts.log").read_text().splitlines()
        runs = read_campaign(self.out).runs
        for run in runs:
            case = tuple(run.case)
            mine = [line.split() for line in lines]
            mine = [w for w in mine if (float(w[1]), float(w[2])) == case]
            ended[run.name] = sum(w[0] == "end" for w in mine)
            # The last start is the one that was sealed: nothing begins behind its end.
            assert mine[-1][0] == "end"
        return sum(ended.values()) - len(runs)


def killed_campaign(scene, dice, kills):
    """Run the line again and again, killing something every other second."""
    done, driver = 0, scene.start()
    while True:
        status = awaited(scene, dice.uniform(0.0, MOMENTS))
        if status is None:
            victims = scene.victims(TARGETS[(kills + done) % 3], driver)
            done += bool(victims) and struck(dice.choice(victims))
            continue
        scene.check()
        if status == 0:
            return done
        assert status == -signal.SIGKILL, scene.log.read_text()[-2000:]
        assert patient(lambda: kin(scene.token) == [scene.zygote.process.pid])
        driver = scene.start()


def awaited(scene, seconds):
    """The driver's exit status; nothing when it is still at work after so long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        status = scene.zygote.ended()
        if status is not None:
            return status
        time.sleep(0.02)
    return None


def struck(pid):
    """Kill a process, if it is still there."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture(scope="module")
def untouched(zygote, tmp_path_factory):
    scene = Scene(tmp_path_factory.mktemp("untouched") / "s", zygote, PAUSE)
    scene.start()
    assert zygote.ended(wait=True) == 0, scene.log.read_text()
    return scene.outcome()


def kill_until(total, untouched, zygote, tmp_path, seed):
    picks, *answers = untouched
    dice, kills, campaigns, again = random.Random(seed), 0, 0, 0
    while kills < total:
        scene = Scene(tmp_path / f"s{campaigns}", zygote, PAUSE)
        kills += killed_campaign(scene, dice, kills)
        found, *others = scene.outcome()
        assert found == picks
        for one, other in zip(answers, others, strict=True):
            assert np.array_equal(np.asarray(one), np.asarray(other))
        again += scene.check_none_solved_twice()
        campaigns += 1
        told = f"{kills} kills in {campaigns} campaigns; {again} solved again, unsealed"
        (tmp_path / "kills.txt").write_text(told)
    return kills, campaigns, again


def test_a_few_kills_change_nothing(untouched, zygote, tmp_path):
    kills, campaigns, _ = kill_until(6, untouched, zygote, tmp_path, seed=0)
    assert kills >= 6
    assert campaigns >= 1


@pytest.mark.slow
def test_two_hundred_kills_change_nothing(untouched, zygote, tmp_path):
    kills, _, _ = kill_until(200, untouched, zygote, tmp_path, seed=1)
    assert kills >= 200
