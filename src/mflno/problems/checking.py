"""What must hold at a solver's door: cases in the box, a level that exists, usable numbers."""

from operator import index

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.problem import Problem
from mflno.shapes import Float

SLACK = 1e-9
"""How far outside the box, relative to its width, counts as rounding."""


def checked_cases(problem: Problem, cases: object) -> Float[ndarray, "N P"]:
    """The cases as an array of one row each, or an `ArgumentError` that names the fault."""
    place = f"{problem.name}.cases"
    names = [parameter.name for parameter in problem.parameters]
    rule = f"must be rows of {len(names)} numbers ({', '.join(names)})"
    try:
        # Adding zero turns -0.0 into 0.0, which is the same case and shall be the same bits.
        array = np.array(cases, dtype=float) + 0.0
    except (TypeError, ValueError) as error:
        raise ArgumentError(place, rule, type(cases).__name__, "pass a 2-D array") from error
    if array.ndim != 2 or array.shape[1] != len(names):
        came = f"shape {array.shape}"
        raise ArgumentError(place, rule, came, "put one case in each row, even a single one")
    for column, parameter in zip(array.T, problem.parameters, strict=True):
        slack = SLACK * (parameter.high - parameter.low)
        inside = (column >= parameter.low - slack) & (column <= parameter.high + slack)
        if not inside.all():
            rule = f"{parameter.name} must lie in [{parameter.low:g}, {parameter.high:g}]"
            came = f"{column[~inside][0]:g} in row {int(np.argmin(inside))}"
            raise ArgumentError(place, rule, came, "stay in the problem's box or widen it")
    return array


def checked_case(problem: Problem, case: object) -> Float[ndarray, " P"]:
    """One case as a row of numbers, or an `ArgumentError` that names the fault."""
    return checked_cases(problem, [case])[0]


def checked_level(problem: Problem, level: object) -> int:
    """The level as a number, or an `ArgumentError` that lists the levels."""
    names = ", ".join(f"{number} ({each.name})" for number, each in enumerate(problem.levels))
    try:
        number = index(level)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = -1
    if not 0 <= number < len(problem.levels):
        place, rule = f"{problem.name}.level", f"must be one of {names}"
        raise ArgumentError(place, rule, level, "count from 0, the cheapest")
    return number


def checked_values(problem: Problem, level: int, values: object) -> Float[ndarray, "O T"]:
    """A solver's answer as numbers, or the `SolveFailed` that says what is wrong with it."""
    wanted = len(problem.outputs), problem.levels[level].points
    array = real_numbers(values)
    if array.shape != wanted:
        raise SolveFailed("shape", f"must be {wanted} (outputs, times), came {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        first = problem.levels[level].grid[int(np.argmax(bad.any(axis=0)))]
        raise SolveFailed("nan", f"NaN or infinity, first at time {first:g}")
    return array


def real_numbers(values: object) -> ndarray:
    """What a solver gave as an array of real numbers; masked ones are missing, thus NaN."""
    try:
        # Numpy would drop imaginary parts and masks with no more than a warning, if that.
        array = np.ma.array(values)
        if array.dtype.kind == "c":
            raise TypeError("they are complex")
        return np.array(np.ma.filled(array.astype(float), np.nan), order="C")
    except Exception as error:
        raise SolveFailed("output", f"not an array of numbers: {error}") from error
