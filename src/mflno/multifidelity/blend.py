"""Several Gaussian processes for the same values, weighed by how they do on values left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.multifidelity.gaussian_process import GaussianProcess, Prior, process_through
from mflno.multifidelity.kernel import Kernel
from mflno.seeds import numpy_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class Blend:
    """A mixture: with its weight's probability each process is the true one.

    Attributes:
        processes: All of the same values at the same rows.
        weights: Of each; they add up to 1.
    """

    processes: tuple[GaussianProcess, ...]
    weights: Float[ndarray, " B"]

    def mean(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, "Q F"]:
        """Expected values."""
        return sum(w * each.mean(rows) for w, each in self.pairs)  # pyright: ignore[reportReturnType]

    def law(
        self, rows: Float[ndarray, "Q D"]
    ) -> tuple[Float[ndarray, "Q F"], Float[ndarray, "Q F"]]:
        """Expected values, and variances: within the processes and between them."""
        means = [each.mean(rows) for _, each in self.pairs]
        mean = sum(w * m for (w, _), m in zip(self.pairs, means, strict=True))
        variance = np.zeros_like(means[0])
        for (weight, each), own in zip(self.pairs, means, strict=True):
            within = each.variance(rows)[:, None] * np.square(each.scale)
            variance += weight * (within + np.square(own - mean))
        return np.asarray(mean), variance

    def units(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, " Q"]:
        """Mean variance of the processes, each in units of its own C."""
        return np.asarray(sum(w * each.variance(rows) for w, each in self.pairs))

    def heeding(self, errors: Float[ndarray, "N F"]) -> "Blend":
        """The same means; half of every C from errors over the root of `units`."""
        rows = np.ascontiguousarray(errors / np.sqrt(len(errors)))
        return replace(
            self, processes=tuple(replace(each, errors=rows) for each in self.processes)
        )

    def draws(
        self, rows: Float[ndarray, "Q D"], count: int, seed: int
    ) -> Float[ndarray, "S Q F"]:
        """Joint draws less the mean; draw s belongs to one process everywhere."""
        pairs = self.pairs
        chances = np.array([weight for weight, _ in pairs])
        picks = [
            int(numpy_stream(seed, "process", s).choice(len(pairs), p=chances / chances.sum()))
            for s in range(count)
        ]
        mean = self.mean(rows)
        found = np.empty((count, *mean.shape))
        for number, (_, each) in enumerate(pairs):
            own = [s for s, pick in enumerate(picks) if pick == number]
            if own:
                found[own] = each.mean(rows) - mean + each.draws(rows, own, seed)
        return found

    @property
    def pairs(self) -> list[tuple[float, GaussianProcess]]:
        """Weight and process of those that count."""
        rows = zip(self.weights, self.processes, strict=True)
        return [(float(w), each) for w, each in rows if w > 0.0]

    def arrays(self, name: str) -> tuple[dict[str, ndarray], list[dict[str, Any]]]:
        """Everything, as arrays under names that begin with `name`, and JSON."""
        arrays, about = {f"{name}.weights": self.weights}, []
        for number, each in enumerate(self.processes):
            own, told = each.arrays(f"{name}.{number}")
            arrays |= own
            about.append(told)
        return arrays, about

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Sequence[Mapping[str, Any]], name: str
    ) -> "Blend":
        """The same blend, bit for bit."""
        processes = (
            GaussianProcess.from_arrays(arrays, told, f"{name}.{number}")
            for number, told in enumerate(about)
        )
        return cls(tuple(processes), arrays[f"{name}.weights"])


def blended(
    kernels: Sequence[Kernel],
    rows: Float[ndarray, "N D"],
    values: Float[ndarray, "N F"],
    prior: Prior | None = None,
    drift: Float[ndarray, "D F"] | None = None,
) -> Blend:
    """A process of each covariance, weighed by its errors at values left out.

    Covariances with slopes are tried with the drift too, where one is given.

    w ∝ (Σ_i |y_i - mean without i|²)^(-N/2), the likelihood of these errors were they normal
    and alike, at the θ of all values. Marginal likelihood, the usual weight, is slow to see
    that a process is too smooth; errors at values left out show it from seven values on.
    """
    processes = [process_through(kernel, rows, values, prior) for kernel in kernels]
    if drift is not None:
        sloped = [kernel for kernel in kernels if kernel.linear]
        processes += [process_through(each, rows, values, prior, drift) for each in sloped]
    errors = [np.square(each.left_out()[0] - values).sum() for each in processes]
    logs = -0.5 * len(rows) * np.log(np.maximum(errors, 1e-300))
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # A thousandth is not worth the time of another process.
    weights = np.where(weights < 1e-3, 0.0, weights)
    return Blend(tuple(processes), weights / weights.sum())


def best_of(
    kernels: Sequence[Kernel],
    rows: Float[ndarray, "N D"],
    values: Float[ndarray, "N F"],
    prior: Prior | None = None,
    drift: Float[ndarray, "D F"] | None = None,
) -> GaussianProcess:
    """The process of the blend that weighs most."""
    found = blended(kernels, rows, values, prior, drift)
    return found.processes[int(np.argmax(found.weights))]
