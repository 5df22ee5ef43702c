"""Ordinary differential equations on a uniform grid, many cases at once, to nearly rounding."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.shapes import Float

Rate = Callable[[float, Float[ndarray, "D N"]], Float[ndarray, "D N"]]
"""Time and state to the state's rate of change; D state variables of N cases."""

Row = tuple[tuple[int, float], ...]
"""Places of slopes and what each adds to a state."""


def states_on_grid(
    rate: Rate, start: Float[ndarray, "D N"], grid: Float[ndarray, " T"], *, substeps: int = 1
) -> Float[ndarray, "T D N"]:
    """The states at the grid's times, by the eighth-order method of Dormand and Prince.

    The step is fixed, and a step is sums and products of single entries, in a fixed order. So a
    case gives the same bits whether it is solved alone or among others, which an adaptive step
    shared by all cases, or a matrix product, would not.

    Args:
        rate: The right-hand side.
        start: The states at the first time.
        grid: Uniform times.
        substeps: Steps from one grid time to the next.

    Example:
        >>> grid = np.linspace(0.0, 1.0, 11)
        >>> decay = states_on_grid(lambda time, state: -state, np.ones((1, 1)), grid)
        >>> bool(abs(decay[-1, 0, 0] - np.exp(-1.0)) < 1e-12)
        True
    """
    step = float(grid[-1] - grid[0]) / (len(grid) - 1) / substeps
    stages, final = scaled_tableau(step)
    states = np.empty((len(grid), *start.shape))
    state = states[0] = np.array(start, dtype=float)
    for index, time in enumerate(grid[:-1].tolist()):
        for substep in range(substeps):
            slopes: list[ndarray] = []
            for node, row in stages:
                moved = state.copy()
                for place, weight in row:
                    moved += weight * slopes[place]
                slopes.append(rate(time + substep * step + node, moved))
            for place, weight in final:
                state = state + weight * slopes[place]
        states[index + 1] = state
    return states


def checked_refinement(place: str, refinement: int) -> int:
    """The number of steps in place of one, or an `ArgumentError`."""
    if refinement < 1:
        rule, remedy = "must be 1 or more", "1 is exact to 1e-8 already"
        raise ArgumentError(f"{place}.refinement", rule, refinement, remedy)
    return refinement


@cache
def scaled_tableau(step: float) -> tuple[list[tuple[float, Row]], Row]:
    """The node and the non-zero weights of each stage, and the weights of the step itself."""
    from scipy.integrate import DOP853

    nodes = [step * float(node) for node in DOP853.C]
    rows: list[Row] = [
        tuple((place, step * float(weight)) for place, weight in enumerate(row) if weight)
        for row in (*np.asarray(DOP853.A), np.asarray(DOP853.B))
    ]
    return list(zip(nodes, rows[:-1], strict=True)), rows[-1]
