"""The cases that a word of the plan stands for, in physical units."""

from pathlib import Path

import numpy as np
from numpy import ndarray

from mflno.active import listed_pool, sobol_pool, unscaled
from mflno.errors import ArgumentError
from mflno.problems import Problem, candidate_cases, checked_cases, grid_cases
from mflno.seeds import numpy_stream
from mflno.shapes import Float

POOLS = {1: "grid:101", 2: "grid:20", 3: "grid:10"}
LOWERS = {1: "grid:33", 2: "grid:10", 3: "grid:5"}
"""What `auto` means by the number of parameters: candidates, and cases of the lower levels."""


def pool_cases(problem: Problem, word: str, *, seed: int, folder: str) -> Float[ndarray, "N P"]:
    """Cases by `study`, `grid:20`, `sobol:1024` or the name of a `.csv` file.

    Example:
        >>> from mflno.problems import Lorenz
        >>> pool_cases(Lorenz(), "grid:5", seed=0, folder=".").shape
        (25, 2)
    """
    if word == "study":
        return candidate_cases(problem)
    if word.endswith(".csv"):
        return listed(problem, Path(folder) / word)
    kind, _, number = word.partition(":")
    if kind not in ("grid", "sobol") or not number.isdecimal() or int(number) < 1:
        rule = "must be auto, study, grid:20, sobol:1024, or a .csv file"
        raise ArgumentError("Plan.pool", rule, repr(word), "correct it")
    if kind == "grid":
        return grid_cases(problem, int(number))
    width, generator = len(problem.parameters), numpy_stream(seed, "pool")
    return unscaled(sobol_pool(width, int(number), generator), problem.parameters)


def candidates(problem: Problem, word: str, *, seed: int, folder: str) -> Float[ndarray, "N P"]:
    """The pool of a plan."""
    width = len(problem.parameters)
    word = POOLS.get(width, "sobol:1024") if word == "auto" else word
    return pool_cases(problem, word, seed=seed, folder=folder)


def lower_cases(
    problem: Problem, word: str, *, seed: int, folder: str
) -> Float[ndarray, "N P"]:
    """Where the lower levels are solved."""
    width = len(problem.parameters)
    word = LOWERS.get(width, "sobol:128") if word == "auto" else word
    return pool_cases(problem, word, seed=seed, folder=folder)


def listed(problem: Problem, path: Path) -> Float[ndarray, "N P"]:
    """The cases of a table with a column for each parameter, each once."""
    names = [each.name for each in problem.parameters]
    try:
        table = np.genfromtxt(path, delimiter=",", names=True, deletechars="", ndmin=1)
        cases = np.stack([np.asarray(table[name], dtype=float) for name in names], axis=1)
    except (OSError, ValueError, KeyError, IndexError) as error:
        rule = f"a table with columns {', '.join(names)}"
        remedy = "check the path and the first line"
        raise ArgumentError(str(path), rule, error, remedy) from error
    return checked_cases(problem, unscaled(listed_pool(cases, problem.parameters),
                                           problem.parameters))  # fmt: skip
