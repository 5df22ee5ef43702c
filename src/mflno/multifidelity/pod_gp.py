"""POD-GP: a Gaussian process over the cases on the highest level alone; no cheap data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.multifidelity.blend import Blend, blended
from mflno.multifidelity.gaussian_process import Prior
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor, joined
from mflno.multifidelity.query import Query
from mflno.shapes import Float


@dataclass(frozen=True)
class PodGP:
    """Principal components of the high runs, a Gaussian process for each coefficient.

    The processes share their lengthscales; their sum is then one process for all points of a
    trajectory, and no component has to be left out (see `gaussian_process`).

    Args:
        shapes: Of the covariance, some of `Kernel.SHAPES`; errors at runs left out weigh them.
        prior: Of the lengthscales and the nugget.

    Example:
        >>> PodGP(shapes=("matern52",)).name
        'pod-gp'
    """

    name: ClassVar[str] = "pod-gp"

    shapes: tuple[str, ...] = ("se", "matern52")
    prior: Prior = field(default_factory=Prior)

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> "PodGPPredictor":
        """Learn; quick enough never to need a warm start or another device."""
        return self.fitted(data, seed)

    def fitted(self, data: Data, seed: int) -> "PodGPPredictor":
        """Learn."""
        columns = tuple(range(data.high.cases.shape[1]))
        kernels = [Kernel((columns,), shape) for shape in self.shapes]
        mean = data.high.values.mean(0)
        rows = (data.high.values - mean).reshape(len(data.high), -1)
        return PodGPPredictor(
            blended(kernels, data.query().scaled, rows, self.prior), mean, seed
        )

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """Everything learnt again without each run in turn, mean and lengthscales too."""
        runs = range(len(data.high))
        return joined(self.fitted(data.without(i), seed).law(data.at_high(i)) for i in runs)


@dataclass(frozen=True)
class PodGPPredictor:
    """Processes through the high runs less their mean."""

    kind: ClassVar[str] = "pod-gp"
    worth: ClassVar[float] = 10.0

    blend: Blend
    mean: Float[ndarray, "O T"] = field(repr=False)
    seed: int

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Mean, deviation and draws of the processes."""
        shape = (len(query.cases), *self.mean.shape)
        mean, variance = self.blend.law(query.scaled)
        mean = self.mean + mean.reshape(shape)
        drawn = None
        if draws:
            off = self.blend.draws(query.scaled, draws, self.seed)
            drawn = mean + off.reshape(draws, *shape)
        return Law(mean, np.sqrt(variance).reshape(shape), drawn)

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """The processes, the mean and the seed of the draws."""
        arrays, about = self.blend.arrays("blend")
        return {**arrays, "mean": self.mean}, {"blend": about, "seed": self.seed}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "PodGPPredictor":
        """The same predictor again."""
        blend = Blend.from_arrays(arrays, about["blend"], "blend")
        return cls(blend, arrays["mean"], int(about["seed"]))
