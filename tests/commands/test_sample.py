"""`mflno problems` and `mflno sample`, as a user types them."""

import json

import numpy as np
import pytest

import mflno
from mflno.cli import main
from mflno.problems import PROBLEMS, Chain, study_cases


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_problems_are_listed_with_their_levels_and_costs(capsys):
    assert main(["problems", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found] == list(PROBLEMS)
    lorenz = found[0]
    assert lorenz["parameters"][1] == {"name": "rho", "low": 5.0, "high": 8.0, "unit": ""}
    assert [level["points"] for level in lorenz["levels"]] == [512, 2048]
    assert main(["problems"]) == 0
    assert "level 2: exact, 512 times to 20, cost 1" in capsys.readouterr().out


def test_sample_writes_what_the_function_gives(capsys):
    assert (
        main(["sample", "chain", "--level", "1", "--grid", "3", "--out", "a.npz", "--json"])
        == 0
    )
    told = json.loads(capsys.readouterr().out)
    found = mflno.read_trajectories("a.npz")
    assert told["shape"] == list(found.values.shape) == [9, 1, 256]
    assert told["failed"] == []
    assert told["root_mean_square"] == pytest.approx(np.sqrt(np.mean(found.values**2)))
    again = mflno.sample(Chain(), found.cases, 1, cache=False)
    assert np.array_equal(again.values, found.values)


def test_the_seed_decides_the_cases(capsys):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        words = ["sample", "chain", "--count", "4", "--seed", seed, "--out", f"{name}.npz"]
        assert main(words) == 0
    a, b, c = (mflno.read_trajectories(f"{name}.npz").cases for name in "abc")
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    assert "4 cases in c.npz" in capsys.readouterr().out


def test_the_split_of_the_studies_can_be_had():
    assert main(["sample", "chain", "--split", "tests", "--out", "t.nc"]) == 0
    assert np.array_equal(mflno.read_trajectories("t.nc").cases, study_cases(Chain()).tests)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["lorentz", "--grid", "2", "--out", "x.npz"], "problem: must be one of lorenz"),
        (["chain", "--grid", "2", "--out", "x.txt"], "--out: must end in .npz or .nc"),
        (["chain", "--grid", "2", "--out", "no/x.npz"], "--out: its folder must exist"),
        (["chain", "--grid", "2", "--level", "9", "--out", "x.npz"], "chain.level: must be"),
        (["chain", "--count", "0", "--out", "x.npz"], "random_cases.count: must be 1 or more"),
    ],
)
def test_wrong_usage_is_told_in_one_line(words, told, capsys):
    assert main(["sample", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mflno sample: ")
    assert told in error
    assert error.count("\n") == 1


def test_a_problem_of_ones_own_is_named_by_its_file(tmp_path):
    (tmp_path / "own.py").write_text(
        "from mflno.problems import Chain\n"
        "def make():\n    problem = Chain()\n    problem.name = 'own'\n    return problem\n"
    )
    assert main(["sample", "own.py:make", "--grid", "2", "--out", "own.npz"]) == 0
    assert mflno.read_trajectories("own.npz").problem == "own"


CHATTY = """
import os
import numpy as np
from mflno.problems import ExternalProblem, Level, Parameter

print("hello")

def solve(case, grid):
    print("solving")
    os.system("echo from a program")
    return case["a"] * grid * len(grid)

def forgetful(case, grid):
    return np.random.default_rng().random(len(grid))

levels = [Level("low", np.linspace(0, 1, 4), 1.0), Level("high", np.linspace(0, 1, 8), 2.0)]
box = [Parameter("a", 0.5, 1.0, "m")]
chatty = ExternalProblem("chatty", parameters=box, levels=levels, solvers=[solve, solve])
drawn = ExternalProblem("drawn", parameters=box, levels=levels, solvers=[solve, forgetful])
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_solvers_print_does_not_reach_the_answer(tmp_path, capfd, jobs):
    (tmp_path / "own.py").write_text(CHATTY)
    words = ["own.py:chatty", "--grid", "2", "--out", "c.npz", "--json", "--jobs", jobs]
    assert main(["sample", *words]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out)["cases"] == 2
    assert "solving" in err
    assert "from a program" in err


def test_ones_own_problem_is_described_and_checked(tmp_path, capfd):
    (tmp_path / "own.py").write_text(CHATTY)
    assert main(["problems", "own.py:chatty", "chain", "--check"]) == 0
    out = capfd.readouterr().out
    assert "chatty: " in out
    assert "a in [0.5, 1] m" in out
    assert out.count("keeps the contract") == 2
    assert main(["problems", "own.py:drawn", "--check", "--json"]) == 1
    (found,) = json.loads(capfd.readouterr().out)
    assert "level 1: a case must give the same numbers again" in found["fault"]
    assert main(["problems", "absent.toml"]) == 2


def broken():
    problem = Chain()
    whole = Chain().solve
    problem.name = "broken"

    def solve(case, level):
        if case[0] > 5.0:
            raise RuntimeError("too stiff")
        return whole(case, level)

    problem.solve = solve
    problem.solve_many = lambda cases, level: np.stack([solve(case, level) for case in cases])
    return problem


def test_failed_cases_end_the_command_unless_they_may_be_dropped(monkeypatch, capsys):
    monkeypatch.setitem(PROBLEMS, "broken", broken)
    words = ["sample", "broken", "--grid", "2", "--out", "b.npz"]
    assert main(words) == 1
    assert "2 of 4 cases of broken failed" in capsys.readouterr().err
    assert main([*words, "--drop-failed", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["row"] for each in told["failed"]] == [2, 3]
    assert len(mflno.read_trajectories("b.npz")) == 2
