"""Every built-in problem keeps the contract."""

import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

from mflno.errors import ArgumentError
from mflno.problems import PROBLEMS, Problem, problem_named, random_cases, study_cases
from mflno.sampling import sample
from mflno.testing import check_problem

OURS = [name for name in PROBLEMS if name != "beam"]


@pytest.mark.parametrize("name", OURS)
def test_keeps_the_contract(name):
    problem = problem_named(name)
    assert problem.name == name
    # What a level shares with another, or with another problem, is checked once.
    few = {"lorenz": [0], "duffing": [1], "duffing-wide": [0], "duffing-jump": [0]}
    few["burgers"] = [0, 1]
    check_problem(problem, levels=few.get(name))


@pytest.mark.parametrize("name", OURS)
def test_many_cases_give_the_bits_of_each(name):
    problem: Any = problem_named(name)
    cases = random_cases(problem, 40, np.random.default_rng(0))
    for level in range(len(problem.levels)):
        inputs = problem.inputs_many(cases, level)
        assert np.array_equal(inputs, [problem.inputs(case, level) for case in cases])
    values = problem.solve_many(cases, 0)
    for row in (0, 31, 32, 39):
        assert np.array_equal(problem.solve(cases[row], 0), values[row])


@pytest.mark.parametrize("name", ["lorenz", "duffing"])
def test_all_cases_of_a_study_are_solved_in_ten_seconds_of_one_core(name):
    problem = problem_named(name)
    begin = time.process_time()
    solved = [sample(problem, cases, 1, cache=False) for cases in study_cases(problem)]
    assert [each.values.shape for each in solved] == [(100, 1, 2048)] * 2
    assert time.process_time() - begin < 10.0


@pytest.mark.parametrize("name", OURS)
def test_solve_refuses_what_is_outside_the_box(name):
    problem: Problem = problem_named(name)
    case = np.array([each.high for each in problem.parameters])
    case[1] *= 1.01
    with pytest.raises(ArgumentError, match=rf"{problem.parameters[1].name} must lie in \["):
        problem.solve(case, 0)
    with pytest.raises(ArgumentError, match=r"must be one of 0 \("):
        problem.solve(case / 1.01, len(problem.levels))
    with pytest.raises(ArgumentError, match="must be rows of 2 numbers"):
        problem.inputs(case[:1], 0)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ArgumentError, match=r"lorenz, duffing, .*'mflno problems'"):
        problem_named("lorentz")


def test_importing_problems_needs_neither_torch_nor_finite_elements_nor_scipy():
    code = "import mflno.problems, sys; print({'torch', 'skfem', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "set()"
