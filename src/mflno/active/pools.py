"""Where candidates come from: a grid, a Sobol set, a user's list, or the box itself.

Pools are scaled to [-1, 1] in every parameter, as a `View` wants them.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray
from scipy.stats import qmc

from mflno.data import Parameter
from mflno.errors import ArgumentError
from mflno.shapes import Float


def scaled(cases: Float[ndarray, "N P"], axes: Sequence[Parameter]) -> Float[ndarray, "N P"]:
    """Cases in physical units mapped to [-1, 1]."""
    low, high = bounds(axes)
    return 2.0 * (np.asarray(cases, float) - low) / (high - low) - 1.0


def unscaled(cases: Float[ndarray, "N P"], axes: Sequence[Parameter]) -> Float[ndarray, "N P"]:
    """Cases in [-1, 1] mapped back to physical units, never outside the box by rounding."""
    low, high = bounds(axes)
    return np.clip(low + (high - low) * (cases + 1.0) / 2.0, low, high)


def bounds(axes: Sequence[Parameter]) -> tuple[Float[ndarray, " P"], Float[ndarray, " P"]]:
    """Lowest and highest value of every parameter."""
    return np.array([axis.low for axis in axes]), np.array([axis.high for axis in axes])


def grid_pool(width: int, per_axis: int) -> Float[ndarray, "N P"]:
    """A full grid with both ends of every parameter; the first parameter varies slowest."""
    if per_axis < 2 or per_axis**width > 10**6:
        rule, remedy = "2 or more, at most a million cases in all", "use a Sobol pool"
        came = f"{per_axis} on each of {width} axes"
        raise ArgumentError("grid_pool.per_axis", rule, came, remedy)
    axis = np.linspace(-1.0, 1.0, per_axis)
    return np.stack(np.meshgrid(*[axis] * width, indexing="ij"), axis=-1).reshape(-1, width)


def sobol_pool(width: int, count: int, generator: np.random.Generator) -> Float[ndarray, "N P"]:
    """A scrambled Sobol set; the pool for more than three parameters."""
    if count < 1:
        raise ArgumentError("sobol_pool.count", "must be positive", count, "1024 is usual")
    # Whole powers of two keep the balance of the set; SciPy warns about anything else.
    size = int(np.ceil(np.log2(count))) if count > 1 else 0
    points = qmc.Sobol(width, scramble=True, rng=generator).random_base2(size)
    return 2.0 * points[:count] - 1.0


def listed_pool(
    cases: Float[ndarray, "N _"], axes: Sequence[Parameter]
) -> Float[ndarray, "M P"]:
    """A user's own cases, in physical units; each once, all inside the box."""
    cases = np.asarray(cases, float)
    if cases.ndim != 2 or cases.shape[1] != len(axes) or len(cases) == 0:
        rule, remedy = f"rows of {len(axes)} numbers", "give one column a parameter"
        raise ArgumentError("listed_pool.cases", rule, f"shape {cases.shape}", remedy)
    place = scaled(cases, axes)
    outside = np.flatnonzero(~np.all(np.abs(place) <= 1.0 + 1e-9, axis=1))
    if len(outside):
        rule, remedy = "must lie in the box", "widen the box or drop them"
        came = f"{len(outside)} outside, first row {outside[0]}: {cases[outside[0]].tolist()}"
        raise ArgumentError("listed_pool.cases", rule, came, remedy)
    _, first = np.unique(np.round(place, 9), axis=0, return_index=True)
    return np.clip(place[np.sort(first)], -1.0, 1.0)


def refined(
    start: Float[ndarray, " P"],
    score: Callable[[Float[ndarray, "N P"]], Float[ndarray, " N"]],
    *,
    step: float = 0.1,
    smallest: float = 1e-3,
) -> Float[ndarray, " P"]:
    """A better case near the best member of a pool, anywhere in the box.

    Compass search: try a step to both sides along every parameter at once; move to the best,
    or halve the step. Never worse than the start.

    Args:
        start: Scaled case to begin at.
        score: Cases to scores, larger is better; asked for 2P cases at a time.
        step: First step, about the spacing of the pool.
        smallest: The search ends below this step.
    """
    place, value = np.array(start, float), float(score(np.asarray(start)[None])[0])
    while step >= smallest:
        moves = step * np.concatenate([np.eye(len(place)), -np.eye(len(place))])
        trials = np.clip(place + moves, -1.0, 1.0)
        values = score(trials)
        top = int(np.argmax(values))
        if values[top] > value:
            place, value = trials[top], float(values[top])
        else:
            step /= 2.0
    return place
