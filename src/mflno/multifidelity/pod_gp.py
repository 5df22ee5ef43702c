"""POD-GP: a Gaussian process over the cases on the highest level alone; no cheap data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.multifidelity.gaussian_process import GaussianProcess, Prior, process_through
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor
from mflno.multifidelity.query import Query
from mflno.shapes import Float


@dataclass(frozen=True)
class PodGP:
    """Principal components of the high runs, a Gaussian process for each coefficient.

    The processes share their lengthscales; their sum is then one process for all points of a
    trajectory, and no component has to be left out (see `gaussian_process`).

    Args:
        shape: Of the covariance, one of `Kernel.SHAPES`.
        slope: Prior variance of a linear trend over the box; 0 for none.
        prior: Of the lengthscales and the nugget.

    Example:
        >>> PodGP().name
        'pod-gp'
    """

    name: ClassVar[str] = "pod-gp"

    shape: str = "se"
    slope: float = 0.0
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
        kernel = Kernel((columns,), self.shape, slope=self.slope, linear=columns)
        values = data.high.values
        mean = values.mean(0)
        rows = (values - mean).reshape(len(values), -1)
        process = process_through(kernel, data.query().scaled, rows, self.prior)
        return PodGPPredictor(process, mean, seed)

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """Everything learnt again without each run in turn, mean and lengthscales too."""
        laws = []
        for index in range(len(data.high)):
            left = self.fitted(data.without(index), seed)
            laws.append(left.law(data.query(data.high.cases[index : index + 1])))
        means, stds, _ = zip(*laws, strict=True)
        return Law(np.concatenate(means), np.concatenate(stds))


@dataclass(frozen=True)
class PodGPPredictor:
    """A process through the high runs less their mean."""

    kind: ClassVar[str] = "pod-gp"

    process: GaussianProcess
    mean: Float[ndarray, "O T"] = field(repr=False)
    seed: int

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Mean, deviation and draws of the process."""
        shape = (len(query.cases), *self.mean.shape)
        rows, process = query.scaled, self.process
        mean = self.mean + process.mean(rows).reshape(shape)
        std = np.sqrt(process.variance(rows))[:, None] * process.scale
        drawn = None
        if draws:
            unit = process.functions(rows, draws, self.seed) @ process.whitened
            drawn = mean + unit.reshape(draws, *shape)
        return Law(mean, std.reshape(shape), drawn)

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """The process, the mean and the seed of the draws."""
        arrays, about = self.process.arrays("process")
        return {**arrays, "mean": self.mean}, {"process": about, "seed": self.seed}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "PodGPPredictor":
        """The same predictor again."""
        process = GaussianProcess.from_arrays(arrays, about["process"], "process")
        return cls(process, arrays["mean"], int(about["seed"]))
