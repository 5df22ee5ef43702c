"""Step sizes over a run, as a factor of the first: constant, polynomial, cosine, cyclical."""

import math
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mflno.errors import ArgumentError


@runtime_checkable
class Schedule(Protocol):
    """The factor of the step size at one iteration of a run."""

    def __call__(self, step: int, steps: int, /) -> float:
        """The factor at `step` of `steps`."""
        ...


@dataclass(frozen=True)
class Constant:
    """Always 1: the chain stays at one law, biased by its step size, for as long as it runs."""

    def __call__(self, step: int, steps: int, /) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class Polynomial:
    """(1 + i / delay)^-power: Robbins-Monro for a power in (1/2, 1].

    Σ η diverges and Σ η² converges, so the bias of the step size vanishes, slowly.

    Example:
        >>> round(Polynomial(delay=100.0, power=1.0)(300, 5000), 3)
        0.25
    """

    delay: float = 100.0
    power: float = 0.55

    def __post_init__(self) -> None:
        """Refuse powers for which the chain stops short or never settles."""
        if not 0.5 < self.power <= 1 or self.delay <= 0:
            came, remedy = (self.delay, self.power), "pass delay > 0 and 0.5 < power <= 1"
            raise ArgumentError("Polynomial", "must satisfy Robbins-Monro", came, remedy)

    def __call__(self, step: int, steps: int, /) -> float:
        """A slow decay that does not know how long the run is."""
        return (1 + step / self.delay) ** -self.power


@dataclass(frozen=True)
class Cosine:
    """From 1 to `final` along half a cosine: an optimiser's schedule.

    It fits well and freezes: towards the end every chain stays in the basin where it is, so
    late snapshots of one chain are nearly the same state.

    Example:
        >>> round(Cosine(0.01)(2500, 5000), 3)
        0.505
    """

    final: float = 0.01

    def __call__(self, step: int, steps: int, /) -> float:
        """Half a cosine."""
        return self.final + (1 - self.final) * (1 + math.cos(math.pi * step / steps)) / 2


@dataclass(frozen=True)
class Cyclical:
    """Cosine restarts: each cycle explores at full step, then settles.

    Example:
        >>> schedule = Cyclical(cycles=4)
        >>> [schedule(step, 1000) for step in (0, 250, 500)]
        [1.0, 1.0, 1.0]
    """

    cycles: int = 4

    def __call__(self, step: int, steps: int, /) -> float:
        """Half a cosine in each cycle."""
        length = math.ceil(steps / self.cycles)
        return (1 + math.cos(math.pi * (step % length) / length)) / 2
