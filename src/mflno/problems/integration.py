"""Ordinary differential equations on a uniform grid, many cases at once, to nearly rounding."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy import ndarray

from mflno.shapes import Float

Rate = Callable[[float, Float[ndarray, "D N"]], Float[ndarray, "D N"]]
"""Time and state to the state's rate of change; D state variables of N cases."""


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
    rows, nodes = scaled_tableau(step)
    states = np.empty((len(grid), *start.shape))
    state = states[0] = np.asarray(start, dtype=float)
    for index, time in enumerate(grid[:-1].tolist()):
        for substep in range(substeps):
            begin = time + substep * step
            slopes: list[ndarray] = []
            for node, row in zip(nodes, rows[:-1], strict=True):
                slopes.append(rate(begin + node, advanced(state, slopes, row)))
            state = advanced(state, slopes, rows[-1])
        states[index + 1] = state
    return states


def advanced(
    state: ndarray, slopes: list[ndarray], row: tuple[tuple[int, float], ...]
) -> ndarray:
    """The state moved along the slopes, each by its weight."""
    result = state.copy()
    for place, weight in row:
        result += weight * slopes[place]
    return result


@cache
def scaled_tableau(step: float) -> tuple[list[tuple[tuple[int, float], ...]], list[float]]:
    """The method's non-zero weights, row by row and the final row last, and its nodes."""
    from scipy.integrate import DOP853

    table = [*np.asarray(DOP853.A), np.asarray(DOP853.B)]
    rows = [
        tuple((place, step * float(weight)) for place, weight in enumerate(row) if weight)
        for row in table
    ]
    return rows, [step * float(node) for node in DOP853.C]
