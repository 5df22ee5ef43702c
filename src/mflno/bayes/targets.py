"""Laws whose moments are known, to test samplers on: energies with the answer beside them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mflno.bayes.draws import Energy
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class Bowl:
    """U = k |θ|² / 2: at temperature τ each coordinate is Gaussian with variance τ/k.

    Langevin steps of size η sample it with variance τ / (k (1 - ηk/2)) instead, exactly.
    """

    curvature: float = 1.0

    def __call__(
        self, theta: Float[Tensor, "K P"], batch: Int[Tensor, " B"] | None
    ) -> Float[Tensor, " K"]:
        """The energy of every chain."""
        return self.curvature * theta.square().sum(-1) / 2

    def variance(self, step_size: float, temperature: float) -> float:
        """Of a coordinate under Langevin steps; step size 0 gives the law itself."""
        return temperature / (self.curvature * (1 - step_size * self.curvature / 2))


@dataclass(frozen=True)
class Mixture:
    """U = -log p of two Gaussians far apart in one dimension: 0.4 N(-4, 0.7²) + 0.6 N(3, 0.5²).

    At τ = 1 a Langevin chain never crosses between them; a ladder up to τ = 10 does.

    Attributes:
        weight: Of the left mode.
        means: Where the modes are.
        spreads: Their standard deviations.
    """

    weight: float = 0.4
    means: tuple[float, float] = (-4.0, 3.0)
    spreads: tuple[float, float] = (0.7, 0.5)

    def __call__(
        self, theta: Float[Tensor, "K P"], batch: Int[Tensor, " B"] | None
    ) -> Float[Tensor, " K"]:
        """The energy of every chain."""
        like = theta.new_tensor
        means, spreads = like(self.means), like(self.spreads)
        weights = like((self.weight, 1 - self.weight))
        exponent = -((theta - means) / spreads).square() / 2
        return -torch.logsumexp(exponent + (weights / spreads).log(), -1) + 0.918938533204673

    def mean_energy(self, points: int = 20_001) -> float:
        """E[U] at τ = 1, by quadrature.

        Example:
            >>> round(Mixture().mean_energy(), 3)
            1.533
        """
        grid = torch.linspace(-12, 12, points, dtype=torch.float64)
        energy = self(grid[:, None], None)
        return float(torch.trapezoid(energy * torch.exp(-energy), grid))


@dataclass(frozen=True)
class Noisy:
    """Another energy plus Gaussian noise, fresh each time; the gradient stays exact."""

    energy: Energy
    spread: float
    generator: torch.Generator

    def __call__(
        self, theta: Float[Tensor, "K P"], batch: Int[Tensor, " B"] | None
    ) -> Float[Tensor, " K"]:
        """The energy of every chain, each with its own noise."""
        values = self.energy(theta, batch)
        like = {"device": values.device, "dtype": values.dtype}
        return values + self.spread * torch.randn(
            values.shape, generator=self.generator, **like
        )
