"""Problems made of Python functions, and what every adapter's answer must pass."""

import math
import os
import pickle

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems import ExternalProblem, Problem, PythonFunction, load_problem
from mflno.processes import Call, call_to_end, function_named

COARSE, FINE = np.linspace(0.0, 20.0, 64), np.linspace(0.0, 20.0, 512)
BOX = (Parameter("a", 0.1, 1.0), Parameter("w", 2.0, 4.0, "rad/s"))
CASE = np.array([0.3, 2.5])


def wave(case, grid):
    return np.exp(-case["a"] * grid) * np.cos(case["w"] * grid)


def two(case, grid):
    return np.stack([wave(case, grid), grid])


def with_times(case, grid):
    return grid, wave(case, grid)


def off_grid(case, grid):
    return np.linspace(0.0, 20.0, len(grid), endpoint=False), wave(case, grid)


def push(case, grid):
    return case["a"] * np.sin(grid)


MODULE = """
import os, time
from pathlib import Path
import numpy as np

def wave(case, grid):
    return np.exp(-case["a"] * grid) * np.cos(case["w"] * grid)

def both(case, grid):
    return grid, np.stack([wave(case, grid), grid])

def endless(case, grid):
    return np.zeros((9, 10 ** 6))

def dying(case, grid):
    os.abort()

def hanging(case, grid):
    Path(os.environ["PID_FILE"]).write_text(str(os.getpid()))
    time.sleep(60)
"""


@pytest.fixture
def models(tmp_path):
    path = tmp_path / "models.py"
    path.write_text(MODULE)
    return path


def problem_of(*solvers, **settings):
    levels = (Level("coarse", COARSE, 1.0), Level("fine", FINE, 40.0))
    settings = {"parameters": BOX, "levels": levels, **settings}
    return ExternalProblem("wave", solvers=solvers or (wave, wave), **settings)


def failure_of(problem, level=0):
    with pytest.raises(SolveFailed) as caught:
        problem.solve(CASE, level)
    assert caught.value.kind in SolveFailed.KINDS
    return caught.value


def test_function_problem_is_a_problem_that_travels(models):
    problem = problem_of(wave, PythonFunction(f"{models}:wave", limit=60.0), forcing=push)
    assert isinstance(problem, Problem)
    twin = pickle.loads(pickle.dumps(problem))
    expected = math.exp(-0.3 * FINE[7]) * math.cos(2.5 * FINE[7])
    for each in (problem, twin):
        assert each.solve(CASE, 1).shape == (1, 512)
        assert each.solve(CASE, 1)[0, 7] == pytest.approx(expected, rel=1e-14)
        assert np.array_equal(each.inputs(CASE, 0), 0.3 * np.sin(COARSE)[None])
    assert twin.version == problem.version
    assert problem_of().inputs(CASE, 1).shape == (0, 512)


def test_own_process_gives_the_same_bits(models):
    here, named = PythonFunction(two), PythonFunction(f"{models}:both")
    for there in (PythonFunction(f"{models}:both", limit=60.0), named):
        problem = problem_of(here, there, outputs=("u", "t"))
        twin = problem_of(here, here, outputs=("u", "t"))
        assert np.array_equal(problem.solve(CASE, 1), twin.solve(CASE, 1))


def test_own_times_must_be_the_grid():
    assert problem_of(with_times, with_times).solve(CASE, 0).shape == (1, 64)
    far = failure_of(problem_of(off_grid, off_grid))
    assert far.kind == "grid"
    assert "time 63 is 19.6875, the level's grid has 20" in far.detail
    late = lambda case, grid: (grid + np.nan, wave(case, grid))
    assert failure_of(problem_of(late, late)).kind == "grid"
    few = lambda case, grid: (grid[:-1], wave(case, grid))
    assert failure_of(problem_of(few, few)).kind == "shape"


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (lambda grid: np.where(grid > 3, np.nan, 1.0), "nan", "first at time 3"),
        (lambda grid: np.where(grid > 3, -np.inf, 1.0), "inf", "first at point 10 of 64"),
        (lambda grid: grid[:-1], "shape", "63"),
        (lambda grid: grid[:, None], "shape", "64, 1"),
        (lambda grid: np.stack([grid, grid]), "shape", "2, 64"),
        (lambda grid: 1.0, "shape", r"\(\)"),
        (lambda grid: "nothing", "output", "not an array"),
        (lambda grid: None, "nan", "NaN|shape|array"),
        (lambda grid: 1 / 0, "error", r"ZeroDivisionError: division by zero \(test_external"),
    ],
)
def test_unusable_answers_say_what_is_wrong(value, kind, words):
    problem = problem_of(wave, lambda case, grid: value(COARSE), levels=(
        Level("a", COARSE, 1.0), Level("b", COARSE, 2.0)))  # fmt: skip
    with pytest.raises(SolveFailed, match=words) as caught:
        problem.solve(CASE, 1)
    assert caught.value.kind == kind or value(np.zeros(1)) is None


def test_a_function_cannot_change_what_the_next_one_sees():
    def greedy(case, grid):
        values = wave(case, grid)
        case["a"] = grid[:] = 7.0
        return values

    problem = problem_of(greedy, greedy)
    first = problem.solve(CASE, 0)
    assert np.array_equal(problem.solve(CASE, 0), first)
    assert np.array_equal(problem.levels[0].grid, COARSE)


def test_own_failures_pass_unchanged():
    def refusing(case, grid):
        raise SolveFailed("refused", "no licence")

    assert str(failure_of(problem_of(refusing, refusing))) == "refused: no licence"


def test_a_crash_and_a_hang_stay_in_their_own_process(models, tmp_path):
    crash = PythonFunction(function_named(f"{models}:dying"), limit=60.0)
    assert "SIGABRT" in failure_of(problem_of(crash, crash)).detail
    endless = PythonFunction(f"{models}:endless", limit=60.0)
    too_much = failure_of(problem_of(endless, endless))
    assert (too_much.kind, "9, 1000000" in too_much.detail) == ("shape", True)
    note = tmp_path / "pid"
    hang = PythonFunction(f"{models}:hanging", limit=5.0, environment={"PID_FILE": str(note)})
    assert failure_of(problem_of(hang, hang)).kind == "timeout"
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_wrong_problems_are_refused():
    level = Level("only", COARSE, 1.0)
    wrong = {
        "levels: must be two or more": {"levels": (level,), "solvers": (wave,)},
        "levels: must have unique names": {"levels": (level, level)},
        "levels: must be cheapest first": {
            "levels": (Level("fine", FINE, 9.0), Level("coarse", COARSE, 1.0))
        },
        "parameters: must have unique names": {"parameters": (BOX[0], BOX[0])},
        "outputs: must have unique names": {"outputs": ()},
        "solvers: must be 2, one a level": {"solvers": (wave,)},
        "limit: must be positive": {"solvers": (wave, PythonFunction(wave, limit=0.0))},
        "top of a module": {"solvers": (wave, PythonFunction(lambda: 0, limit=1.0))},
        "must be importable": {"solvers": (wave, PythonFunction("no_such:thing"))},
    }
    levels = (level, Level("fine", FINE, 40.0))
    for words, settings in wrong.items():
        settings = {"parameters": BOX, "levels": levels, "solvers": (wave, wave), **settings}
        with pytest.raises(ArgumentError, match=words):
            ExternalProblem("wave", **settings)


def test_cases_and_levels_are_checked_at_the_door():
    problem = problem_of()
    with pytest.raises(ArgumentError, match=r"w must lie in \[2, 4\]"):
        problem.solve(np.array([0.3, 5.0]), 0)
    with pytest.raises(ArgumentError, match="0 \\(coarse\\), 1 \\(fine\\)"):
        problem.solve(CASE, 2)


def test_forcing_of_the_wrong_length_is_refused():
    problem = problem_of(forcing=lambda case, grid: grid[1:])
    with pytest.raises(ArgumentError, match="finite rows of 64 values"):
        problem.inputs(CASE, 0)


def test_version_follows_the_settings():
    versions = {
        problem_of().version,
        problem_of(wave, two).version,
        problem_of(version="2").version,
        problem_of(forcing=push).version,
        problem_of(levels=(Level("coarse", COARSE, 1.0), Level("fine", FINE * 2, 9.0))).version,
    }
    assert len(versions) == 5
    assert problem_of().version == problem_of(wave, PythonFunction(wave, limit=9.0)).version


def test_problems_are_found_by_one_word(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from mflno.problems import Duffing, Lorenz\nmade = Lorenz()\n"
        "def wide():\n    return Duffing.wide()\nnumber = 7\n"
    )
    assert load_problem("lorenz").name == "lorenz"
    assert load_problem(f"{path}:made").name == "lorenz"
    assert load_problem(f"{path}:wide").name == "duffing-wide"
    assert load_problem("mflno.problems:Duffing").name == "duffing"
    for wrong in ("no-such", f"{path}:number", f"{path}:absent", str(tmp_path / "a.toml")):
        with pytest.raises(ArgumentError):
            load_problem(wrong)


def test_a_file_sees_its_neighbours(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("def wave(case, grid):\n    return grid\n")
    text = "def late(case, grid):\n    from neighbour_of_mine import wave\n"
    (tmp_path / "mine.py").write_text(f"{text}    return wave(case, grid)\n")
    late = PythonFunction(f"{tmp_path}/mine.py:late")
    assert np.array_equal(problem_of(late, late).solve(CASE, 0), COARSE[None])


def test_a_named_problem_can_be_solved_in_a_process_of_its_own(tmp_path):
    arguments = {"problem": "lorenz", "case": [0.5, 6.5], "level": 0}
    call = Call("mflno.problems.loading:solved", arguments, tmp_path, 60.0)
    expected = load_problem("lorenz").solve(np.array([0.5, 6.5]), 0)
    assert np.array_equal(call_to_end(call)["values"], expected)


def test_a_maker_that_wants_arguments_is_refused_in_words():
    with pytest.raises(ArgumentError, match="must need no arguments"):
        load_problem("json:dumps")
