"""What the posterior says about cases: deviation features, σ and |u|, from chunks of draws.

The deviation features of a case are its centred draws, flattened over draws, outputs and
times, and made short by a sketch:

    φ(μ) = [u^(s)(t; μ) - ū(t; μ)]_(s, o, t) / √((S - 1) O T)
    φ(μ) · φ(μ') ≈ (1 / O T) Σ_(o, t) Cov(u_o(t; μ), u_o(t; μ'))

so |φ|² is the posterior variance of a trajectory, and the inner product of two cases tells
how much a run at one would say about the other.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from mflno.active.sketch import Sketch, draw_sketch
from mflno.errors import ArgumentError
from mflno.shapes import Float

Predict = Callable[[ndarray], ndarray]
"""Scaled cases "N P" to draws "S N O T"."""
Posterior = Callable[[ndarray], "Beliefs"]
"""Scaled cases "N P" to what is believed about them."""

CHUNK_BYTES = 2**25


@dataclass(frozen=True)
class Beliefs:
    """What the posterior says about N cases.

    Attributes:
        features: Deviation features φ; inner products are posterior covariances.
        spread: Eq. (18), A(μ): the pointwise standard deviation, averaged over outputs, times.
        size: Root mean square of the mean trajectory, |u|.
    """

    features: Float[ndarray, "N D"] = field(repr=False)
    spread: Float[ndarray, " N"]
    size: Float[ndarray, " N"]

    def relative(self) -> "Beliefs":
        """The same per |u|: covariances of the relative error."""
        # A case at rest has no relative error: floored at a thousandth of the usual size.
        size = np.maximum(self.size, 1e-3 * np.median(self.size) + 1e-300)
        return Beliefs(self.features / size[:, None], self.spread / size, np.ones_like(size))

    def take(self, indices: ndarray | slice) -> "Beliefs":
        """The chosen cases."""
        return Beliefs(self.features[indices], self.spread[indices], self.size[indices])


@dataclass
class Sketched:
    """A posterior over trajectories as short features, evaluated in chunks of bounded memory.

    One object uses one sketch, so features of separate calls may be compared.

    Args:
        predict: Scaled cases to draws.
        generator: Where the sketch comes from.
        length: Features a case; inner products err like 1/√length.
        scales: What each output is divided by, so that metres and volts can be added up;
            ones when left out.

    Example:
        >>> draws = lambda cases: np.arange(4.0)[:, None, None, None] * cases[None, :, None]
        >>> posterior = Sketched(draws, np.random.default_rng(0))
        >>> posterior(np.array([[0.0], [1.0], [2.0]])).spread.round(3).tolist()
        [0.0, 1.291, 2.582]
    """

    predict: Predict
    generator: np.random.Generator
    length: int = 256
    scales: Float[ndarray, " O"] | None = None
    sketches: list[Sketch] = field(default_factory=list, init=False, repr=False)

    def __call__(self, cases: Float[ndarray, "N P"]) -> Beliefs:
        """Beliefs about the cases, chunk by chunk."""
        first = self._draws(cases[:1])
        step = max(1, int(CHUNK_BYTES // max(first.nbytes, 1)))
        parts = [
            self._chunk(self._draws(cases[i : i + step])) for i in range(0, len(cases), step)
        ]
        features, spread, size = (np.concatenate(part) for part in zip(*parts, strict=True))
        if not (np.all(np.isfinite(spread)) and np.all(np.isfinite(size))):
            rule, remedy = "draws must be finite", "leave out the draws that ran away"
            raise ArgumentError("Sketched.predict", rule, "NaN or infinity", remedy)
        return Beliefs(features, spread, size)

    def _draws(self, cases: ndarray) -> ndarray:
        draws = np.asarray(self.predict(cases))
        if draws.ndim != 4 or draws.shape[1] != len(cases) or len(draws) < 2:
            rule, remedy = "draws of shape (S >= 2, N, O, T)", "stack the draws first"
            raise ArgumentError("Sketched.predict", rule, draws.shape, remedy)
        if self.scales is not None:
            draws = draws / self.scales.astype(draws.dtype)[:, None]
        return draws.reshape(*draws.shape[:2], -1)

    def _chunk(self, draws: Float[ndarray, "S N F"]) -> tuple[ndarray, ndarray, ndarray]:
        draws_count, cases_count, length = draws.shape
        self._prepare(draws_count, length)
        mean = draws.mean(0)
        variance = np.zeros_like(mean)
        exact = not self.sketches
        parts, total = [], np.zeros((cases_count, min(self.length, length)), mean.dtype)
        # Draw by draw, so that the deviations stay in the processor's cache.
        for number, draw in enumerate(draws):
            deviation = draw - mean
            variance += deviation * deviation
            if exact:
                parts.append(deviation)
            else:
                total += self.sketches[number](deviation)
        features = np.concatenate(parts, 1) if exact else total
        spread = np.sqrt(variance / (draws_count - 1)).mean(1, dtype=float)
        size = np.sqrt(np.square(mean).mean(1, dtype=float))
        return features.astype(float) / np.sqrt((draws_count - 1) * length), spread, size

    def _prepare(self, draws_count: int, length: int) -> None:
        if draws_count * length > self.length and not self.sketches:
            self.sketches = [
                draw_sketch(length, self.length, self.generator) for _ in range(draws_count)
            ]
        if self.sketches and (len(self.sketches), self.sketches[0].length) != (
            draws_count,
            length,
        ):
            rule, remedy = "the same draws and grid each time", "make a new Sketched"
            raise ArgumentError("Sketched.predict", rule, (draws_count, length), remedy)
