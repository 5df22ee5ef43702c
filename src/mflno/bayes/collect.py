"""Which states of a run become draws: snapshots of the coldest chain, of all, or the last.

Which states form the posterior decides its calibration more than the sampler does, so the
choice is an object of its own. A state is known by the number of moves it took, 0 to `steps`;
the last state always counts, earlier ones at distances of `thin` from it, none before `burn`.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mflno.errors import ArgumentError


@runtime_checkable
class Collection(Protocol):
    """Decides when, and which chains of a ladder."""

    def due(self, step: int, steps: int) -> bool:
        """Whether the state after `step` of `steps` moves is kept."""
        ...

    def kept(self, chains: int) -> int:
        """How many chains are kept, from the coldest up."""
        ...


def check_window(place: str, burn: float, thin: int) -> None:
    """Refuse a burn-in outside [0, 1] and thinning below one."""
    if not 0 <= burn <= 1:
        remedy = "pass the share of the run to leave out"
        raise ArgumentError(f"{place}.burn", "must lie in [0, 1]", burn, remedy)
    if thin < 1:
        raise ArgumentError(f"{place}.thin", "must be at least 1", thin, "pass 1 to keep all")


def in_window(step: int, steps: int, burn: float, thin: int) -> bool:
    """Whether `step` lies behind the burn-in and a multiple of `thin` before the end."""
    return step == steps or (step > burn * steps and (steps - step) % thin == 0)


@dataclass(frozen=True)
class Cold:
    """Snapshots of the coldest chain; the defaults are the paper's ten of 5,000 iterations.

    Example:
        >>> sum(Cold().due(step, 5000) for step in range(5001))
        10
    """

    burn: float = 0.8
    thin: int = 100

    def __post_init__(self) -> None:
        """Refuse impossible windows."""
        check_window("Cold", self.burn, self.thin)

    def due(self, step: int, steps: int) -> bool:
        """Whether this state is kept."""
        return in_window(step, steps, self.burn, self.thin)

    def kept(self, chains: int) -> int:
        """The coldest alone."""
        return 1


@dataclass(frozen=True)
class All:
    """Snapshots of every chain after burn-in."""

    burn: float = 0.8
    thin: int = 100

    def __post_init__(self) -> None:
        """Refuse impossible windows."""
        check_window("All", self.burn, self.thin)

    def due(self, step: int, steps: int) -> bool:
        """Whether this state is kept."""
        return in_window(step, steps, self.burn, self.thin)

    def kept(self, chains: int) -> int:
        """All of them."""
        return chains


@dataclass(frozen=True)
class Final:
    """The last state of every chain."""

    def due(self, step: int, steps: int) -> bool:
        """Whether this is the end."""
        return step == steps

    def kept(self, chains: int) -> int:
        """All of them."""
        return chains
