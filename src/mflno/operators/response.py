"""The response of a layer to its signals, from factors that hold no case and no time axis.

The layer's kernel at time 4 + 64p + q is left_p · right_q, a sum over modes: two small factors
instead of modes x time exponentials. Row 0 of the factors is the kernel that meets every value
of the signal; rows 1 to 5 answer its first five values, from which the quadrature extrapolates
beyond the start. The response is linear in the signal and in each factor.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.operators.fourier import add_convolution, convolution, convolution_adjoint
from mflno.operators.quadrature import EARLY, FIRST
from mflno.shapes import Float

STRETCH = 64
"""Times that share one exponential of the left factor."""
CHUNK_BYTES = 2**20
"""Starting rows that exist at once."""


class Factors(NamedTuple):
    """The kernel of a layer, and its rows at the four times before the factors begin.

    Attributes:
        left: Six rows a mode, real and imaginary parts, at the start of each stretch.
        right: Each mode's wave within a stretch.
        early: The six rows at times 0 to 3.
    """

    left: Float[Tensor, "*K O I m R P"]
    right: Float[Tensor, "*K O I m Q"]
    early: Float[Tensor, "*K O I R e"]


def count_stretches(points: int) -> int:
    """Stretches that cover the grid."""
    return (points - EARLY + STRETCH - 1) // STRETCH


def late_rows(
    left: Float[Tensor, "*K O I m R P"], right: Float[Tensor, "*K O I m Q"]
) -> Float[Tensor, "*K O I R n"]:
    """The rows at the times of these stretches."""
    return (left.flatten(-2).mT @ right).unflatten(-2, left.shape[-2:]).flatten(-2)


def first_values(signal: Float[Tensor, "*K I N T"]) -> Float[Tensor, "*K 1 N v"]:
    """The values that the starting rows answer, a row a case."""
    return signal[..., :FIRST].transpose(-3, -2).flatten(-2).unsqueeze(-3)


def all_rows(factors: Factors, points: int) -> Float[Tensor, "*K O I R T"]:
    """The six rows at every time."""
    late = late_rows(factors.left, factors.right)
    return torch.cat([factors.early, late], dim=-1)[..., :points]


def plain_response(
    signal: Float[Tensor, "*K I N T"],
    left: Float[Tensor, "*K O I m R P"],
    right: Float[Tensor, "*K O I m Q"],
    early: Float[Tensor, "*K O I R e"],
) -> Float[Tensor, "*K O N T"]:
    """The response, in operations that differentiate and compile by themselves."""
    rows = all_rows(Factors(left, right, early), signal.shape[-1])
    begin = first_values(signal) @ rows[..., 1:, :].flatten(-3, -2)
    return convolution(signal, rows[..., 0, :]) + begin


def response(signal: Float[Tensor, "*K I N T"], factors: Factors) -> Float[Tensor, "*K O N T"]:
    """The response; in eager mode with a backward pass that keeps nothing but its inputs."""
    aligned = _aligned(signal, *factors)
    if torch.compiler.is_compiling():
        return plain_response(*aligned)
    return _Response.apply(*aligned)


def _aligned(*values: Tensor) -> list[Tensor]:
    """Signal and factors with as many leading axes."""
    own = (3, 5, 4, 4)
    lead = max(v.ndim - n for v, n in zip(values, own, strict=True))
    return [v[(None,) * (lead + n - v.ndim)] for v, n in zip(values, own, strict=True)]


def _kernel(left: Tensor, right: Tensor, early: Tensor, points: int) -> Tensor:
    late = (left[..., 0, :].mT @ right).flatten(-2)
    return torch.cat([early[..., 0, :], late], dim=-1)[..., :points].contiguous()


def _chunks(left: Tensor, points: int) -> list[tuple[slice, slice]]:
    """Slices of stretches and of their times, so that few starting rows exist at once."""
    count = left.shape[-1]
    stretch = STRETCH * FIRST * left[..., 0, 0, 0].numel() * left.element_size()
    size = max(1, CHUNK_BYTES // stretch)
    return [
        (
            slice(p, p + size),
            slice(EARLY + p * STRETCH, min(EARLY + (p + size) * STRETCH, points)),
        )
        for p in range(0, count, size)
    ]


def _lead(*tensors: tuple[Tensor, int]) -> torch.Size:
    return torch.broadcast_shapes(*(t.shape[:-axes] for t, axes in tensors))


class _Response(Function):
    @staticmethod
    def forward(signal: Tensor, left: Tensor, right: Tensor, early: Tensor) -> Tensor:
        points, cases = signal.shape[-1], signal.shape[-2]
        lead = _lead((signal, 3), (left, 5), (right, 4), (early, 4))
        total = signal.new_empty(*lead, left.shape[-5], cases, points)
        first = first_values(signal)
        total[..., :EARLY] = first @ early[..., 1:, :].flatten(-3, -2)
        for stretches, times in _chunks(left, points):
            part = late_rows(left[..., 1:, stretches], right).flatten(-3, -2)
            total[..., times] = (first @ part)[..., : times.stop - times.start]
        add_convolution(total, signal, _kernel(left, right, early, points))
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ANN401
        del output
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, ...]:  # noqa: ANN401
        inputs, (grad,) = ctx.saved_tensors, grad_outputs
        if torch.is_grad_enabled():
            return torch.func.vjp(plain_response, *inputs)[1](grad)
        return tuple(
            part.sum_to_size(value.shape)
            for part, value in zip(_gradients(grad, *inputs), inputs, strict=True)
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Tensor) -> Tensor:  # noqa: ANN401
        signal, left, right, early = grad_inputs
        at = ctx.saved_tensors
        # (dL) R + L (dR) is one product of factors with twice the modes.
        both = lambda a, b, dim: torch.cat(torch.broadcast_tensors(a, b), dim=dim)
        moved = Factors(both(left, at[1], -3), both(at[2], right, -2), early)
        return response(signal, Factors(*at[1:])) + response(at[0], moved)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *values: Tensor) -> tuple[Tensor, int]:  # noqa: ANN401
        del info
        signal, *factors = (
            value[None] if axis is None else value.movedim(axis, 0)
            for value, axis in zip(values, in_dims, strict=True)
        )
        return response(signal, Factors(*factors)), 0


def _gradients(
    grad: Tensor, signal: Tensor, left: Tensor, right: Tensor, early: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients by each input, before sums over the axes along which it was spread."""
    points = signal.shape[-1]
    lead = grad.shape[:-3]
    kernel = _kernel(left, right, early, points)
    by_signal, by_kernel = convolution_adjoint(grad, signal, kernel)
    first = first_values(signal)
    fresh = lambda value, axes: grad.new_empty(*lead, *value.shape[-axes:])
    by_left, by_right, by_early = fresh(left, 5), fresh(right, 4).zero_(), fresh(early, 4)

    shape = (left.shape[-4], FIRST)
    by_early[..., 0, :] = by_kernel[..., :EARLY]
    by_early[..., 1:, :] = (first.mT @ grad[..., :EARLY]).unflatten(-2, shape)
    by_first = (grad[..., :EARLY] @ early[..., 1:, :].flatten(-3, -2).mT).sum(-3, keepdim=True)
    for stretches, times in _chunks(left, points):
        here, part, count = grad[..., times], left[..., stretches], times.stop - times.start
        row = late_rows(part[..., 1:, :], right).flatten(-3, -2)[..., :count]
        by_first += (here @ row.mT).sum(-3, keepdim=True)
        by_row = grad.new_zeros(*lead, *left.shape[-5:-3], 1 + FIRST, part.shape[-1] * STRETCH)
        by_row[..., 0, :count] = by_kernel[..., times]
        by_row[..., 1:, :count] = (first.mT @ here).unflatten(-2, shape)
        by_row = by_row.unflatten(-1, (-1, STRETCH)).flatten(-3, -2)
        by_left[..., stretches] = (right @ by_row.mT).unflatten(-1, part.shape[-2:])
        by_right += part.flatten(-2) @ by_row
    by_first = by_first.squeeze(-3).unflatten(-1, shape).transpose(-3, -2)
    by_signal[..., :FIRST] += by_first
    return by_signal, by_left, by_right, by_early
