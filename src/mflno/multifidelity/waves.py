"""Random waves: draws from a Gaussian process prior that are functions of the whole space."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mflno.multifidelity.kernel import Kernel, spectral_rows
from mflno.seeds import numpy_stream
from mflno.shapes import Float

FEATURES = 1024
"""Waves of each term of a covariance."""


class Waves(NamedTuple):
    """Random features whose inner products are, on average, the covariance.

    Attributes:
        frequencies: One row a wave.
        phases: Of each wave.
        sizes: Of each wave.
        kernel: For the trend.
        slope: Prior variance of slopes.
    """

    frequencies: Float[ndarray, "F D"]
    phases: Float[ndarray, " F"]
    sizes: Float[ndarray, " F"]
    kernel: Kernel
    slope: float

    @property
    def size(self) -> int:
        """How many features there are."""
        return len(self.phases) + 1 + len(self.kernel.linear)

    @classmethod
    def drawn(cls, kernel: Kernel, theta: ndarray, columns: int, seed: int) -> "Waves":
        """Waves for every term of a covariance."""
        generator = numpy_stream(seed, "waves")
        parts, sizes = [], []
        for term, (weight, lengths) in zip(kernel.terms, kernel.scales(theta), strict=True):
            rows = np.zeros((FEATURES, columns))
            rows[:, list(term)] = spectral_rows(kernel.shape, lengths, FEATURES, generator)
            parts.append(rows)
            sizes.append(np.full(FEATURES, np.sqrt(2.0 * weight / FEATURES)))
        frequencies = np.concatenate(parts)
        phases = generator.uniform(0.0, 2.0 * np.pi, len(frequencies))
        return cls(frequencies, phases, np.concatenate(sizes), kernel, kernel.slope(theta))

    def __call__(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, "Q G"]:
        """The features of every row."""
        waves = self.sizes * np.cos(rows @ self.frequencies.T + self.phases)
        level = np.full((len(rows), 1), np.sqrt(self.kernel.constant))
        slopes = np.sqrt(self.slope) * rows[:, list(self.kernel.linear)]
        return np.concatenate([waves, level, slopes], axis=1)
