"""Where poles start: spread over the band of the data, from the data."""

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor

from mflno.shapes import Float


@dataclass(frozen=True)
class Spectrum:
    """A time span, and the band of angular frequencies that a signal fills.

    Attributes:
        span: Length of the time window.
        band: Highest angular frequency at which poles start.

    Example:
        >>> time = torch.linspace(0, 20, 512)
        >>> found = Spectrum.of(torch.sin(2 * pi * time)[None, None], time)
        >>> round(found.band / (2 * pi), 1)
        1.6
    """

    span: float = 20.0
    band: float = 3 * pi

    @classmethod
    def of(cls, values: Float[Tensor, "N O T"], grid: Float[Tensor, " T"]) -> "Spectrum":
        """The band with 99 % of the power about the mean, and half as much again."""
        span = float(grid[-1] - grid[0])
        centred = values.double() - values.double().mean(-1, keepdim=True)
        window = torch.hann_window(values.shape[-1], dtype=torch.float64, device=values.device)
        power = torch.fft.rfft(centred * window).abs().square().sum((0, 1))
        # What rounding leaves of a constant must not pass for a signal.
        noise = 1e-12 * values.double().square().sum() * values.shape[-1]
        share = (torch.cumsum(power, 0) + noise) / (power.sum() + noise).clamp_min(1e-300)
        bins = int((share < 0.99).sum()) + 1
        return cls(span, 1.5 * 2 * pi * max(bins, 2) / span)

    def poles(
        self, shape: tuple[int, int, int], generator: torch.Generator
    ) -> tuple[Float[Tensor, "I O M"], Float[Tensor, "I O M"]]:
        """Decay rates, log-uniform in [1/span, band/5]; frequencies, one a stratum."""
        modes = shape[2]
        low, high = 1.0 / self.span, max(self.band / 5, 2.0 / self.span)
        spread = torch.rand(shape, generator=generator)
        decay = low * (high / low) ** spread
        strata = torch.arange(modes) + torch.rand(shape, generator=generator)
        return decay, self.band * strata / modes
