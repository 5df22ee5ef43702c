"""A toy surrogate to compare bands on: a small network for a damped, detuned oscillation."""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from mflno.bayes import Energy, relative_loss
from mflno.seeds import torch_stream
from mflno.shapes import Float, Int

SIZES = (4, 24, 24, 1)
POINTS = 64
SEEN, UNSEEN = torch.linspace(0.5, 1.5, 9), torch.linspace(0.51, 1.49, 50)
"""Amplitudes."""


def motion(amplitude: Tensor, grid: Tensor) -> Tensor:
    """e^(-t) cos((6 + 3A) t) A: frequency and height depend on the case."""
    phase = (6 + 3 * amplitude[:, None]) * grid
    return (amplitude[:, None] * torch.exp(-grid) * torch.cos(phase))[:, None]


def network(theta: Tensor, amplitude: Tensor, grid: Tensor) -> Tensor:
    """Predictions of every chain for every case."""
    case, at = amplitude[:, None].expand(-1, len(grid)), grid.expand(len(amplitude), -1)
    signals = [case, at, torch.sin(6 * at), torch.cos(6 * at)]
    out = torch.stack(signals, -1).flatten(0, 1).expand(len(theta), -1, -1)
    begin = 0
    for depth, (a, b) in enumerate(pairwise(SIZES)):
        weight = theta[:, begin : begin + (a + 1) * b].reshape(len(theta), a + 1, b)
        begin += (a + 1) * b
        out = torch.baddbmm(weight[:, -1:], out, weight[:, :-1])
        out = torch.tanh(out) if depth < len(SIZES) - 2 else out
    return out.view(len(theta), len(amplitude), 1, len(grid))


@dataclass(frozen=True)
class Toy:
    """Nine cases to learn, fifty to be judged by, and networks to do it.

    Attributes:
        energy: The mean relative error of the nine.
        start: Random parameters of every chain.
        grid: Time.
        targets: The nine trajectories.
        truth: The fifty held-out ones.
    """

    energy: Energy
    start: Float[Tensor, "R P"]
    grid: Float[Tensor, " T"]
    targets: Float[Tensor, "N 1 T"]
    truth: Float[Tensor, "M 1 T"]

    def fitted(self, theta: Float[Tensor, "K P"]) -> Float[Tensor, "K N 1 T"]:
        """Predictions of the nine."""
        return network(theta, SEEN, self.grid)

    def predict(self, theta: Float[Tensor, "K P"]) -> Float[Tensor, "K M 1 T"]:
        """Predictions of the fifty."""
        return network(theta, UNSEEN, self.grid)

    @property
    def last_layer(self) -> Int[Tensor, " F"]:
        """Which parameters enter linearly."""
        return torch.arange(self.start.shape[1])[-(SIZES[-2] + 1) * SIZES[-1] :]


def oscillator(*, seeds: int, chains: int) -> Toy:
    """The toy with starts for so many repetitions of so many chains."""
    grid = torch.linspace(0, 3, POINTS)
    target = motion(SEEN, grid)

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        chosen = slice(None) if batch is None else batch
        return relative_loss(network(theta, SEEN[chosen], grid), target[chosen])

    parts = []
    generator = torch_stream(0, "toy", "start")
    for a, b in pairwise(SIZES):
        parts.append(torch.randn(seeds * chains, (a + 1) * b, generator=generator) / a**0.5)
    return Toy(energy, torch.cat(parts, 1), grid, target, motion(UNSEEN, grid))


def banded(draws: Tensor, truth: Tensor) -> dict[str, float]:
    """Coverage and mean width of the central 95 % band of a Gaussian, fair CRPS, and error."""
    mean, spread = draws.mean(0), draws.std(0)
    inside = ((truth - mean).abs() <= 1.959964 * spread).float().mean()
    count = len(draws)
    apart = (draws[:, None] - draws[None]).abs().sum((0, 1)) / (2 * count * (count - 1))
    crps = ((draws - truth).abs().mean(0) - apart).mean()
    error = (mean - truth).flatten(1).norm(dim=-1) / truth.flatten(1).norm(dim=-1)
    return {
        "coverage": float(inside),
        "width": float((2 * 1.959964 * spread).mean()),
        "CRPS": float(crps),
        "relative error": float(error.mean()),
    }
