"""Random waves: draws from a Gaussian process prior that are functions of the whole space."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mflno.multifidelity.kernel import Kernel, spectral_rows
from mflno.seeds import numpy_stream
from mflno.shapes import Float

FREQUENCIES = 512
"""Of each term of a covariance; a power of two."""


class Waves(NamedTuple):
    """Random features whose inner products are the covariance, nearly.

    Every frequency stands for a cosine and a sine, so that variances are exact. Sobol points
    in place of random ones make the error fall like 1/F: where much is known, a covariance
    that is a per cent off would be most of what is left.

    Attributes:
        frequencies: One row a wave.
        sizes: Of each wave.
        kernel: For the trend.
        slope: Prior variance of slopes.
    """

    frequencies: Float[ndarray, "F D"]
    sizes: Float[ndarray, " F"]
    kernel: Kernel
    slope: float

    @property
    def size(self) -> int:
        """How many features there are."""
        return 2 * len(self.sizes) + 1 + len(self.kernel.linear)

    @classmethod
    def drawn(cls, kernel: Kernel, theta: ndarray, columns: int, seed: int) -> "Waves":
        """Waves for every term of a covariance."""
        generator = numpy_stream(seed, "waves")
        parts, sizes = [], []
        for term, (weight, lengths) in zip(kernel.terms, kernel.scales(theta), strict=True):
            rows = np.zeros((FREQUENCIES, columns))
            rows[:, list(term)] = spectral_rows(kernel.shape, lengths, FREQUENCIES, generator)
            parts.append(rows)
            sizes.append(np.full(FREQUENCIES, np.sqrt(weight / FREQUENCIES)))
        return cls(np.concatenate(parts), np.concatenate(sizes), kernel, kernel.slope(theta))

    def __call__(self, rows: Float[ndarray, "Q D"]) -> Float[ndarray, "Q G"]:
        """The features of every row."""
        angles = rows @ self.frequencies.T
        level = np.full((len(rows), 1), np.sqrt(self.kernel.constant))
        slopes = np.sqrt(self.slope) * rows[:, list(self.kernel.linear)]
        waves = self.sizes * np.cos(angles), self.sizes * np.sin(angles)
        return np.concatenate([*waves, level, slopes], axis=1)
