"""Channels brought to order one and back, by numbers that are saved with the network."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mflno.shapes import Float


class Normalising(NamedTuple):
    """(value - centre) / spread, channel by channel, of inputs and of outputs."""

    input_centre: Float[ndarray, " C"]
    input_spread: Float[ndarray, " C"]
    output_centre: Float[ndarray, " O"]
    output_spread: Float[ndarray, " O"]

    @classmethod
    def of(
        cls, inputs: Float[ndarray, "N C T"], outputs: Float[ndarray, "N O T"]
    ) -> "Normalising":
        """From training data; a channel that never changes keeps its size."""
        return cls(*_moments(inputs), *_moments(outputs))

    def shown(self, inputs: Float[ndarray, "N C T"]) -> Float[ndarray, "N C T"]:
        """Inputs as the network sees them."""
        return (inputs - self.input_centre[:, None]) / self.input_spread[:, None]

    def told(self, outputs: Float[ndarray, "*N O T"]) -> Float[ndarray, "*N O T"]:
        """Outputs as the network should say them."""
        return (outputs - self.output_centre[:, None]) / self.output_spread[:, None]

    def arrays(self, prefix: str) -> dict[str, ndarray]:
        """By name."""
        return {f"{prefix}.{name}": value for name, value in self._asdict().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ndarray], prefix: str) -> "Normalising":
        """The same again."""
        return cls(*(np.asarray(arrays[f"{prefix}.{name}"]) for name in cls._fields))


def _moments(values: ndarray) -> tuple[ndarray, ndarray]:
    centre, spread = values.mean(axis=(0, 2)), values.std(axis=(0, 2))
    # A constant channel (one case's parameter) would be divided by rounding.
    size = np.abs(values).max(axis=(0, 2))
    return centre, np.where(
        spread > 1e-9 * np.maximum(size, 1e-300), spread, np.maximum(size, 1e-9)
    )
