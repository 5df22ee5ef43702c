"""What a method is asked with: cases, and on demand their forcing and cheap trajectories."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray
from scipy.interpolate import CubicSpline

from mflno.data import Trajectories
from mflno.errors import ArgumentError
from mflno.problems import Problem, inputs_of
from mflno.sampling import sample
from mflno.shapes import Float


@dataclass(frozen=True)
class Query:
    """Cases of one problem at its highest level, with what can be had for them cheaply.

    Attributes:
        problem: The problem.
        cases: In physical units.
        known: Trajectories of lower levels that may be looked up instead of solved.
    """

    problem: Problem
    cases: Float[ndarray, "N P"]
    known: tuple[Trajectories, ...] = ()

    @property
    def grid(self) -> Float[ndarray, " T"]:
        """Time grid of the highest level."""
        return self.problem.levels[-1].grid

    @cached_property
    def scaled(self) -> Float[ndarray, "N P"]:
        """The cases in the box [-1, 1]."""
        low = np.array([p.low for p in self.problem.parameters])
        high = np.array([p.high for p in self.problem.parameters])
        return 2.0 * (self.cases - low) / (high - low) - 1.0

    @cached_property
    def inputs(self) -> Float[ndarray, "N C T"]:
        """The forcing on the highest level's grid."""
        top = len(self.problem.levels) - 1
        return inputs_of(self.problem, self.cases, top)

    @cached_property
    def lower(self) -> tuple[Float[ndarray, "N O T"], ...]:
        """Each lower level's trajectories, solved and brought to the highest level's grid."""
        others = (self._on_grid(k) for k in range(1, len(self.problem.levels) - 1))
        return (self.cheapest, *others)

    @cached_property
    def cheapest(self) -> Float[ndarray, "N O T"]:
        """The trajectories of level 0 alone, on the highest level's grid."""
        return self._on_grid(0)

    def _on_grid(self, level: int) -> ndarray:
        data = self._solved(level)
        return interpolated(data.grid, data.values, self.grid)

    def _solved(self, level: int) -> Trajectories:
        for known in self.known:
            if known.level == level:
                rows = {row.tobytes(): i for i, row in enumerate(known.cases)}
                found = [rows.get(case.tobytes()) for case in self.cases]
                if None not in found:
                    return known.take([i for i in found if i is not None])
        # A solver that takes many cases at once is quicker than one file a case.
        keep = not hasattr(self.problem, "solve_many")
        show = keep and len(self.cases) > 20
        return sample(self.problem, self.cases, level, cache=keep, show=show)


def interpolated(
    grid: Float[ndarray, " t"], values: Float[ndarray, "N O t"], wanted: Float[ndarray, " T"]
) -> Float[ndarray, "N O T"]:
    """Cubic splines through the values; beyond the last point the last piece goes on.

    Example:
        >>> grid = np.linspace(0.0, 1.0, 11)
        >>> wanted = np.linspace(0.0, 1.0, 21)
        >>> finer = interpolated(grid, grid[None, None] ** 3, wanted)
        >>> bool(abs(finer - wanted**3).max() < 1e-12)
        True
    """
    if len(grid) == len(wanted) and np.array_equal(grid, wanted):
        return values
    if wanted[-1] - grid[-1] > 2 * (grid[-1] - grid[-2]):
        came = f"{grid[-1]:.6g} of {wanted[-1]:.6g}"
        rule, remedy = "must reach the end of the finer grid", "solve it to the same end time"
        raise ArgumentError("interpolated.grid", rule, came, remedy)
    return np.asarray(CubicSpline(grid, values, axis=-1)(wanted))
