"""Energies as pure functions of predictions and targets; no operator is known here.

Both give one number a chain. Targets are shared by all rows, or given for each row, as where
several ladders with data of their own share one buffer. A caller closes over its model and
its data:

    def energy(theta, batch):
        chosen = slice(None) if batch is None else batch
        return relative_loss(predict(theta, inputs[chosen]), targets[chosen])
"""

import math

import torch
from torch import Tensor

from mflno.shapes import Float


def relative_loss(
    predictions: Float[Tensor, "K B *F"],
    targets: Float[Tensor, "B *F"] | Float[Tensor, "K B *F"],
    *,
    order: float = 2.0,
) -> Float[Tensor, " K"]:
    """The paper's loss: the mean over cases of |prediction - target|_p / |target|_p.

    As an energy it gives a Gibbs posterior exp(-loss / τ): the temperature τ is free and has
    to be chosen. The norm is not squared, so the gradient does not vanish at a perfect fit.

    Args:
        predictions: Of every chain.
        targets: What the solver gave, for all rows or each; no case may be zero throughout.
        order: The p of the norm.

    Example:
        >>> relative_loss(torch.ones(1, 2, 3), torch.full((2, 3), 2.0))
        tensor([0.5000])
    """
    own = targets.expand(1, *targets.shape) if targets.ndim < predictions.ndim else targets
    error = (predictions - own).flatten(2)
    size = torch.linalg.vector_norm(own.flatten(2), order, dim=-1)
    return (torch.linalg.vector_norm(error, order, dim=-1) / size).mean(-1)


def gaussian_energy(
    predictions: Float[Tensor, "K B *F"],
    targets: Float[Tensor, "B *F"] | Float[Tensor, "K B *F"],
    *,
    sigma: float | Float[Tensor, ""],
    cases: int,
) -> Float[Tensor, " K"]:
    """Independent Gaussian errors: (N/B) Σ (prediction - target)² / (2σ²) over B of N cases.

    With a prior added and τ = 1 the law sampled is the Bayesian posterior; the factor N/B
    keeps a mini-batch unbiased for the sum over all N cases.

    Args:
        predictions: Of every chain.
        targets: What the solver gave, for all rows or each.
        sigma: Standard deviation of one error.
        cases: N, how many cases there are in all.

    Example:
        >>> gaussian_energy(torch.ones(1, 2, 3), torch.zeros(2, 3), sigma=1.0, cases=4)
        tensor([6.])
    """
    squares = (predictions - targets).flatten(1).square().sum(-1)
    return squares * (cases / predictions.shape[1]) / (2 * sigma**2)


def gaussian_prior(
    theta: Float[Tensor, "K P"],
    *,
    scale: float | Float[Tensor, " P"],
    mean: float | Float[Tensor, " P"] = 0.0,
) -> Float[Tensor, " K"]:
    """Σ (θ - mean)² / (2 scale²): what an independent Gaussian prior adds to the energy.

    Example:
        >>> gaussian_prior(torch.tensor([[3.0, 4.0]]), scale=1.0)
        tensor([12.5000])
    """
    return ((theta - mean) / (math.sqrt(2) * scale)).square().sum(-1)
