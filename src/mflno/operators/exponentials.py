"""e^{zt} for many z and t, with the derivative that complex numbers have."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.shapes import Float

Pair = tuple[Float[Tensor, "*m t M"], Float[Tensor, "*m t M"]]


def exponentials(
    real: Float[Tensor, "*m M"], imag: Float[Tensor, "*m M"], times: Float[Tensor, " t"]
) -> Pair:
    """Real and imaginary part of e^{zt}.

    The derivative by z is t e^{zt}: taken so, it needs no more than the result, where the
    chain through exp, cos and sin keeps five arrays of that size.
    """
    if torch.compiler.is_compiling():
        return _exponentials(real, imag, times)
    return _Exponentials.apply(real, imag, times)  # pyright: ignore[reportReturnType]


def _exponentials(real: Tensor, imag: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
    size = torch.exp(real[..., None, :] * times[:, None])
    angle = imag[..., None, :] * times[:, None]
    return size * torch.cos(angle), size * torch.sin(angle)


class _Exponentials(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(real: Tensor, imag: Tensor, times: Tensor) -> tuple[Tensor, Tensor]:
        return _exponentials(real, imag, times)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Pair) -> None:  # noqa: ANN401
        ctx.save_for_backward(inputs[2], *output)
        ctx.save_for_forward(inputs[2], *output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN401
        times, c, s = ctx.saved_tensors
        a, b = (g * times[:, None] for g in grads)
        return (a * c + b * s).sum(-2), (b * c - a * s).sum(-2), None

    @staticmethod
    def jvp(ctx: Any, real: Tensor, imag: Tensor, _: None) -> tuple[Tensor, Tensor]:  # noqa: ANN401
        times, c, s = ctx.saved_tensors
        a, b = (d[..., None, :] * times[:, None] for d in (real, imag))
        return a * c - b * s, a * s + b * c
