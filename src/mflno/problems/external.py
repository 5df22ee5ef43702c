"""Anybody's own solvers as a problem: one adapter for each level."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.checking import (
    checked_case,
    checked_level,
    checked_values,
    real_numbers,
)
from mflno.problems.function import PythonFunction
from mflno.problems.solver import Answer, Request, Solver, digest_of
from mflno.processes import function_named
from mflno.shapes import Float

GRID_TOLERANCE = 1e-2
"""How far a solver's own times may be from the grid, in steps: printed times are rounded."""


class ExternalProblem:
    """A problem made of solvers that live elsewhere: functions, programs, servers, FMU files.

    Args:
        name: Short and unique; part of the cache key.
        parameters: The axes of the box.
        levels: Cheapest first, two or more.
        solvers: One for each level: an adapter, or a plain function `solve(case, grid)` or its
            name.
        outputs: Names of the output functions.
        forcing: A function `forcing(case, grid)` that returns one row a channel, or its name.
        version: Change it when a solver changes in a way that its adapter cannot see. The
            attribute `version` is this and a digest of the settings, so that a changed
            template or program never finds the cached answers of the old one.

    Example:
        >>> decay = lambda case, grid: np.exp(-case["a"] * grid)
        >>> problem = ExternalProblem(
        ...     "decay",
        ...     parameters=[Parameter("a", 0.1, 1.0)],
        ...     levels=[
        ...         Level("coarse", np.linspace(0.0, 1.0, 5), cost=1.0),
        ...         Level("fine", np.linspace(0.0, 1.0, 9), cost=10.0),
        ...     ],
        ...     solvers=[decay, decay],
        ... )
        >>> problem.solve(np.array([0.5]), level=0).round(3)
        array([[1.   , 0.882, 0.779, 0.687, 0.607]])
    """

    def __init__(
        self,
        name: str,
        *,
        parameters: Sequence[Parameter],
        levels: Sequence[Level],
        solvers: Sequence[Solver | Callable[..., Any] | str],
        outputs: Sequence[str] = ("u",),
        forcing: Callable[..., Any] | str | None = None,
        version: str = "1",
    ) -> None:
        self.name = name
        self.parameters, self.levels = tuple(parameters), tuple(levels)
        self.outputs, self.forcing = tuple(outputs), forcing
        self.solvers = tuple(map(adapted, solvers))
        check_parts(self)
        for number, solver in enumerate(self.solvers):
            for corner in ("low", "high"):
                case = np.array([getattr(each, corner) for each in self.parameters])
                solver.check(self.request(case, number))
        self.version = f"{version}-{settings_digest(self)}"

    def request(self, case: Float[ndarray, " P"], level: int) -> Request:
        """What the level's adapter is asked for."""
        values = {
            each.name: float(value) for each, value in zip(self.parameters, case, strict=True)
        }
        forcing = partial(self.force, values) if self.forcing is not None else None
        return Request(values, self.levels[level].grid, self.outputs, forcing)

    def force(
        self, case: dict[str, float], grid: Float[ndarray, " T"]
    ) -> Float[ndarray, "C T"]:
        """The forcing of one case on any grid."""
        function = self.forcing
        if isinstance(function, str):
            function = function_named(function)
        if function is None:
            return np.zeros((0, len(grid)))
        rows = np.atleast_2d(np.array(function(dict(case), np.array(grid)), dtype=float))
        if rows.ndim != 2 or rows.shape[1] != len(grid) or not np.isfinite(rows).all():
            place, rule = f"{self.name}.forcing", f"must be finite rows of {len(grid)} values"
            raise ArgumentError(place, rule, f"shape {rows.shape}", "return one row a channel")
        return rows

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing on the level's grid."""
        request = self.request(checked_case(self, case), checked_level(self, level))
        return self.force(dict(request.case), request.grid)

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One run of the level's solver; raises `SolveFailed` unless its answer can be used."""
        number = checked_level(self, level)
        request = self.request(checked_case(self, case), number)
        answer = self.solvers[number].solve(request)
        return usable(self, number, answer)


def adapted(solver: Solver | Callable[..., Any] | str) -> Solver:
    """The adapter itself, or the one that a plain function needs."""
    if isinstance(solver, Solver):
        return solver
    if callable(solver) or isinstance(solver, str):
        return PythonFunction(solver)
    rule, came = "must be adapters or functions", type(solver).__name__
    raise ArgumentError("ExternalProblem.solvers", rule, came, "wrap it in an adapter")


def check_parts(problem: ExternalProblem) -> None:
    """Raise unless names are unique, levels rise in cost, and every level has a solver."""
    place = f"ExternalProblem({problem.name!r})"
    if not problem.name.strip():
        rule, remedy = "must not be empty", "give it a short name"
        raise ArgumentError(f"{place}.name", rule, repr(problem.name), remedy)
    parameters = [each.name for each in problem.parameters]
    levels = [each.name for each in problem.levels]
    for what, names in (
        ("parameters", parameters),
        ("levels", levels),
        ("outputs", problem.outputs),
    ):
        if not names or len(set(names)) < len(names):
            raise ArgumentError(
                f"{place}.{what}", "must have unique names", names, "rename or add"
            )
    if len(levels) < 2:
        remedy = "add a cheaper one, if only a coarser grid"
        raise ArgumentError(f"{place}.levels", "must be two or more", levels, remedy)
    costs = [each.cost for each in problem.levels]
    if sorted(costs) != costs:
        raise ArgumentError(f"{place}.levels", "must be cheapest first", costs, "reorder them")
    if len(problem.solvers) != len(levels):
        rule, came = f"must be {len(levels)}, one a level", len(problem.solvers)
        raise ArgumentError(f"{place}.solvers", rule, came, "name the levels' solvers in order")


def settings_digest(problem: ExternalProblem) -> str:
    """A digest of everything that shapes the answers and that can be seen from here."""
    forcing = "" if problem.forcing is None else PythonFunction(problem.forcing).fingerprint()
    grids = [digest_of(each.grid.tolist()) for each in problem.levels]
    names = [each.name for each in problem.parameters]
    prints = [solver.fingerprint() for solver in problem.solvers]
    return digest_of(names, problem.outputs, grids, prints, forcing)


def usable(problem: ExternalProblem, level: int, answer: Answer) -> Float[ndarray, "O T"]:
    """The answer as outputs on the level's grid, or the `SolveFailed` that tells its fault."""
    values = real_numbers(answer.values)
    times = None if answer.times is None else real_numbers(answer.times)
    if values.ndim == 1 and len(problem.outputs) == 1:
        values = values[None]
    if values.ndim == 2 and np.isinf(values).any():
        where = int(np.argmax(np.isinf(values).any(axis=0)))
        raise SolveFailed("inf", f"infinity, first at point {where} of {values.shape[1]}")
    if times is not None:
        check_times(times, problem.levels[level].grid)
    return checked_values(problem, level, values)


def check_times(times: ndarray, grid: Float[ndarray, " T"]) -> None:
    """Raise unless the solver's own times are the grid's."""
    if times.shape != grid.shape:
        raise SolveFailed("shape", f"must have {len(grid)} times, came shape {times.shape}")
    steps = np.abs(times - grid) / (grid[1] - grid[0])
    # A comparison that NaN fails: a time that is not a number is not on the grid.
    if not (steps <= GRID_TOLERANCE).all():
        worst = int(np.argmax(np.where(np.isnan(steps), np.inf, steps)))
        text = f"time {worst} is {times[worst]:.9g}, the level's grid has {grid[worst]:.9g}"
        raise SolveFailed("grid", text)
