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


def early_values(signal: Float[Tensor, "*#K I N T"]) -> Float[Tensor, "*K 1 N Iv"]:
    """The early values of all channels, a row a case."""
    return signal[..., :EARLY].transpose(-3, -2).flatten(-2).unsqueeze(-3)


def added_impulses(signal: Float[Tensor, "*m T"]) -> Float[Tensor, "*m d"]:
    """What is added to the first points, so that the convolution starts as it should."""
    return signal[..., :FIRST] @ tables(signal.dtype, signal.device).impulses.mT


def plain_response(
    signal: Float[Tensor, "*#K I N T"],
    kernel: Float[Tensor, "*K O I T"],
    start: Float[Tensor, "*K O Iv n"],
) -> Float[Tensor, "*K O N T"]:
    """The response, in operations that differentiate and compile by themselves."""
    begin = signal[..., :IMPULSES] + added_impulses(signal)
    late = convolution(torch.cat([begin, signal[..., IMPULSES:]], dim=-1), kernel)
    return torch.cat([combined(early_values(signal), start), late[..., EARLY:]], dim=-1)


def is_fused() -> bool:
    """Whether a compiler is to fuse sums with what surrounds them; it fuses no product."""
    return torch.compiler.is_compiling() and not torch.compiler.is_exporting()


def combined(
    weight: Float[Tensor, "*#K a b"], value: Float[Tensor, "*#K b X"]
) -> Float[Tensor, "*#K a X"]:
    """Σ_b weight_ab value_b, for a few channels and a long axis."""
    if is_fused():
        return (weight[..., None] * value.unsqueeze(-3)).sum(-2)
    return weight @ value


def response(
    signal: Float[Tensor, "*#K I N T"],
    factors: Factors,
    mixing: Float[Tensor, "*K J I"] | None = None,
    merging: Float[Tensor, "*K A O"] | None = None,
) -> Float[Tensor, "*K A N T"]:
    """The response; in eager mode with a backward pass that keeps nothing but its inputs.

    `mixing` makes the factors' channels from the signal's, `merging` what goes out from the
    factors' outputs: both act on the kernel, so that only the signal's own channels and what
    goes out are transformed, and chains share the transforms of the signal.
    """
    kernel = whole_kernel(*factors, signal.shape[-1])
    start = factors.early[..., EARLY:]
    if merging is not None:
        kernel, start = (
            combined(merging, v.flatten(-2)).unflatten(-1, v.shape[-2:])
            for v in (kernel, start)
        )
    if mixing is not None:
        turned = mixing.mT.unsqueeze(-3)
        kernel, start = combined(turned, kernel), combined(turned, start)
    start = start.unflatten(-1, (EARLY, EARLY)).flatten(-3, -2)
    aligned = _aligned(signal, kernel, start)
    if torch.compiler.is_compiling():
        return plain_response(*aligned)
    return _Response.apply(*aligned)


def _aligned(*values: Tensor) -> list[Tensor]:
    """Signal, kernel and map with as many leading axes."""
    lead = max(v.ndim for v in values) - 3
    return [v[(None,) * (lead + 3 - v.ndim)] for v in values]


class _Response(Function):
    @staticmethod
    def forward(signal: Tensor, kernel: Tensor, start: Tensor) -> Tensor:
        total = convolve(signal, added_impulses(signal), kernel)
        total[..., :EARLY] = early_values(signal) @ start
        return total

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:  # noqa: ANN401
        del output
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs, (grad,) = ctx.saved_tensors, grad_outputs
        if torch.is_grad_enabled():
            return torch.func.vjp(plain_response, *inputs)[1](grad)
        parts = _gradients(grad, *inputs, wanted=ctx.needs_input_grad[0])
        return tuple(
            None if part is None else part.sum_to_size(value.shape)
            for part, value in zip(parts, inputs, strict=True)
        )

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Tensor | None) -> Tensor:  # noqa: ANN401
        signal, kernel, start = ctx.saved_tensors
        by_signal, by_kernel, by_start = grad_inputs
        blank = lambda change, at: torch.zeros_like(at) if change is None else change
        moved = _Response.apply(signal, blank(by_kernel, kernel), blank(by_start, start))
        return moved if by_signal is None else moved + _Response.apply(by_signal, kernel, start)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *values: Tensor) -> tuple[Tensor, int]:  # noqa: ANN401
        del info
        moved = (
            value[None] if axis is None else value.movedim(axis, 0)
            for value, axis in zip(values, in_dims, strict=True)
        )
        return _Response.apply(*moved), 0


def _gradients(
    grad: Tensor, signal: Tensor, kernel: Tensor, start: Tensor, *, wanted: bool
) -> tuple[Tensor | None, Tensor, Tensor]:
    """Gradients by each input, before sums over the axes along which it was spread."""
    head = grad[..., :EARLY]
    by_signal, by_kernel = convolution_adjoint(
        grad, signal, added_impulses(signal), kernel, wanted=wanted
    )
    by_start = early_values(signal).mT @ head
    if by_signal is None:
        return None, by_kernel, by_start
    by_signal[..., :FIRST] += (
        by_signal[..., :IMPULSES] @ tables(signal.dtype, signal.device).impulses
    )
    by_values = (head @ start.mT).sum(-3).unflatten(-1, (signal.shape[-3], EARLY))
    by_signal[..., :EARLY] += by_values.transpose(-3, -2)
    return by_signal, by_kernel, by_start
