"""What a network sees of a case: forcing, constant parameters, time, cheaper trajectories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.problems import Problem
from mflno.shapes import Float

CHOICES = ("hidden", "all", "none")


@dataclass(frozen=True)
class Channels:
    """The order of a network's input channels: forcing, parameters, time, cheaper levels.

    Attributes:
        forcing: How many forcing channels there are.
        parameters: Which parameters enter as constant channels, scaled to [-1, 1].
        time: Whether time, from -1 to 1, is a channel.
        lower: How many channels cheaper levels give.

    Example:
        >>> found = Channels(forcing=1, parameters=(1,), lower=1)
        >>> found.count, found.constants, found.cheaper
        (3, (1,), (2,))
    """

    forcing: int
    parameters: tuple[int, ...] = ()
    time: bool = False
    lower: int = 0

    @property
    def count(self) -> int:
        """All channels."""
        return self.forcing + len(self.parameters) + self.time + self.lower

    @property
    def constants(self) -> tuple[int, ...]:
        """Places of the constant channels."""
        return tuple(range(self.forcing, self.forcing + len(self.parameters)))

    @property
    def cheaper(self) -> tuple[int, ...]:
        """Places of the cheaper levels' channels."""
        return tuple(range(self.count - self.lower, self.count))

    def stacked(
        self,
        forcing: Float[ndarray, "N F T"],
        scaled: Float[ndarray, "N P"],
        lower: Sequence[Float[ndarray, "N O T"]] = (),
    ) -> Float[ndarray, "N C T"]:
        """The channels of each case."""
        cases, _, points = forcing.shape
        parts = [forcing]
        if self.parameters:
            chosen = scaled[:, list(self.parameters), None]
            parts.append(np.broadcast_to(chosen, (cases, len(self.parameters), points)))
        if self.time:
            clock = np.linspace(-1.0, 1.0, points)
            parts.append(np.broadcast_to(clock, (cases, 1, points)))
        found = np.concatenate([*parts, *lower], axis=1)
        if found.shape[1] != self.count:
            rule, came = f"must make {self.count} channels", found.shape[1]
            remedy = "ask about the problem the network was fitted to"
            raise ArgumentError("Channels.stacked", rule, came, remedy)
        return found

    def about(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "forcing": self.forcing, "parameters": list(self.parameters),
            "time": self.time, "lower": self.lower,
        }  # fmt: skip

    @classmethod
    def from_about(cls, about: dict[str, Any]) -> "Channels":
        """From JSON."""
        return cls(**{**about, "parameters": tuple(about["parameters"])})


def parameter_channels(problem: Problem, choice: str) -> tuple[int, ...]:
    """Which parameters become channels: all, none, or those that the forcing does not tell.

    The amplitude of a forcing need not be told twice; the paper's counts have no room for it.

    Example:
        >>> from mflno.problems import Lorenz
        >>> parameter_channels(Lorenz(), "hidden"), parameter_channels(Lorenz(), "all")
        ((1,), (0, 1))
    """
    count = len(problem.parameters)
    if choice not in CHOICES:
        rule = f"must be one of {', '.join(CHOICES)}"
        raise ArgumentError("parameters", rule, choice, "pass 'hidden' as in the paper")
    if choice != "hidden":
        return tuple(range(count)) if choice == "all" else ()
    top = len(problem.levels) - 1
    low = np.array([each.low for each in problem.parameters])
    high = np.array([each.high for each in problem.parameters])
    middle = 0.5 * (low + high)
    at_middle = problem.inputs(middle, top)
    hidden = []
    for place in range(count):
        moved = middle.copy()
        moved[place] = high[place]
        if np.array_equal(problem.inputs(moved, top), at_middle):
            hidden.append(place)
    return tuple(hidden)


def scaled_cases(problem: Problem, cases: Float[ndarray, "N P"]) -> Float[ndarray, "N P"]:
    """The cases in the box [-1, 1]."""
    low = np.array([each.low for each in problem.parameters])
    high = np.array([each.high for each in problem.parameters])
    return 2.0 * (cases - low) / (high - low) - 1.0
