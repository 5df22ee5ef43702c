"""The forcing of many cases, by whatever a problem offers."""

import time
from typing import Any

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError
from mflno.problems import Duffing, ExternalProblem, inputs_of, random_cases

BOX = (Parameter("a", 0.0, 1.0),)
LEVELS = (Level("low", np.linspace(0, 1, 5)), Level("high", np.linspace(0, 1, 9), 2.0))
CASES = np.array([[0.5], [1.0]])


def line(case, grid):
    return case["a"] * grid


def problem_of(forcing=None):
    return ExternalProblem(
        "line", parameters=BOX, levels=LEVELS, solvers=[line, line], forcing=forcing
    )


def test_a_problem_without_inputs_many_is_asked_case_by_case():
    two = problem_of(lambda case, grid: [case["a"] * grid, grid])
    found = inputs_of(two, CASES, 1)
    grid = LEVELS[1].grid
    assert np.array_equal(found, [[a * grid, grid] for a in (0.5, 1.0)])
    assert inputs_of(problem_of(), CASES, 0).shape == (2, 0, 5)
    assert inputs_of(two, np.empty((0, 1)), 0).shape == (0, 0, 5)


def test_inputs_many_is_used_where_there_is_one():
    problem: Any = problem_of()
    problem.inputs_many = lambda cases, level: cases[:, :, None] * LEVELS[level].grid
    assert np.array_equal(inputs_of(problem, CASES, 0)[0, 0], 0.5 * LEVELS[0].grid)
    problem.inputs_many = lambda cases, level: np.zeros((len(cases), 1, 3))
    with pytest.raises(ArgumentError, match=r"line\.inputs: must be channels of 5 values"):
        inputs_of(problem, CASES, 0)


def test_cases_and_levels_are_checked():
    with pytest.raises(ArgumentError, match="a must lie in"):
        inputs_of(problem_of(), np.array([[2.0]]), 0)
    with pytest.raises(ArgumentError, match=r"line\.level"):
        inputs_of(problem_of(), CASES, 2)


def test_ten_thousand_cases_take_no_time_worth_speaking_of():
    cases = random_cases(Duffing(), 10_000, np.random.default_rng(0))
    begin = time.perf_counter()
    assert inputs_of(Duffing(), cases, 0).shape == (10_000, 1, 1024)
    assert time.perf_counter() - begin < 2.0
