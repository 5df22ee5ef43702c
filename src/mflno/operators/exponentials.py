"""e^{zt} for many z and t, with the derivative that complex numbers have."""

from math import pi
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.shapes import Float


def exponentials(
    real: Float[Tensor, "*m M"],
    imag: Float[Tensor, "*m M"],
    times: Float[Tensor, " t"],
    dtype: torch.dtype = torch.float64,
) -> Float[Tensor, "*m 2 M t"]:
    """Real part e^{at} cos bt and imaginary part e^{at} sin bt of e^{(a+ib)t}, stacked.

    The derivative by z is t e^{zt}: taken so, it needs no more than the result, where the
    chain through exp, cos and sin keeps five arrays of that size.

    Args:
        real: a, in float64 for the sake of the angles.
        imag: b, likewise.
        times: t, likewise.
        dtype: Of the result; what is left of an angle without its whole turns fits into it.
    """
    if torch.compiler.is_compiling():
        return _waves(real, imag, times, dtype)
    return _Exponentials.apply(real, imag, times, dtype)


def _waves(real: Tensor, imag: Tensor, times: Tensor, dtype: torch.dtype) -> Tensor:
    size = torch.exp((real[..., None] * times).to(dtype))
    turns = imag[..., None] * (times / (2 * pi))
    angle = ((turns - turns.round()) * (2 * pi)).to(dtype)
    return torch.stack([size * torch.cos(angle), size * torch.sin(angle)], dim=-3)


class _Exponentials(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(real: Tensor, imag: Tensor, times: Tensor, dtype: torch.dtype) -> Tensor:
        return _waves(real, imag, times, dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ANN401
        ctx.save_for_backward(inputs[2], output)
        ctx.save_for_forward(inputs[2], output)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        times, waves = ctx.saved_tensors
        grad = grad_outputs[0] * times.to(waves.dtype)
        (c, s), (a, b) = waves.unbind(-3), grad.unbind(-3)
        by_real, by_imag = (a * c + b * s).sum(-1), (b * c - a * s).sum(-1)
        return by_real.to(times.dtype), by_imag.to(times.dtype), None, None

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Tensor | None) -> Tensor:  # noqa: ANN401
        times, waves = ctx.saved_tensors
        c, s = (waves * times.to(waves.dtype)).unbind(-3)
        a, b = (d[..., None].to(waves.dtype) for d in grad_inputs[:2] if d is not None)
        return torch.stack([a * c - b * s, a * s + b * c], dim=-3)
