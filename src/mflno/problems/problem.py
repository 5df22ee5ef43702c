"""The contract of a problem: a parameter box, two or more levels, and a solver for each."""

from typing import Protocol, runtime_checkable

from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.shapes import Float


@runtime_checkable
class Problem(Protocol):
    """What every problem offers: plain attributes and two methods, nothing to inherit.

    The attributes are only read, so constants of a class and fields of a frozen dataclass
    will do. Two more methods are optional, for many cases at once with the same numbers:
    `solve_many(cases: "N P", level) -> "N O T"`, which `mflno.sample` uses, and
    `inputs_many(cases: "N P", level) -> "N C T"`, which `inputs_of` uses: a surrogate answers
    ten thousand cases in one call.
    """

    @property
    def name(self) -> str:
        """Short and unique; part of the cache key."""
        ...

    @property
    def version(self) -> str:
        """Change it when the same case would give other numbers; part of the cache key."""
        ...

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The axes of the box."""
        ...

    @property
    def levels(self) -> tuple[Level, ...]:
        """Cheapest first, two or more."""
        ...

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the output functions."""
        ...

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing on the level's grid; no channels when there is none."""
        ...

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One run; raises `SolveFailed` when it gives no usable trajectory."""
        ...
