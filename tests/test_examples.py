"""The examples run, from anywhere, and give what they say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mflno
from mflno.cli import main
from mflno.problems import load_problem

EXAMPLES = Path(__file__).parent.parent / "examples"
CASES = np.array([[0.05, 4.0], [0.11, 6.3], [0.2, 9.0]])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def swing(case, grid):
    """The pendulum by an adaptive solver."""
    damping, stiffness = case
    rate = lambda t, x: [x[1], -stiffness * np.sin(x[0]) - damping * x[1]]
    return solve_ivp(rate, (0, 10), [2, 0], "DOP853", grid, rtol=1e-10, atol=1e-10).y[0]


def errors(source):
    """The largest error of each level over some cases."""
    problem = load_problem(source)
    for level in problem.levels:
        number = problem.levels.index(level)
        found = mflno.sample(problem, CASES, number, show=False).values[:, 0]
        wanted = [swing(case, level.grid) for case in CASES]
        yield float(np.abs(found - wanted).max())


def test_a_function_and_a_program_solve_the_pendulum_the_dearer_level_better():
    low, high = errors(f"{EXAMPLES}/own_solver.py:problem")
    assert high < 0.02 < 0.1 < low < 0.5
    low, high = errors(EXAMPLES / "own_executable" / "pendulum.toml")
    assert high < 1e-5 < 0.05 < low < 0.2


def test_the_script_prints_a_line_for_each_case():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "own_solver.py"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    off = [float(line.split()[-2]) for line in lines]
    assert 0.05 < min(off) < max(off) < 2.0


def test_the_command_in_the_plan_runs():
    plan = EXAMPLES / "own_executable" / "pendulum.toml"
    words = plan.read_text().splitlines()[0].partition(": mflno ")[2].split()
    assert words[0] == "sample"
    assert main([str(plan) if word == plan.name else word for word in words]) == 0
    assert len(mflno.read_trajectories("high.npz")) == 8


def test_the_problem_of_the_script_has_fifteen_lines():
    text = (EXAMPLES / "own_solver.py").read_text()
    body = text[text.index("def pendulum") : text.index("if __name__")]
    assert sum(bool(line.strip()) for line in body.splitlines()) <= 15
