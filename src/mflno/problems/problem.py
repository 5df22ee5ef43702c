"""The contract of a problem: a parameter box, two or more levels, and a solver for each."""

from typing import Protocol, runtime_checkable

from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.shapes import Float


@runtime_checkable
class Problem(Protocol):
    """What every problem offers; plain attributes and two methods, nothing to inherit.

    Attributes:
        name: Short and unique; part of the cache key.
        version: Change it when the same case would give other numbers; part of the cache key.
        parameters: The axes of the box.
        levels: Cheapest first, two or more.
        outputs: Names of the output functions.
    """

    name: str
    version: str
    parameters: tuple[Parameter, ...]
    levels: tuple[Level, ...]
    outputs: tuple[str, ...]

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing on the level's grid; no channels when there is none."""
        ...

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One run; raises `SolveFailed` when it gives no usable trajectory."""
        ...
