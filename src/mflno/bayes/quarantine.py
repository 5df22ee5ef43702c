"""Chains that are not finite, and the chain each is restarted from."""

import torch
from torch import Tensor

from mflno.shapes import Bool, Float, Int


def healthy_rows(
    theta: Float[Tensor, "R P"], energy: Float[Tensor, " R"], square: Float[Tensor, " R"]
) -> Bool[Tensor, " R"]:
    """Where state, energy and squared norm of the gradient are all finite.

    Sums are tested, which is far cheaper than every entry: no sum is finite with a term that
    is not. The square stands for the gradient because V takes in its entries' squares, which
    overflow first.
    """
    return torch.isfinite(energy + theta.sum(-1) + square)


def donors(healthy: Bool[Tensor, "L K"]) -> Int[Tensor, "L K"]:
    """The chain whose state each chain goes on from: itself, or the nearest healthy one.

    Of two equally near the colder one. A ladder without a healthy chain keeps chain 0's.

    Example:
        >>> donors(torch.tensor([[True, False, False, True, False]]))
        tensor([[0, 0, 3, 3, 3]])
    """
    chains = healthy.shape[-1]
    place = torch.arange(chains, device=healthy.device)
    apart = place - place[:, None]
    distance = 2 * apart.abs() + (apart > 0)
    far = torch.where(healthy[:, None, :], distance, 4 * chains)
    return far.argmin(-1)
