"""The forcing of many cases at once."""

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.problems.checking import checked_cases, checked_level
from mflno.problems.problem import Problem
from mflno.shapes import Float


def inputs_of(
    problem: Problem, cases: Float[ndarray, "N P"], level: int
) -> Float[ndarray, "N C T"]:
    """The forcing of each case, by `inputs_many` where the problem has one.

    Example:
        >>> from mflno.problems import Lorenz, random_cases
        >>> cases = random_cases(Lorenz(), 10_000, np.random.default_rng(0))
        >>> inputs_of(Lorenz(), cases, level=0).shape
        (10000, 1, 512)
    """
    cases, level = checked_cases(problem, cases), checked_level(problem, level)
    together = getattr(problem, "inputs_many", None)
    points = problem.levels[level].points
    if not len(cases) and together is None:
        return np.empty((0, 0, points))
    one = lambda case: np.asarray(problem.inputs(case, level), dtype=float)
    found = together(cases, level) if together is not None else np.stack([*map(one, cases)])
    found = np.asarray(found, dtype=float)
    if found.ndim != 3 or (len(found), found.shape[2]) != (len(cases), points):
        place, rule = f"{problem.name}.inputs", f"must be channels of {points} values"
        remedy = "return one row a channel on the level's grid"
        raise ArgumentError(place, rule, f"shape {found.shape}", remedy)
    return found
