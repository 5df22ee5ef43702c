"""Causal convolution of many signals with many kernels, by zero-padded real FFT.

The product of spectra is summed over the input channel frequency by frequency: in a few
elementwise passes where channels are few, as one small matrix product a frequency where they
are many. Signals go through in blocks of cases, so that only a block's spectra exist at once.
"""

from typing import Any, NamedTuple

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from mflno.shapes import Complex, Float

WIDE = 64
"""Pairs of channels from which on a matrix product a frequency is the faster one."""
BLOCK_BYTES = 2**18
"""Spectra of one block of cases on a CPU: a cache holds it, with room for the rest."""


def padded(points: int) -> int:
    """A length at which a circular convolution is a causal one, kind to the FFT."""
    if torch.compiler.is_compiling():
        return 2 * points
    length: Any = next_fast_len(points, True)
    return 2 * int(length)


def transformed(value: Float[Tensor, "*m T"]) -> Complex[Tensor, "*m F"]:
    """Spectrum of the zero-padded value."""
    return torch.fft.rfft(value, padded(value.shape[-1]))


def restored(spectrum: Complex[Tensor, "*m F"], points: int) -> Float[Tensor, "*m T"]:
    """The first points of what has this spectrum."""
    return torch.fft.irfft(spectrum, padded(points))[..., :points]


def product(
    left: Complex[Tensor, "*K O I F"], right: Complex[Tensor, "*K I N F"]
) -> Complex[Tensor, "*K O N F"]:
    """Σ_i left_oi right_in at each frequency."""
    outputs, inputs = left.shape[-3:-1]
    if outputs * inputs >= WIDE:
        turn = lambda value: value.movedim(-1, -3).contiguous()
        return (turn(left) @ turn(right)).movedim(-3, -1)
    total = left[..., :, 0, None, :] * right[..., None, 0, :, :]
    for i in range(1, inputs):
        total.addcmul_(left[..., :, i, None, :], right[..., None, i, :, :])
    return total


def add_outer(
    total: Complex[Tensor, "*K O I F"],
    left: Complex[Tensor, "*K O N F"],
    right: Complex[Tensor, "*K I N F"],
) -> None:
    """Add Σ_n left_on right_in at each frequency, in place."""
    outputs, inputs = total.shape[-3:-1]
    if outputs * inputs >= WIDE:
        turn = lambda value: value.movedim(-1, -3).contiguous()
        total += (turn(left) @ turn(right).mT).movedim(-3, -1)
        return
    for n in range(left.shape[-2]):
        total.addcmul_(left[..., :, None, n, :], right[..., None, :, n, :])


def convolution(
    signal: Float[Tensor, "*K I N T"], kernel: Float[Tensor, "*K O I T"]
) -> Float[Tensor, "*K O N T"]:
    """Σ_i kernel_oi * signal_i of all cases, in operations that differentiate themselves."""
    points = signal.shape[-1]
    if not torch.compiler.is_compiling():
        return restored(product(transformed(kernel), transformed(signal)), points)
    # Compilers fuse real arithmetic only.
    a, b = (torch.view_as_real(transformed(value)) for value in (kernel, signal))
    a, b = a[..., None, :, :], b[..., None, :, :, :, :]
    (ar, ai), (br, bi) = a.unbind(-1), b.unbind(-1)
    total = torch.stack([(ar * br - ai * bi).sum(-3), (ar * bi + ai * br).sum(-3)], dim=-1)
    return restored(torch.view_as_complex(total), points)


class Adjoint(NamedTuple):
    """Gradients of a convolution."""

    signal: Float[Tensor, "*K I N T"]
    kernel: Float[Tensor, "*K O I T"]


def blocks(signal: Float[Tensor, "*K I N T"], outputs: int, block_bytes: int) -> list[slice]:
    """Slices of the cases; on an accelerator all of them at once."""
    cases, points = signal.shape[-2:]
    if signal.device.type != "cpu":
        return [slice(0, cases)]
    case = 2 * signal.element_size() * points * signal.shape[:-2].numel()
    size = max(block_bytes // case, 1 if outputs < 8 else outputs)
    return [slice(a, min(a + size, cases)) for a in range(0, cases, size)]


def add_convolution(
    total: Float[Tensor, "*K O N T"],
    signal: Float[Tensor, "*K I N T"],
    kernel: Float[Tensor, "*K O I T"],
) -> None:
    """Add the convolution in place, block by block."""
    points = signal.shape[-1]
    spectrum = transformed(kernel)
    for block in blocks(signal, total.shape[-3], 2 * BLOCK_BYTES):
        part = product(spectrum, transformed(signal[..., block, :]))
        total[..., block, :] += restored(part, points)


def convolution_adjoint(
    grad: Float[Tensor, "*K O N T"],
    signal: Float[Tensor, "*K I N T"],
    kernel: Float[Tensor, "*K O I T"],
) -> Adjoint:
    """The gradients by signal and kernel, block by block; leading axes as in `grad`.

    Both are correlations with the gradient: the conjugate of its spectrum multiplies, and the
    products' conjugates are transformed back.
    """
    points = signal.shape[-1]
    spectrum = transformed(kernel).transpose(-3, -2)
    lead, inputs, cases = grad.shape[:-3], signal.shape[-3], signal.shape[-2]
    by_signal = grad.new_empty(*lead, inputs, cases, points)
    total = spectrum.new_zeros(*lead, grad.shape[-3], inputs, spectrum.shape[-1])
    for block in blocks(signal, grad.shape[-3], BLOCK_BYTES):
        back = transformed(grad[..., block, :]).conj_physical_()
        add_outer(total, back, transformed(signal[..., block, :]))
        part = product(spectrum, back).conj_physical_()
        by_signal[..., block, :] = restored(part, points)
    return Adjoint(by_signal, restored(total.conj_physical_(), points))
