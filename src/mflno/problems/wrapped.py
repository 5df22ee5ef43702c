"""A problem seen through another one: what a wrapper does not change is the whole's own."""

from dataclasses import dataclass

from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.problem import Problem
from mflno.shapes import Float


@dataclass(frozen=True)
class Wrapped:
    """A problem that answers as another one does; a subclass changes what it is for.

    Args:
        whole: The other one.

    Example:
        >>> from mflno.problems import Lorenz
        >>> Wrapped(Lorenz()).name
        'lorenz'
    """

    whole: Problem

    @property
    def name(self) -> str:
        """That of the whole."""
        return self.whole.name

    @property
    def version(self) -> str:
        """That of the whole."""
        return self.whole.version

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the whole."""
        return tuple(self.whole.parameters)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those of the whole."""
        return tuple(self.whole.levels)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Those of the whole."""
        return tuple(self.whole.outputs)

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing."""
        return self.whole.inputs(case, level)

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One run."""
        return self.whole.solve(case, level)
