"""Cases to solve: regular grids, random draws, and the split that every study shares."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.problems.problem import Problem
from mflno.seeds import numpy_stream
from mflno.shapes import Float

SPLIT_SEED = 0
"""Root of the fixed seeds of the split; another number would be another benchmark."""
MOST_CASES = 1_000_000
GRID_SIZES = {"beam": 20}
HELD_OUT = {"beam": 100}


class Split(NamedTuple):
    """The cases one may choose from, and those that judge the outcome.

    Attributes:
        candidates: What an active choice or a random design picks from.
        tests: Never picked, never trained on.
    """

    candidates: Float[ndarray, "N P"]
    tests: Float[ndarray, "M P"]


def grid_cases(problem: Problem, points: int) -> Float[ndarray, "N P"]:
    """A regular grid over the box, borders included; the last parameter changes fastest.

    Example:
        >>> from mflno.problems import Lorenz
        >>> grid_cases(Lorenz(), 10).shape
        (100, 2)
    """
    if points < 2:
        remedy = "ask for at least the two borders of each parameter"
        raise ArgumentError("grid_cases.points", "must be 2 or more", points, remedy)
    if points ** len(problem.parameters) > MOST_CASES:
        rule = f"must not give more than {MOST_CASES} cases"
        came = f"{points} points along each of {len(problem.parameters)} parameters"
        raise ArgumentError("grid_cases.points", rule, came, "draw random cases instead")
    axes = [np.linspace(each.low, each.high, points) for each in problem.parameters]
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def random_cases(
    problem: Problem, count: int, generator: np.random.Generator
) -> Float[ndarray, "N P"]:
    """Cases drawn uniformly from the box."""
    if not 1 <= count <= MOST_CASES:
        rule = f"must be 1 or more, up to {MOST_CASES}"
        raise ArgumentError("random_cases.count", rule, count, "ask for some, but fewer")
    low = np.array([each.low for each in problem.parameters])
    high = np.array([each.high for each in problem.parameters])
    return low + (high - low) * generator.random((count, len(low)))


def study_cases(problem: Problem) -> Split:
    """The candidates and the test cases by which every study of this problem is judged.

    Candidates are a 10 x 10 grid and the tests 100 cases drawn from the box by a fixed seed.
    For the beam both come from a 20 x 20 grid: 100 of it are held out by a fixed seed.

    Example:
        >>> from mflno.problems import Duffing
        >>> [part.shape for part in study_cases(Duffing())]
        [(100, 2), (100, 2)]
    """
    generator = numpy_stream(SPLIT_SEED, "split", problem.name)
    grid = grid_cases(problem, GRID_SIZES.get(problem.name, 10))
    if problem.name not in HELD_OUT:
        return Split(grid, random_cases(problem, 100, generator))
    out = np.zeros(len(grid), dtype=bool)
    out[generator.permutation(len(grid))[: HELD_OUT[problem.name]]] = True
    return Split(grid[~out], grid[out])


def candidate_cases(problem: Problem) -> Float[ndarray, "N P"]:
    """The candidates of `study_cases`."""
    return study_cases(problem).candidates


def test_cases(problem: Problem) -> Float[ndarray, "N P"]:
    """The test cases of `study_cases`."""
    return study_cases(problem).tests


# pytest would otherwise run it as a test wherever it is imported by name.
test_cases.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]
