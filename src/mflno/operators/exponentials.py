"""e^{zt} for many z and t, with the derivative that complex numbers have."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.shapes import Float


def exponentials(
    real: Float[Tensor, "*m M"], imag: Float[Tensor, "*m M"], times: Float[Tensor, " t"]
) -> Float[Tensor, "*m 2 M t"]:
    """Real part e^{at} cos bt and imaginary part e^{at} sin bt of e^{(a+ib)t}, stacked.

    The derivative by z is t e^{zt}: taken so, it needs no more than the result, where the
    chain through exp, cos and sin keeps five arrays of that size.
    """
    if torch.compiler.is_compiling():
        return _waves(real, imag, times)
    return _Exponentials.apply(real, imag, times)


def _waves(real: Tensor, imag: Tensor, times: Tensor) -> Tensor:
    size = torch.exp(real[..., None] * times)
    angle = imag[..., None] * times
    return torch.stack([size * torch.cos(angle), size * torch.sin(angle)], dim=-3)


class _Exponentials(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(real: Tensor, imag: Tensor, times: Tensor) -> Tensor:
        return _waves(real, imag, times)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ANN401
        ctx.save_for_backward(inputs[2], output)
        ctx.save_for_forward(inputs[2], output)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, None]:  # noqa: ANN401
        times, waves = ctx.saved_tensors
        (c, s), (a, b) = waves.unbind(-3), (grad_outputs[0] * times).unbind(-3)
        return (a * c + b * s).sum(-1), (b * c - a * s).sum(-1), None

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Tensor) -> Tensor:  # noqa: ANN401
        times, waves = ctx.saved_tensors
        c, s = (waves * times).unbind(-3)
        a, b = (d[..., None] for d in grad_inputs[:2])
        return torch.stack([a * c - b * s, a * s + b * c], dim=-3)
