"""One Langevin move of every chain at once: drift (Eq. 14), then noise (Eq. 15)."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mflno.bayes.draws import Energy
from mflno.errors import ArgumentError
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class Drift:
    """Where a chain is pushed: g + a A with A = m / (√V + ρ).

    Eq. 14, with the running moments of the iteration before:
    m_i = β₁ m_{i-1} + (1 - β₁) g_i and V_i = β₂ V_{i-1} + (1 - β₂) g_i².

    A has no units and magnitude about one, so `a` is measured in units of the gradient: it
    speeds up the fit, and narrows the law that is sampled, since a push of constant size is
    added to a gradient that vanishes at the mode. Near a Gaussian mode of curvature k and
    spread σ the curvature becomes about k + a/σ while a is small beside the gradient.
    Take a = 0 where the width of the law has to be right.

    Args:
        weight: a; 0 leaves plain Langevin dynamics and keeps no moments.
        gradient: Factor of g itself; 0 with weight 1 and `unbiased` is Adam.
        first: β₁.
        second: β₂.
        floor: ρ.
        unbiased: Divide m and V by 1 - β^i, as Adam does and the paper does not.
        clip: Largest norm of a chain's gradient; longer ones are shortened to it.
    """

    weight: float = 1.0
    gradient: float = 1.0
    first: float = 0.9
    second: float = 0.999
    floor: float = 1e-8
    unbiased: bool = False
    clip: float | None = None

    def __post_init__(self) -> None:
        """Refuse decay rates outside [0, 1) and a clip that stops everything."""
        if not (0 <= self.first < 1 and 0 <= self.second < 1):
            came = (self.first, self.second)
            raise ArgumentError("Drift.first, second", "in [0, 1)", came, "pass 0.9 and 0.999")
        if self.clip is not None and not self.clip > 0:
            raise ArgumentError(
                "Drift.clip", "positive", self.clip, "pass None for no clipping"
            )

    def __call__(
        self,
        first: Float[Tensor, "R P"],
        second: Float[Tensor, "R P"],
        gradient: Float[Tensor, "R P"],
        step: Int[Tensor, ""],
    ) -> tuple[Float[Tensor, "R P"], Float[Tensor, "R P"], Float[Tensor, "R P"]]:
        """The moments m_i and V_i, and the push."""
        if self.clip is not None:
            norm = torch.linalg.vector_norm(gradient, dim=-1, keepdim=True)
            gradient = gradient * (self.clip / norm.clamp_min(self.clip))
        if self.weight == 0:
            return first, second, self.gradient * gradient
        first = self.first * first + (1 - self.first) * gradient
        second = self.second * second + (1 - self.second) * gradient.square()
        m, v = first, second
        if self.unbiased:
            count = (step + 1).to(gradient.dtype)
            m, v = (
                first / weight_so_far(self.first, count),
                second / weight_so_far(self.second, count),
            )
        return (
            first,
            second,
            self.gradient * gradient + self.weight * m / (v.sqrt() + self.floor),
        )


def weight_so_far(decay: float, count: Float[Tensor, ""]) -> Float[Tensor, ""]:
    """1 - β^i, what a running mean has seen after i steps; exact for β near 1."""
    return -torch.expm1(count * math.log(decay)) if decay > 0 else torch.ones_like(count)


def langevin_move(
    theta: Float[Tensor, "R P"],
    drift: Float[Tensor, "R P"],
    noise: Float[Tensor, "R P"] | None,
    step_size: Float[Tensor, "R 1"],
    temperature: Float[Tensor, "R 1"],
) -> Float[Tensor, "R P"]:
    """Eq. 15: θ - η (g + a A) + √(2ητ) ε, each chain with its own η and τ."""
    moved = theta - step_size * drift
    if noise is None:
        return moved
    return moved + (2 * step_size * temperature).sqrt() * noise


def energy_and_gradient(
    energy: Energy, theta: Float[Tensor, "R P"], batch: Int[Tensor, " B"] | None
) -> tuple[Float[Tensor, " R"], Float[Tensor, "R P"]]:
    """Each chain's energy and gradient, from one backward pass through the sum."""
    theta = theta.detach().requires_grad_()
    values = energy(theta, batch)
    if values.shape != theta.shape[:1]:
        rule = f"must give {len(theta)} numbers for {len(theta)} rows of parameters"
        remedy = "reduce over every axis but the first"
        raise ArgumentError("energy", rule, f"shape {tuple(values.shape)}", remedy)
    (gradient,) = torch.autograd.grad(values.sum(), theta)
    return values.detach(), gradient
