"""Gaussian processes for a handful of long rows: one covariance over cases, many outputs.

Given cases X and values Y[N, F], any number F of outputs with one covariance matrix C between
them (a separable process):

```
Y ~ N(0, K ⊗ C),    K = k(X, X) + nugget I,    C = Yᵀ K⁻¹ Y / N    (its maximum likelihood)
mean(x) = k(x, X) K⁻¹ Y        cov(x, x') = (k(x, x') - k(x, X) K⁻¹ k(X, x')) C
```

The mean needs no C and no basis: principal components of Y, each with a process of this
covariance, give the same to rounding. C has the rank of Y, so that all is linear in Y and in
Z = L⁻¹ Y / √N, where K = L Lᵀ and C = Zᵀ Z.
Reference: Rasmussen, Williams, Gaussian Processes for Machine Learning, 2006, chapters 2, 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray
from scipy import optimize
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular

from mflno.errors import ArgumentError
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.waves import Waves
from mflno.seeds import numpy_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class Prior:
    """What is thought of θ before any data: independent Gaussians on the logarithms.

    Attributes:
        length: Expected lengthscale, in a box of width 2.
        length_spread: Deviation of its logarithm.
        weight: Expected weight of the second and later terms.
        weight_spread: Deviation of its logarithm.
        slope: Expected deviation of slopes.
        slope_spread: Deviation of its logarithm.
        nugget: Expected nugget, a share of the first term's variance.
        nugget_spread: Deviation of its logarithm.
    """

    length: float = 4.0
    length_spread: float = 0.7
    weight: float = 1.0
    weight_spread: float = 1.0
    slope: float = 1.0
    slope_spread: float = 2.0
    nugget: float = 1e-6
    nugget_spread: float = 1.5

    def moments(self, kernel: Kernel) -> tuple[Float[ndarray, " H"], Float[ndarray, " H"]]:
        """Mean and deviation of θ."""
        counts = kernel.lengths, len(kernel.terms) - 1, bool(kernel.linear), 1
        means = np.log([self.length, self.weight, self.slope, self.nugget])
        spreads = [
            self.length_spread, self.weight_spread, self.slope_spread, self.nugget_spread
        ]  # fmt: skip
        return np.repeat(means, counts), np.repeat(spreads, counts)


class Objective(NamedTuple):
    """Minus the logarithm of the posterior of θ, and its gradient."""

    value: float
    gradient: Float[ndarray, " H"]


def objective(
    theta: Float[ndarray, " H"],
    kernel: Kernel,
    rows: Float[ndarray, "N D"],
    modes: Float[ndarray, "N M"],
    weights: Float[ndarray, " M"],
) -> Objective:
    """Weighted sum over modes of minus log marginal likelihood, their variances profiled out.

    Σ_m w_m (N/2 log(c_mᵀ K⁻¹ c_m) + ½ log det K), c_m the columns of `modes`.
    """
    matrix, slopes = kernel.gradient(theta, rows)
    matrix += least_nugget(kernel, theta, rows) * np.eye(len(rows))
    factor = cholesky(matrix, lower=True, check_finite=False)
    solved = cho_solve((factor, True), modes, check_finite=False)
    energies = np.einsum("nm,nm->m", modes, solved)
    count, total = len(rows), weights.sum()
    value = 0.5 * count * weights @ np.log(energies) + total * np.log(np.diag(factor)).sum()
    inverse = cho_solve((factor, True), np.eye(count), check_finite=False)
    inner = 0.5 * total * inverse - 0.5 * count * (solved * (weights / energies)) @ solved.T
    return Objective(float(value), np.einsum("hnm,nm->h", slopes, inner))


def least_nugget(kernel: Kernel, theta: ndarray, rows: ndarray) -> float:
    """What keeps a covariance of these rows positive definite in spite of rounding."""
    return 1e-13 * max(len(rows), 10) * float(kernel.diagonal(theta, rows).mean())


def principal(values: Float[ndarray, "N F"], least: float = 1e-10) -> Float[ndarray, "N M"]:
    """Coefficients of the rows in their own principal components, largest first.

    Components with less than this share of the energy are rounding, not signal.
    """
    energy, vectors = np.linalg.eigh(values @ values.T)
    keep = np.flatnonzero(energy > least * max(energy[-1], 1e-300))[::-1]
    return vectors[:, keep] * np.sqrt(energy[keep])


def learned(
    kernel: Kernel,
    rows: Float[ndarray, "N D"],
    values: Float[ndarray, "N F"],
    *,
    prior: Prior | None = None,
    starts: tuple[float, ...] = (-0.7, 0.0, 0.7),
) -> Float[ndarray, " H"]:
    """θ at the mode of its posterior, the best of a few searches from fixed places.

    A principal component counts by the root of its share of the energy: counted alike, the
    many small ones would shorten the lengthscales of the few that matter.
    """
    center, spread = (prior or Prior()).moments(kernel)
    modes = principal(values)
    if not modes.shape[1]:
        return center
    energies = np.square(modes).sum(0)
    weights = np.sqrt(energies / energies.sum())

    def posterior(theta: ndarray) -> tuple[float, ndarray]:
        found = objective(theta, kernel, rows, modes, weights)
        off = (theta - center) / spread
        return found.value + 0.5 * float(off @ off), found.gradient + off / spread

    bounds = [*zip(center - 4.0 * spread, center + 4.0 * spread, strict=True)]
    best: Any = None
    for shift in starts:
        start = center.copy()
        start[: kernel.lengths] += shift
        found = optimize.minimize(posterior, start, jac=True, method="L-BFGS-B", bounds=bounds)
        best = found if best is None or found.fun < best.fun else best
    return best.x


@dataclass(frozen=True)
class GaussianProcess:
    """A process given its values at some rows; `conditioned` makes it.

    Attributes:
        kernel: The covariance.
        theta: Its numbers.
        rows: Where values are known.
        factor: L, with K = L Lᵀ.
        weights: K⁻¹ Y.
        whitened: Z = L⁻¹ Y / √N, Y less the drift.
        drift: Known slopes of the mean: rows @ drift is what the mean is without any values.
        errors: E, errors at values left out in units of the deviation expected there, over √N.
    """

    kernel: Kernel
    theta: Float[ndarray, " H"]
    rows: Float[ndarray, "N D"] = field(repr=False)
    factor: Float[ndarray, "N N"] = field(repr=False)
    weights: Float[ndarray, "N F"] = field(repr=False)
    whitened: Float[ndarray, "N F"] = field(repr=False)
    drift: Float[ndarray, "D F"] | None = field(default=None, repr=False)
    errors: Float[ndarray, "N F"] | None = field(default=None, repr=False)

    def mean(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, "Q F"]:
        """Expected values."""
        found = self.kernel(self.theta, rows, self.rows) @ self.weights
        return found if self.drift is None else found + rows @ self.drift

    def variance(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, " Q"]:
        """Variance in units of C."""
        cross = self.kernel(self.theta, self.rows, rows)
        known = np.square(solve_triangular(self.factor, cross, lower=True)).sum(0)
        prior = self.kernel.diagonal(self.theta, rows)
        # Rounding may take a little more than there is where a value is known.
        return np.maximum(prior - known, 1e-12 * prior)

    @property
    def root(self) -> Float[ndarray, "R F"]:
        """R, with C = Rᵀ R: Z, or (Zᵀ Z + Eᵀ E) / 2 = Rᵀ R where E is known."""
        if self.errors is None:
            return self.whitened
        return np.concatenate([self.whitened, self.errors]) / np.sqrt(2.0)

    @cached_property
    def scale(self) -> Float[ndarray, " F"]:
        """Deviation of each output, the root of the diagonal of C."""
        return np.sqrt(np.square(self.root).sum(0))

    def draws(
        self, rows: Float[ndarray, "Q D"], numbers: Sequence[int], seed: int
    ) -> Float[ndarray, "S Q F"]:
        """Joint draws less the mean, by Matheron's rule.

        u(x) = f(x) + k(x, X) K⁻¹ (e - f(X)) with f from the prior, as waves, and e from the
        nugget; as many independent u as C has rank make one draw. Draw s is the same function
        whatever rows are asked for, alone or among others.
        Reference: Wilson et al., Efficiently Sampling Functions from GP Posteriors, 2020.
        """
        root = np.linalg.qr(self.root, mode="r")
        waves = Waves.drawn(self.kernel, self.theta, self.rows.shape[1], seed)
        shape = waves.size + len(self.rows), len(root)
        streams = (numpy_stream(seed, "function", s) for s in numbers)
        weights = np.concatenate([each.standard_normal(shape) for each in streams], axis=1)
        free, noise = weights[: waves.size], weights[waves.size :]
        there = np.sqrt(self.kernel.nugget(self.theta)) * noise - waves(self.rows) @ free
        update = cho_solve((self.factor, True), there)
        found = waves(rows) @ free + self.kernel(self.theta, rows, self.rows) @ update
        units = found.reshape(len(rows), len(numbers), len(root)).transpose(1, 0, 2)
        return units @ root

    def left_out(self) -> tuple[Float[ndarray, "N F"], Float[ndarray, " N"]]:
        """For each row, mean and variance (in units of C) without its value; same θ.

        μ_i = y_i - [K⁻¹ Y]_i / [K⁻¹]_ii,    σ_i² = 1 / [K⁻¹]_ii - nugget    (R & W, 5.12)
        """
        inverse = cho_solve((self.factor, True), np.eye(len(self.rows)))
        values = self.factor @ (self.whitened * np.sqrt(len(self.rows)))
        variance = 1.0 / np.diag(inverse)
        if self.drift is not None:
            values = values + self.rows @ self.drift
        off = self.weights * variance[:, None]
        return values - off, np.maximum(variance - self.kernel.nugget(self.theta), 0.0)

    def arrays(self, name: str) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Everything, as arrays under names that begin with `name`, and JSON."""
        parts = "theta", "rows", "factor", "weights", "whitened"
        kernel = self.kernel
        about = {
            "terms": [list(term) for term in kernel.terms],
            "shape": kernel.shape,
            "constant": kernel.constant,
            "linear": list(kernel.linear),
        }
        arrays = {f"{name}.{part}": getattr(self, part) for part in parts}
        more = {f"{name}.drift": self.drift, f"{name}.errors": self.errors}
        return arrays | {key: each for key, each in more.items() if each is not None}, about

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any], name: str
    ) -> "GaussianProcess":
        """The same process, bit for bit."""
        kernel = Kernel(
            tuple(map(tuple, about["terms"])),
            about["shape"],
            about["constant"],
            tuple(about["linear"]),
        )
        parts = "theta", "rows", "factor", "weights", "whitened"
        found = (arrays[f"{name}.{part}"] for part in parts)
        more = (arrays.get(f"{name}.{part}") for part in ("drift", "errors"))
        return cls(kernel, *found, *more)


def conditioned(
    kernel: Kernel,
    theta: Float[ndarray, " H"],
    rows: Float[ndarray, "N D"],
    values: Float[ndarray, "N F"],
    drift: Float[ndarray, "D F"] | None = None,
) -> GaussianProcess:
    """The process that has these values at these rows.

    The nugget is at least `least_nugget`, since a covariance that is singular to rounding gives
    answers of rounding alone, and is raised tenfold where that is not enough.
    """
    theta = np.array(theta, dtype=float)
    theta[-1] = max(theta[-1], np.log(least_nugget(kernel, theta, rows)))
    if drift is not None:
        values = values - rows @ drift
    for _ in range(8):
        matrix = kernel(theta, rows, rows) + kernel.nugget(theta) * np.eye(len(rows))
        try:
            factor = cholesky(matrix, lower=True)
        except LinAlgError:
            theta[-1] += np.log(10.0)
            continue
        whitened = solve_triangular(factor, values, lower=True)
        weights = solve_triangular(factor.T, whitened, lower=False)
        parts = rows, factor, weights, whitened / np.sqrt(len(rows))
        # A file keeps rows in order, and products of arrays laid out otherwise differ in bits.
        kept = map(np.ascontiguousarray, parts)
        return GaussianProcess(kernel, theta, *kept, drift=drift)
    rule, remedy = "must be rows that differ, with finite values", "drop repeated cases"
    raise ArgumentError("conditioned.rows", rule, f"{len(rows)} rows", remedy)


def process_through(
    kernel: Kernel,
    rows: Float[ndarray, "N D"],
    values: Float[ndarray, "N F"],
    prior: Prior | None = None,
    drift: Float[ndarray, "D F"] | None = None,
) -> GaussianProcess:
    """θ learnt and the process conditioned, in one."""
    rest = values if drift is None else values - rows @ drift
    theta = learned(kernel, rows, rest, prior=prior)
    return conditioned(kernel, theta, rows, values, drift)
