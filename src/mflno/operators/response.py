"""The response of a layer to its signals, from factors that hold no case and no time axis.

The layer's kernel at time 4 + 64p + q is left_p · right_q, a sum over modes: two small factors
instead of modes x time exponentials. Row 0 of the factors is the kernel that meets every value
of the signal; rows 1 to 5 answer its first five values, from which the quadrature extrapolates
beyond the start. The response is linear in the signal and in each factor.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.operators.fourier import add_convolution, convolution, convolution_adjoint
from mflno.operators.quadrature import EARLY, FIRST
from mflno.shapes import Float

STRETCH = 64
"""Times that share one exponential of the left factor."""
CHUNK = 4
"""Stretches of the starting rows that exist at once."""


def count_stretches(points: int) -> int:
    """Stretches that cover the grid."""
    return (points - EARLY + STRETCH - 1) // STRETCH


def rows(
    left: Float[Tensor, "*K O I R P m"], right: Float[Tensor, "*K O I Q m"]
) -> Float[Tensor, "*K O I R n"]:
    """The rows at the times of these stretches."""
    return (left.flatten(-3, -2) @ right.mT).unflatten(-2, left.shape[-3:-1]).flatten(-2)


def first_values(signal: Float[Tensor, "*K I N T"]) -> Float[Tensor, "*K 1 N Iv"]:
    """The values that the starting rows answer, a row a case."""
    return signal[..., :FIRST].transpose(-3, -2).flatten(-2).unsqueeze(-3)


def plain_response(
    signal: Float[Tensor, "*K I N T"],
    left: Float[Tensor, "*K O I R P m"],
    right: Float[Tensor, "*K O I Q m"],
    early: Float[Tensor, "*K O I R e"],
) -> Float[Tensor, "*K O N T"]:
    """The response, in operations that differentiate and compile by themselves."""
    points = signal.shape[-1]
    every = torch.cat([early, rows(left, right)], dim=-1)[..., :points]
    begin = first_values(signal) @ every[..., 1:, :].flatten(-3, -2)
    return convolution(signal, every[..., 0, :]) + begin


def response(
    signal: Float[Tensor, "*K I N T"],
    left: Float[Tensor, "*K O I R P m"],
    right: Float[Tensor, "*K O I Q m"],
    early: Float[Tensor, "*K O I R e"],
) -> Float[Tensor, "*K O N T"]:
    """The response; in eager mode with a backward pass that keeps nothing but its inputs."""
    if torch.compiler.is_compiling():
        return plain_response(signal, left, right, early)
    return _Response.apply(signal, left, right, early)  # pyright: ignore[reportReturnType]


def _kernel(left: Tensor, right: Tensor, early: Tensor, points: int) -> Tensor:
    late = rows(left[..., :1, :, :], right)
    return torch.cat([early[..., :1, :], late], dim=-1)[..., 0, :points].contiguous()


def _chunks(points: int) -> list[tuple[slice, slice, int]]:
    """Slices of stretches, of times, and how many of the last stretch's times count."""
    parts = []
    for p in range(0, count_stretches(points), CHUNK):
        start = EARLY + p * STRETCH
        stop = min(start + CHUNK * STRETCH, points)
        parts.append((slice(p, p + CHUNK), slice(start, stop), stop - start))
    return parts


def _lead(*tensors: tuple[Tensor, int]) -> torch.Size:
    return torch.broadcast_shapes(*(t.shape[:-axes] for t, axes in tensors))


class _Response(Function):
    @staticmethod
    def forward(signal: Tensor, left: Tensor, right: Tensor, early: Tensor) -> Tensor:
        points, cases = signal.shape[-1], signal.shape[-2]
        outputs = left.shape[-5]
        lead = _lead((signal, 3), (left, 5), (right, 4), (early, 4))
        total = signal.new_empty(*lead, outputs, cases, points)
        first = first_values(signal)
        total[..., :EARLY] = first @ early[..., 1:, :].flatten(-3, -2)
        for stretches, times, count in _chunks(points):
            part = rows(left[..., 1:, stretches, :], right).flatten(-3, -2)
            total[..., times] = first @ part[..., :count]
        add_convolution(total, signal, _kernel(left, right, early, points))
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ANN401
        del output
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        inputs = ctx.saved_tensors
        if torch.is_grad_enabled():
            return torch.func.vjp(plain_response, *inputs)[1](grad)
        return tuple(
            part.sum_to_size(value.shape)
            for part, value in zip(_gradients(grad, *inputs), inputs, strict=True)
        )

    @staticmethod
    def jvp(ctx: Any, signal: Tensor, left: Tensor, right: Tensor, early: Tensor) -> Tensor:  # noqa: ANN401
        at = ctx.saved_tensors
        # (dL) R + L (dR) is one product of factors with twice the modes.
        both = lambda a, b: torch.cat(torch.broadcast_tensors(a, b), dim=-1)
        by_factors = response(at[0], both(left, at[1]), both(at[2], right), early)
        return response(signal, *at[1:]) + by_factors

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *values: Tensor) -> tuple[Tensor, int]:  # noqa: ANN401
        del info
        leading = (
            value[None] if axis is None else value.movedim(axis, 0)
            for value, axis in zip(values, in_dims, strict=True)
        )
        return response(*leading), 0


def _gradients(
    grad: Tensor, signal: Tensor, left: Tensor, right: Tensor, early: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients by each input, before sums over the axes along which it was spread."""
    points = signal.shape[-1]
    lead = grad.shape[:-3]
    kernel = _kernel(left, right, early, points)
    by_signal, by_kernel = convolution_adjoint(grad, signal, kernel)
    first = first_values(signal)
    fresh = lambda value, axes: grad.new_zeros(*lead, *value.shape[-axes:])
    by_left, by_right, by_early = fresh(left, 5), fresh(right, 4), fresh(early, 4)

    shape = (left.shape[-4], FIRST)
    by_early[..., 0, :] = by_kernel[..., :EARLY]
    by_early[..., 1:, :] = (first.mT @ grad[..., :EARLY]).unflatten(-2, shape)
    by_first = (grad[..., :EARLY] @ early[..., 1:, :].flatten(-3, -2).mT).sum(-3, keepdim=True)
    for stretches, times, count in _chunks(points):
        part = left[..., 1:, stretches, :]
        here = grad[..., times]
        row = rows(part, right).flatten(-3, -2)[..., :count]
        by_first += (here @ row.mT).sum(-3, keepdim=True)
        by_row = torch.cat(
            [by_kernel[..., None, times], (first.mT @ here).unflatten(-2, shape)], -2
        )
        whole = part.shape[-2] * STRETCH
        by_row = torch.nn.functional.pad(by_row, (0, whole - count))
        by_row = by_row.unflatten(-1, (-1, STRETCH))
        by_left[..., stretches, :] = (by_row.flatten(-3, -2) @ right).unflatten(
            -2, by_row.shape[-3:-1]
        )
        by_right += by_row.flatten(-3, -2).mT @ left[..., stretches, :].flatten(-3, -2)
    by_first = by_first.squeeze(-3).unflatten(-1, shape).transpose(-3, -2)
    by_signal[..., :FIRST] += by_first
    return by_signal, by_left, by_right, by_early
