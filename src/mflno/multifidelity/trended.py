"""A trend, and a Gaussian process over the cases for what it leaves.

    û(t; c) = trend(t; c) + g(t; c),    g ~ GP through the trend's residuals at the runs

The trend carries what is known of oscillators into places between the runs, the process takes
the rest exactly at the runs and says how far to trust both elsewhere. A trend bends to its
runs, and what it leaves there is less than its errors elsewhere; so half of the process's
covariance C over time is that of errors at runs left out:

    C = ½ Rᵀ K⁻¹ R / N + ½ mean_i e_i e_iᵀ / v_i

R the residuals at the runs, e_i the error at run i without it, v_i the variance expected there
in units of C. A run left out is judged by the errors at the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.bayes import relative_error
from mflno.errors import ArgumentError
from mflno.multifidelity.blend import Blend, blended
from mflno.multifidelity.gaussian_process import Prior
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor, joined
from mflno.multifidelity.query import Query
from mflno.multifidelity.trends import TRENDS, Gain, Trend, TrendMaker
from mflno.shapes import Float

ENOUGH = 5
"""Runs from which errors at runs left out are believed alone."""


@dataclass(frozen=True)
class Trended:
    """A trend and a process on its residuals.

    Args:
        maker: Of the trend; of its variants the one with the least score is taken.
        prior: Of the process's lengthscales and nugget.

    Example:
        >>> Trended(Gain()).maker
        Gain()
    """

    name: ClassVar[str] = "trended"

    maker: TrendMaker = field(default_factory=Gain)
    prior: Prior = field(default_factory=Prior)

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> "TrendedPredictor":
        """Every variant, and the best of them."""
        known = warm.trend if isinstance(warm, TrendedPredictor) else None
        found = [
            self.with_process(trend, data, seed)
            for trend in self.maker.trends(data, seed, known)
        ]
        if not found:
            rule, remedy = "must describe the cheap level", "take cheap=False"
            raise ArgumentError("Trended.maker", rule, f"{self.maker}", remedy)
        return min(found, key=lambda each: each.score)

    def with_process(self, trend: Trend, data: Data, seed: int) -> "TrendedPredictor":
        """The process, and how both together do at runs left out."""
        made, count = self.conditioned(trend, data, seed), len(data.high)
        if count < 3:
            return made
        queries = [data.at_high(i) for i in range(count)]
        fewer = [
            self.conditioned(trend.without(data, i), data.without(i), seed)
            for i in range(count)
        ]
        pairs = [*zip(fewer, queries, strict=True)]
        mean = joined(each.law(query) for each, query in pairs).mean
        units = np.concatenate([each.blend.units(query.scaled) for each, query in pairs])
        errors = (data.high.values - mean).reshape(count, -1) / np.sqrt(units)[:, None]
        left = joined(
            each.heeding(np.delete(errors, i, axis=0)).law(query)
            for i, (each, query) in enumerate(pairs)
        )
        score = scored(trend, relative_error(mean, data.high.values))
        return replace(made.heeding(errors), left=left, score=score)

    def conditioned(self, trend: Trend, data: Data, seed: int) -> "TrendedPredictor":
        """The process through what the trend leaves at the runs."""
        left = data.high.values - trend.mean(data.query())
        mean = left.mean(0)
        columns = tuple(range(data.high.cases.shape[1]))
        kernels = Kernel((columns,), "se", linear=columns), Kernel((columns,), "matern52")
        rows = (left - mean).reshape(len(left), -1)
        return TrendedPredictor(
            trend, blended(kernels, data.query().scaled, rows, self.prior), mean, seed
        )

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """What the fit has already made."""
        if isinstance(predictor, TrendedPredictor) and predictor.left is not None:
            return predictor.left
        rule, remedy = "must come from this method's fit", "fit again"
        raise ArgumentError("Trended.left_out", rule, type(predictor).__name__, remedy)


def scored(trend: Trend, errors: Float[ndarray, " N"]) -> float:
    """Expected relative error, from errors at runs left out and, where those are few, misfit.

    Without one of three runs a plane through the rest is not determined any more: how well the
    trend describes all three then says more, and counts for 2/3. From five runs on it does not
    count, nor where the trend has more coefficients a number than there are runs.
    """
    left = float(np.sqrt(np.square(errors).mean()))
    if trend.coefficients > len(errors):
        return left
    share = max(0.0, (ENOUGH - len(errors)) / 3)
    return left ** (1 - share) * max(trend.misfit, 1e-12) ** share


@dataclass(frozen=True)
class TrendedPredictor:
    """A fitted trend and process.

    Attributes:
        trend: The trend.
        blend: The processes on its residuals less their mean.
        mean: That mean.
        seed: Of the draws.
        left: Each run as a fit without it had it; not kept in files.
        score: Expected relative error, by runs left out and, where those are few, misfit.
    """

    kind: ClassVar[str] = "trended"
    worth: ClassVar[float] = 3.0

    trend: Trend
    blend: Blend
    mean: Float[ndarray, "O T"] = field(repr=False)
    seed: int
    left: Law | None = field(default=None, repr=False)
    score: float = float("inf")

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Trend and process; the deviation is the process's."""
        shape = (len(query.cases), *self.mean.shape)
        left, variance = self.blend.law(query.scaled)
        mean = self.trend.mean(query) + self.mean + left.reshape(shape)
        drawn = None
        if draws:
            off = self.blend.draws(query.scaled, draws, self.seed)
            drawn = mean + off.reshape(draws, *shape)
        return Law(mean, np.sqrt(variance).reshape(shape), drawn)

    def heeding(self, errors: Float[ndarray, "N F"]) -> "TrendedPredictor":
        """The same mean, with a deviation that knows of errors at runs left out."""
        return replace(self, blend=self.blend.heeding(errors))

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Trend, processes, mean and seed."""
        arrays, blend = self.blend.arrays("blend")
        own, trend = self.trend.arrays()
        arrays |= {f"trend.{name}": each for name, each in own.items()} | {"mean": self.mean}
        about = {
            "blend": blend, "trend": trend, "kind": self.trend.kind,
            "seed": self.seed, "score": min(self.score, 1e300),
        }  # fmt: skip
        return arrays, about

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "TrendedPredictor":
        """The same again."""
        own = {
            name.removeprefix("trend."): each
            for name, each in arrays.items()
            if name.startswith("trend.")
        }
        trend = TRENDS[about["kind"]].from_arrays(own, about["trend"])
        blend = Blend.from_arrays(arrays, about["blend"], "blend")
        return cls(
            trend, blend, arrays["mean"], int(about["seed"]), None, float(about["score"])
        )
