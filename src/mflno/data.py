"""The nouns that travel between rooms: parameters, levels, trajectories.

A *case* is one point in the parameter box. A *level* is one fidelity with its own time grid and
cost, cheapest first. A *trajectory* is what one case gives at one level.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class Parameter:
    """One axis of the parameter box.

    Example:
        >>> Parameter("rho", 5.0, 8.0).scaled(6.5)
        0.0
    """

    name: str
    low: float
    high: float
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse an empty or non-finite interval."""
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            place, came = f"Parameter({self.name!r}).low", (self.low, self.high)
            raise ArgumentError(place, "low < high, both finite", came, "swap or correct them")

    def scaled(self, value: float) -> float:
        """The value mapped from [low, high] to [-1, 1]."""
        return 2.0 * (value - self.low) / (self.high - self.low) - 1.0


@dataclass(frozen=True, eq=False)
class Level:
    """One fidelity: its name, its uniform time grid, and what one run costs.

    Example:
        >>> Level("coarse", np.linspace(0.0, 20.0, 512), cost=1.0).points
        512
    """

    name: str
    grid: Float[ndarray, " T"] = field(repr=False)
    cost: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a grid that is not uniform, and a cost that is not positive."""
        object.__setattr__(self, "grid", np.asarray(self.grid, dtype=float))
        check_grid(f"Level({self.name!r}).grid", self.grid)
        if not (np.isfinite(self.cost) and self.cost > 0):
            place = f"Level({self.name!r}).cost"
            raise ArgumentError(place, "must be positive", self.cost, "use seconds or money")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Level):
            return NotImplemented
        same = (self.name, self.cost) == (other.name, other.cost)
        return same and np.array_equal(self.grid, other.grid)

    def __hash__(self) -> int:
        return hash((self.name, self.cost, self.grid.tobytes()))

    @property
    def points(self) -> int:
        """How many points the grid has."""
        return len(self.grid)


def check_grid(place: str, grid: ndarray) -> None:
    """Raise unless the grid is one-dimensional, rising, finite and uniform to rounding."""
    if grid.ndim != 1 or len(grid) < 4:
        rule = "must be one row of at least 4 times"
        raise ArgumentError(place, rule, f"shape {grid.shape}", "pass numpy.linspace(0, T, n)")
    steps = np.diff(grid)
    if not np.all(np.isfinite(grid)) or steps.min() <= 0:
        raise ArgumentError(place, "must be finite and rising", "it is not", "sort the times")
    if np.ptp(steps) > 1e-6 * abs(steps.mean()):
        came = f"steps from {steps.min():.6g} to {steps.max():.6g}"
        raise ArgumentError(place, "must be uniform", came, "interpolate to a uniform grid")


@dataclass(frozen=True)
class Trajectories:
    """Solved cases of one level.

    Attributes:
        cases: One row a case, in physical units.
        grid: The level's time grid.
        inputs: Forcing channels; `C` may be 0.
        values: Output functions.
        level: Which level, 0 the cheapest.
        problem: The problem's name.
        parameters: The axes of the box.
        outputs: Names of the output functions.
    """

    cases: Float[ndarray, "N P"]
    grid: Float[ndarray, " T"]
    inputs: Float[ndarray, "N C T"]
    values: Float[ndarray, "N O T"]
    level: int
    problem: str
    parameters: tuple[Parameter, ...]
    outputs: tuple[str, ...] = ("u",)

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit each other."""
        place = f"Trajectories({self.problem!r})"
        count, points = len(self.cases), len(self.grid)
        wanted = {
            "cases": (count, len(self.parameters)),
            "inputs": (
                count,
                self.inputs.shape[1] if self.inputs.ndim == 3 else -1,
                points,
            ),
            "values": (count, len(self.outputs), points),
        }
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                came = getattr(self, name).shape
                raise ArgumentError(
                    f"{place}.{name}",
                    f"must have shape {shape}",
                    came,
                    "check the axes N, C|O, T",
                )
        check_grid(f"{place}.grid", self.grid)
        arrays = self.cases, self.inputs, self.values
        if not all(np.isfinite(each).all() for each in arrays):
            rule, remedy = "must be finite", "drop the failed cases first"
            raise ArgumentError(f"{place}.values", rule, "NaN or infinity", remedy)

    def __len__(self) -> int:
        return len(self.cases)

    def take(self, indices: Sequence[int] | ndarray) -> "Trajectories":
        """The chosen cases, in the order given."""
        index = np.asarray(indices, dtype=int)
        return replace(
            self,
            cases=self.cases[index],
            inputs=self.inputs[index],
            values=self.values[index],
        )

    def join(self, other: "Trajectories") -> "Trajectories":
        """These cases, then the other's; both of the same problem, level and grid."""
        same = (self.problem, self.level, self.outputs) == (
            other.problem, other.level, other.outputs,
        ) and np.array_equal(self.grid, other.grid)  # fmt: skip
        if not same:
            came, remedy = f"{other.problem!r} level {other.level}", "sample both alike"
            rule = "same problem, level and grid"
            raise ArgumentError("Trajectories.join", rule, came, remedy)
        stack = lambda name: np.concatenate([getattr(self, name), getattr(other, name)])
        return replace(
            self, cases=stack("cases"), inputs=stack("inputs"), values=stack("values")
        )
