"""What a Gaussian process is laid on: an operator's answer, or a time-varying gain.

A trend makes one or more fits of the same data; each can be made again without one run, which
is quick because it starts from where the whole one ended.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from mflno.bayes import relative_error
from mflno.multifidelity.law import Data
from mflno.multifidelity.line import LinePredictor, fitted
from mflno.multifidelity.moving_poles import MovingPoles, monomials
from mflno.multifidelity.pole_search import (
    Belief,
    Fitted,
    Runs,
    descended,
    loss_of,
    moved,
    searched,
)
from mflno.multifidelity.query import Query
from mflno.problems import inputs_of
from mflno.seeds import numpy_stream
from mflno.shapes import Float

CHEAP_RUNS = 24
"""Cheap runs that poles are learnt from, spread over those there are."""
CHEAP_RIDGE, CHEAP_ERROR = 1e-6, 0.1
"""λ of that fit, and its largest relative error: beyond it the cheap level tells nothing."""


@runtime_checkable
class Trend(Protocol):
    """A fitted trend."""

    kind: ClassVar[str]

    @property
    def misfit(self) -> float:
        """Relative error it leaves at the runs it was fitted to."""
        ...

    @property
    def coefficients(self) -> int:
        """How many runs each of its numbers takes to be determined."""
        ...

    def mean(self, query: Query) -> Float[ndarray, "N O T"]:
        """Its answer."""
        ...

    def without(self, data: Data, index: int) -> "Trend":
        """The same fitted without one run."""
        ...

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Everything its answer needs, as arrays and JSON."""
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]) -> "Trend":
        """The same trend, bit for bit."""
        ...


@runtime_checkable
class TrendMaker(Protocol):
    """A frozen description; several fits are variants to choose from, none means unfit."""

    def trends(self, data: Data, seed: int, warm: Trend | None) -> list[Trend]:
        """The fits."""
        ...


@dataclass(frozen=True)
class Gain:
    """At each time a line from the cheap solver's value to the expensive one's."""

    def trends(self, data: Data, seed: int, warm: Trend | None) -> list[Trend]:
        """One fit, in closed form."""
        return [GainTrend.of(data)]


@dataclass(frozen=True)
class GainTrend:
    """See `line.py`; here its mean alone."""

    kind: ClassVar[str] = "gain"
    line: LinePredictor
    misfit: float = 0.0

    @classmethod
    def of(cls, data: Data) -> "GainTrend":
        """By least squares; its misfit is per degree of freedom: a line bends to few runs."""
        query, count = data.query(), len(data.high)
        line = fitted(query.cheapest, data.high.values, 0)
        off = relative_error(line.law(query).mean, data.high.values)
        free = np.sqrt(count / max(count - 2, 0.25))
        return cls(line, float(np.sqrt(np.square(off).mean()) * free))

    @property
    def coefficients(self) -> int:
        """Two a line."""
        return 2

    def mean(self, query: Query) -> Float[ndarray, "N O T"]:
        """The line's value."""
        return self.line.law(query).mean

    def without(self, data: Data, index: int) -> "GainTrend":
        """Again in closed form."""
        return GainTrend.of(data.without(index))

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """The line."""
        arrays, about = self.line.arrays()
        return arrays, {**about, "misfit": self.misfit}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "GainTrend":
        """The same line."""
        return cls(LinePredictor.from_arrays(arrays, about), float(about["misfit"]))


@dataclass(frozen=True)
class Poles:
    """A Laplace operator whose poles and residues move with the case.

    Args:
        modes: Poles.
        degree: Of their polynomials in the case.
        ridges: Weights λ of what is believed beforehand; each makes a variant.
        cheap: Believe the cheap level's poles: they are learnt there first (phase 1), then
            moved as far as the expensive runs ask for (phase 2). Without it poles are
            searched in the expensive runs alone.

    Example:
        >>> Poles(modes=2, degree=1).cheap
        True
    """

    modes: int = 2
    degree: int = 1
    ridges: tuple[float, ...] = (1e-2, 1e-4)
    cheap: bool = True

    def trends(self, data: Data, seed: int, warm: Trend | None) -> list[Trend]:
        """A fit for each ridge."""
        runs = runs_at(data, len(data.problem.levels) - 1)
        shape = runs.signal.shape[1], runs.values.shape[1]
        model = MovingPoles(self.modes, self.degree, *shape)
        generator = numpy_stream(seed, "poles", self.modes, self.degree)
        origin = self.origin(model, data, generator, warm) if self.cheap else None
        if self.cheap and origin is None:
            return []
        thin = runs.thinned(runs.band)
        found = [
            searched(model, thin, ridge, generator)
            if origin is None
            else moved(model, thin, origin, ridge)
            for ridge in self.ridges
        ]
        made = [PoleTrend(model, end.theta, belief, origin) for end, belief in found]
        return [each.judged(runs) for each in made]

    def origin(
        self,
        model: MovingPoles,
        data: Data,
        generator: np.random.Generator,
        warm: Trend | None,
    ) -> Float[ndarray, "B Q"] | None:
        """Phase 1: the cheap level's parameters; none where they do not describe it."""
        if isinstance(warm, PoleTrend) and warm.model == model and warm.origin is not None:
            return warm.origin
        level = len(data.lower) - 1
        runs = runs_at(data, level)
        some = np.unique(np.linspace(0, len(runs.cases) - 1, CHEAP_RUNS).round().astype(int))
        runs = Runs(runs.cases[some], runs.signal[some], runs.values[some], runs.grid)
        thin = runs.thinned(runs.band)
        end, _ = searched(model, thin, CHEAP_RIDGE, generator)
        return end.theta if np.sqrt(end.loss) < CHEAP_ERROR else None


@dataclass(frozen=True)
class PoleTrend:
    """Fitted moving poles.

    Attributes:
        model: Their sizes.
        theta: Their parameters.
        belief: What was believed; not kept in files.
        origin: Parameters of the cheap level, where they were used.
        misfit: Relative error at the runs.
    """

    kind: ClassVar[str] = "poles"

    model: MovingPoles
    theta: Float[ndarray, "B Q"] = field(repr=False)
    belief: Belief | None = field(default=None, repr=False)
    origin: Float[ndarray, "B Q"] | None = field(default=None, repr=False)
    misfit: float = 0.0

    @property
    def coefficients(self) -> int:
        """Those of the polynomials."""
        return len(self.theta)

    def numbers(self, scaled: Float[ndarray, "N P"]) -> Float[ndarray, "N Q"]:
        """Each case's own decay rates, frequencies, residues and so on."""
        return monomials(scaled, self.model.degree)[0] @ self.theta

    def mean(self, query: Query) -> Float[ndarray, "N O T"]:
        """The operator's answer."""
        return self.model.answer(self.numbers(query.scaled), query.inputs, query.grid)

    def judged(self, runs: Runs) -> "PoleTrend":
        """With its misfit."""
        answer = self.model.answer(self.numbers(runs.cases), runs.signal, runs.grid)
        off = relative_error(answer, runs.values)
        return replace(self, misfit=float(np.sqrt(np.square(off).mean())))

    def without(self, data: Data, index: int) -> "PoleTrend":
        """On from where the fit of all runs ended, to the end: the run is not felt."""
        if self.belief is None:
            return self
        runs = runs_at(data, len(data.problem.levels) - 1)
        fewer = runs.thinned(runs.band).without(index)
        start = Fitted(self.theta, loss_of(self.model, fewer, self.theta, self.belief))
        end = descended(self.model, fewer, start, self.belief, steps=50)
        return replace(self, theta=end.theta)

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Parameters and sizes."""
        arrays = {"theta": self.theta}
        if self.origin is not None:
            arrays["origin"] = self.origin
        sizes = self.model.modes, self.model.degree, self.model.channels, self.model.outputs
        return arrays, {"sizes": list(sizes), "misfit": self.misfit}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "PoleTrend":
        """The same poles."""
        model, misfit = MovingPoles(*about["sizes"]), float(about["misfit"])
        return cls(model, arrays["theta"], None, arrays.get("origin"), misfit)


def runs_at(data: Data, level: int) -> Runs:
    """The runs of one level, as a fit wants them."""
    levels = len(data.problem.levels)
    runs = data.high if level == levels - 1 else data.lower[level]
    signal = inputs_of(data.problem, runs.cases, level)
    scaled = Query(data.problem, runs.cases).scaled
    return Runs(scaled, np.asarray(signal, float), runs.values, runs.grid)


TRENDS: dict[str, type[Trend]] = {"gain": GainTrend, "poles": PoleTrend}
"""Kind of each trend in a file, and what reads it."""
