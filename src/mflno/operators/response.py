"""The response of a layer to its signals, from factors that hold no case and no time axis.

The layer's kernel at time EARLY + 64p + q is left_p · right_q, a sum over modes: two small
factors instead of modes x time exponentials. The early times have a map of their own from the
early values; for all later ones the start is said by impulses at the first points, so that one
convolution is all there is. The response is linear in the signal and in each factor.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import Function

from mflno.operators.fourier import convolution, convolution_adjoint, convolve
from mflno.operators.quadrature import EARLY, FIRST, IMPULSES
from mflno.operators.tables import tables
from mflno.shapes import Float

STRETCH = 64
"""Times that share one exponential of the left factor."""


class Factors(NamedTuple):
    """The kernel of a layer, and what holds at the early times.

    Attributes:
        left: Each mode's size at the start of each stretch, real and minus imaginary parts.
        right: Each mode's wave within a stretch.
        early: The kernel at the early lags, then the map (value, time) of the early times.
    """

    left: Float[Tensor, "*K O I m P"]
    right: Float[Tensor, "*K O I m Q"]
    early: Float[Tensor, "*K O I e"]


def count_stretches(points: int) -> int:
    """Stretches that cover the grid, and one more: compilers treat sizes 0 and 1 apart."""
    return (points - EARLY + STRETCH - 1) // STRETCH + 1


def late_kernel(
    left: Float[Tensor, "*K O I m P"], right: Float[Tensor, "*K O I m Q"]
) -> Float[Tensor, "*K O I n"]:
    """The kernel at the times of the stretches."""
    return (left.mT @ right).flatten(-2)


def whole_kernel(
    left: Tensor, right: Tensor, early: Tensor, points: int
) -> Float[Tensor, "*K O I T"]:
    """The kernel at every lag."""
    kernel = torch.cat([early[..., :EARLY], late_kernel(left, right)], dim=-1)
    if torch.compiler.is_exporting():
        # A slice would tie the export to grids for which its end is proved to lie inside.
        return kernel.index_select(-1, torch.arange(points, device=kernel.device))
    return kernel[..., :points]


def start_map(early: Float[Tensor, "*K O I e"]) -> Float[Tensor, "*K O Iv n"]:
    """From the early values of all channels to the early times."""
    return early[..., EARLY:].unflatten(-1, (EARLY, EARLY)).flatten(-3, -2)


def early_values(signal: Float[Tensor, "*#K I N T"]) -> Float[Tensor, "*K 1 N Iv"]:
    """The early values of all channels, a row a case."""
    return signal[..., :EARLY].transpose(-3, -2).flatten(-2).unsqueeze(-3)


def added_impulses(signal: Float[Tensor, "*m T"]) -> Float[Tensor, "*m d"]:
    """What is added to the first points, so that the convolution starts as it should."""
    return signal[..., :FIRST] @ tables(signal.dtype, signal.device).impulses.mT


def plain_response(
    signal: Float[Tensor, "*#K I N T"],
    left: Float[Tensor, "*K O I m P"],
    right: Float[Tensor, "*K O I m Q"],
    early: Float[Tensor, "*K O I e"],
) -> Float[Tensor, "*K O N T"]:
    """The response, in operations that differentiate and compile by themselves."""
    kernel = whole_kernel(left, right, early, signal.shape[-1])
    begin = signal[..., :IMPULSES] + added_impulses(signal)
    late = convolution(torch.cat([begin, signal[..., IMPULSES:]], dim=-1), kernel)
    return torch.cat([early_values(signal) @ start_map(early), late[..., EARLY:]], dim=-1)


def response(signal: Float[Tensor, "*#K I N T"], factors: Factors) -> Float[Tensor, "*K O N T"]:
    """The response; in eager mode with a backward pass that keeps nothing but its inputs."""
    aligned = _aligned(signal, *factors)
    if torch.compiler.is_compiling():
        return plain_response(*aligned)
    return _Response.apply(*aligned)


def _aligned(*values: Tensor) -> list[Tensor]:
    """Signal and factors with as many leading axes."""
    own = (3, 4, 4, 3)
    lead = max(v.ndim - n for v, n in zip(values, own, strict=True))
    return [v[(None,) * (lead + n - v.ndim)] for v, n in zip(values, own, strict=True)]


class _Response(Function):
    @staticmethod
    def forward(signal: Tensor, left: Tensor, right: Tensor, early: Tensor) -> Tensor:
        kernel = whole_kernel(left, right, early, signal.shape[-1])
        total = convolve(signal, added_impulses(signal), kernel)
        total[..., :EARLY] = early_values(signal) @ start_map(early)
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
        both = lambda a, b: torch.cat(torch.broadcast_tensors(a, b), dim=-2)
        moved = Factors(both(left, at[1]), both(at[2], right), early)
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
    points, inputs = signal.shape[-1], left.shape[-3]
    kernel = whole_kernel(left, right, early, points)
    by_signal, by_kernel = convolution_adjoint(grad, signal, added_impulses(signal), kernel)
    by_signal[..., :FIRST] += (
        by_signal[..., :IMPULSES] @ tables(signal.dtype, signal.device).impulses
    )
    head = grad[..., :EARLY]
    by_values = (head @ start_map(early).mT).sum(-3).unflatten(-1, (inputs, EARLY))
    by_signal[..., :EARLY] += by_values.transpose(-3, -2)

    by_map = (early_values(signal).mT @ head).unflatten(-2, (inputs, EARLY)).flatten(-2)
    by_early = torch.cat([by_kernel[..., :EARLY], by_map], dim=-1)
    short = left.shape[-1] * STRETCH - (points - EARLY)
    by_late = torch.nn.functional.pad(by_kernel[..., EARLY:], (0, short))
    by_late = by_late.unflatten(-1, (left.shape[-1], STRETCH))
    return by_signal, right @ by_late.mT, left @ by_late, by_early
