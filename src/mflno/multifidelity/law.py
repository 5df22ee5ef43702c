"""What a surrogate answers, and what a method must offer to become one.

A *method* is a frozen description, `fit(data, ...)` makes a *predictor* of it: numbers alone,
which answer a `Query` with a `Law` and can be written to and read from plain arrays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from mflno.bayes import AtomLaw
from mflno.data import Trajectories
from mflno.errors import ArgumentError
from mflno.multifidelity.query import Query
from mflno.problems import Problem
from mflno.shapes import Float


@dataclass(frozen=True)
class Data:
    """All a method may learn from.

    Attributes:
        problem: The problem; its cheap levels may be solved at will, its top level not at all.
        lower: What is known of each lower level, cheapest first.
        high: The runs of the highest level.
    """

    problem: Problem
    lower: tuple[Trajectories, ...]
    high: Trajectories

    def query(self, cases: Float[ndarray, "N P"] | None = None) -> Query:
        """The question at these cases, at those of the high runs when none are given."""
        return Query(self.problem, self.high.cases if cases is None else cases, self.lower)

    def at_high(self, index: int) -> Query:
        """The question at the case of one high run."""
        return self.query(self.high.cases[index : index + 1])

    def without(self, index: int) -> "Data":
        """The same without one high run."""
        keep = [i for i in range(len(self.high)) if i != index]
        return Data(self.problem, self.lower, self.high.take(keep))


class Law(NamedTuple):
    """A method's own answer: mean and standard deviation, and draws where it has them."""

    mean: Float[ndarray, "N O T"]
    std: Float[ndarray, "N O T"]
    draws: Float[ndarray, "S N O T"] | None = None


def joined(laws: Iterable[Law]) -> Law:
    """The laws of some cases after one another, without draws."""
    listed = list(laws)
    means, stds = ([getattr(law, part) for law in listed] for part in ("mean", "std"))
    return Law(np.concatenate(means), np.concatenate(stds))


@runtime_checkable
class Predictor(Protocol):
    """A fitted method; `kind` names it in a file.

    It may have a number `worth`: how many runs left out the scale of its deviation is worth.
    A Gaussian process has estimated that scale from the data; the spread of an ensemble is
    worth little, and without `worth` counts as `calibrating.WORTH`.
    """

    kind: ClassVar[str]

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """The answer; `draws` asks for that many joint draws of each trajectory."""
        ...

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Everything it needs, as arrays and JSON."""
        ...

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "Predictor":
        """The same predictor again, bit for bit."""
        ...


@runtime_checkable
class Method(Protocol):
    """A way to learn; a frozen dataclass whose fields are its settings."""

    name: ClassVar[str]

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> Predictor:
        """Learn; `warm` is the predictor of the same method fitted to fewer runs."""
        ...


@runtime_checkable
class LeavesOut(Protocol):
    """A method that knows a quicker leave-one-out than fitting again."""

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """For each high run, the answer of a fit that has not seen it."""
        ...


@dataclass(frozen=True)
class Prediction:
    """Predicted trajectories with an honest spread.

    Attributes:
        cases: In physical units.
        grid: Time grid of the highest level.
        mean: Predicted trajectories.
        std: Calibrated standard deviation at each point.
        draws: Joint draws of each trajectory, where they were asked for.
        radius: Level and half-width of its band in units of `std`, in rising order.
    """

    cases: Float[ndarray, "N P"]
    grid: Float[ndarray, " T"]
    mean: Float[ndarray, "N O T"]
    std: Float[ndarray, "N O T"]
    draws: Float[ndarray, "S N O T"] | None = None
    radius: tuple[tuple[float, float], ...] = field(default=((0.6827, 1.0), (0.95, 1.96)))

    def interval(
        self, level: float = 0.95
    ) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
        """Lower and upper edge of the band that holds this share of points."""
        reach = self.reach(level)
        return self.mean - reach * self.std, self.mean + reach * self.std

    def reach(self, level: float | ndarray) -> ndarray:
        """Half-width of the band of a level, in units of `std`."""
        levels, widths = zip(*self.radius, strict=True)
        if not (np.all(np.asarray(level) >= 0) and np.all(np.asarray(level) < 1)):
            rule, remedy = "must lie in [0, 1)", "pass 0.95"
            raise ArgumentError("interval.level", rule, level, remedy)
        return np.asarray(np.interp(level, (0.0, *levels), (0.0, *widths)))

    @property
    def distribution(self) -> AtomLaw:
        """The law at each point whose central bands these are, for scores."""
        places = np.arange(1, 400) / 400
        atoms = np.sign(places - 0.5) * self.reach(np.abs(2 * places - 1))
        return AtomLaw(self.mean, self.std, atoms)
