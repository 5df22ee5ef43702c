"""Causal convolution of many signals with many kernels, by zero-padded real FFT.

The product of spectra is summed over the input channel frequency by frequency: in a few
elementwise passes where channels are few; where they are many, as one small matrix product a
frequency, of spectra laid out by frequency. Signals go through in blocks of cases, so that only
a block's spectra exist at once.
"""

import functools
from typing import Any, NamedTuple

import torch
from scipy.fft import next_fast_len
from torch import Tensor

from mflno.operators.quadrature import EARLY
from mflno.shapes import Complex, Float

WIDE = 64
"""Pairs of channels from which on a matrix product a frequency is the faster one."""
BLOCK_BYTES = 200_000
"""Spectra of one block of cases on a CPU: a cache holds it, with room for the rest."""
WIDE_BYTES = 2**23
"""The same where each block has to be laid out by frequency, which few large blocks do best."""


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


def is_wide(kernel: Float[Tensor, "*K O I T"]) -> bool:
    """Whether matrix products are the faster way for so many channels."""
    return kernel.shape[-3] * kernel.shape[-2] >= WIDE


def by_frequency(spectrum: Complex[Tensor, "*K a b F"]) -> Complex[Tensor, "*K F a b"]:
    """One matrix a frequency, each contiguous."""
    return spectrum.movedim(-1, -3).contiguous()


def spread(left: Tensor, right: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Factors "O 1 F" and "1 N F" of each input channel."""
    return left.unsqueeze(-2).unbind(-3), right.unsqueeze(-4).unbind(-3)


def product(
    left: Complex[Tensor, "*K O I F"], right: Complex[Tensor, "*#K I N F"]
) -> Complex[Tensor, "*K O N F"]:
    """Σ_i left_oi right_in at each frequency."""
    lefts, rights = spread(left, right)
    total = lefts[0] * rights[0]
    for one, other in zip(lefts[1:], rights[1:], strict=True):
        total.addcmul_(one, other)
    return total


def add_outer(
    total: Complex[Tensor, "*K O I F"],
    left: Complex[Tensor, "*K O N F"],
    right: Complex[Tensor, "*#K I N F"],
) -> None:
    """Add Σ_n left_on right_in at each frequency, in place."""
    lefts, rights = left.unsqueeze(-3).unbind(-2), right.unsqueeze(-4).unbind(-2)
    for one, other in zip(lefts, rights, strict=True):
        total.addcmul_(one, other)


def convolution(
    signal: Float[Tensor, "*#K I N T"], kernel: Float[Tensor, "*K O I T"]
) -> Float[Tensor, "*K O N T"]:
    """Σ_i kernel_oi * signal_i of all cases, in operations that differentiate themselves."""
    points = signal.shape[-1]
    if not torch.compiler.is_compiling():
        left, right = transformed(kernel), transformed(signal)
        if is_wide(kernel):
            both = (by_frequency(left) @ by_frequency(right)).movedim(-3, -1)
        else:
            # Not in place: function transforms have no rule for that.
            pairs = zip(*spread(left, right), strict=True)
            both = functools.reduce(torch.add, (one * other for one, other in pairs))
        return restored(both, points)
    # Compilers fuse real arithmetic only.
    (a, b), (c, d) = real_spectrum(kernel), real_spectrum(signal)
    a, b = a.unsqueeze(-2), b.unsqueeze(-2)
    c, d = c.unsqueeze(-4), d.unsqueeze(-4)
    both = (a * c - b * d).sum(-3), (a * d + b * c).sum(-3)
    return from_real_spectrum(both, points)


def real_spectrum(value: Float[Tensor, "*m T"]) -> tuple[Tensor, ...]:
    """Real and imaginary part of the zero-padded value's spectrum."""
    return torch.view_as_real(transformed(value)).unbind(-1)


def from_real_spectrum(both: tuple[Tensor, Tensor], points: int) -> Float[Tensor, "*m T"]:
    """The first points of what has this real and imaginary part.

    The factor of the inverse transform is taken into the products, where it costs nothing.
    """
    length = padded(points)
    whole = torch.view_as_complex(torch.stack(both, dim=-1) / length)
    return torch.fft.irfft(whole, length, norm="forward")[..., :points]


class Adjoint(NamedTuple):
    """Gradients of a convolution; by the signal where it was wanted."""

    signal: Float[Tensor, "*K I N T"] | None
    kernel: Float[Tensor, "*K O I T"]


def blocks(signal: Float[Tensor, "*#K I N T"], block_bytes: int) -> list[slice]:
    """Slices of the cases, all about as long; on an accelerator all of them at once."""
    cases, points = signal.shape[-2:]
    if signal.device.type != "cpu":
        return [slice(0, cases)]
    case = 2 * signal.element_size() * points * signal.shape[:-2].numel()
    count = min(cases, -(-cases * case // block_bytes))
    size = -(-cases // count)
    return [slice(a, min(a + size, cases)) for a in range(0, cases, size)]


def started(
    signal: Float[Tensor, "*#K I N T"], impulses: Float[Tensor, "*K I N d"]
) -> Complex[Tensor, "*K I N F"]:
    """Spectrum of the zero-padded signal with the impulses added to its first points."""
    points, first = signal.shape[-1], impulses.shape[-1]
    whole = signal.new_zeros(*signal.shape[:-1], padded(points))
    whole[..., :points] = signal
    whole[..., :first] += impulses
    return torch.fft.rfft(whole)


def beheaded(grad: Float[Tensor, "*K O N T"]) -> Complex[Tensor, "*K O N F"]:
    """Conjugate spectrum of the zero-padded gradient without its early times."""
    points = grad.shape[-1]
    whole = grad.new_zeros(*grad.shape[:-1], padded(points))
    whole[..., EARLY:points] = grad[..., EARLY:]
    return torch.fft.rfft(whole).conj_physical_()


def convolve(
    signal: Float[Tensor, "*#K I N T"],
    impulses: Float[Tensor, "*#K I N d"],
    kernel: Float[Tensor, "*K O I T"],
) -> Float[Tensor, "*K O N T"]:
    """The convolution of the signal with the impulses on it, block by block."""
    points = signal.shape[-1]
    lead = torch.broadcast_shapes(signal.shape[:-3], kernel.shape[:-3])
    total = signal.new_empty(*lead, kernel.shape[-3], *signal.shape[-2:])
    spectrum, wide = transformed(kernel), is_wide(kernel)
    spectrum = by_frequency(spectrum) if wide else spectrum
    for block in blocks(signal, WIDE_BYTES if wide else BLOCK_BYTES):
        part = started(signal[..., block, :], impulses[..., block, :])
        if wide:
            part = (spectrum @ by_frequency(part)).movedim(-3, -1)
        else:
            part = product(spectrum, part)
        total[..., block, :] = restored(part, points)
    return total


def convolution_adjoint(
    grad: Float[Tensor, "*K O N T"],
    signal: Float[Tensor, "*#K I N T"],
    impulses: Float[Tensor, "*#K I N d"],
    kernel: Float[Tensor, "*K O I T"],
    *,
    wanted: bool = True,
) -> Adjoint:
    """The gradients by signal and kernel at all but the early times, block by block.

    Both are correlations with the gradient: the conjugate of its spectrum multiplies, and the
    products' conjugates are transformed back. Leading axes are as in `grad`.
    """
    points, wide = signal.shape[-1], is_wide(kernel)
    by_signal = grad.new_empty(*grad.shape[:-3], *signal.shape[-3:]) if wanted else None
    spectrum = transformed(kernel)
    if wide:
        spectrum = by_frequency(spectrum)
    total = spectrum.new_zeros(*grad.shape[:-3], *spectrum.shape[-3:])
    for block in blocks(signal, WIDE_BYTES if wide else BLOCK_BYTES):
        part = started(signal[..., block, :], impulses[..., block, :])
        back = beheaded(grad[..., block, :])
        if wide:
            back = by_frequency(back)
            total += back @ by_frequency(part).mT
        else:
            add_outer(total, back, part)
        del part
        if by_signal is not None:
            # One name for both: the gradient's spectrum must not outlive its use.
            back = (
                (spectrum.mT @ back).movedim(-3, -1)
                if wide
                else product(spectrum.transpose(-3, -2), back)
            )
            by_signal[..., block, :] = restored(back.conj_physical_(), points)
    total = total.movedim(-3, -1) if wide else total
    return Adjoint(by_signal, restored(total.conj_physical_(), points))
