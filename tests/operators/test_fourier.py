"""Zero-padded convolution against a direct sum, with few channels and with many."""

import pytest
import torch

from mflno.operators import fourier
from mflno.operators.fourier import blocks, convolution, convolution_adjoint, convolve
from mflno.operators.quadrature import EARLY


def direct(signal, kernel):
    points = signal.shape[-1]
    total = torch.zeros(kernel.shape[0], *signal.shape[1:], dtype=signal.dtype)
    for lag in range(points):
        shifted = signal[..., : points - lag]
        total[..., lag:] += torch.einsum("oi,int->ont", kernel[..., lag], shifted)
    return total


def drawn(channels, cases=5, points=40):
    generator = torch.Generator().manual_seed(0)
    inputs, outputs = channels
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    return draw(inputs, cases, points), draw(outputs, inputs, points)


@pytest.mark.parametrize("channels", [(1, 1), (2, 3), (9, 8)])
@pytest.mark.parametrize("block_bytes", [1, 2**11, 2**30])
def test_convolution_in_blocks_is_the_direct_sum(channels, block_bytes, monkeypatch):
    monkeypatch.setattr(fourier, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(fourier, "WIDE_BYTES", block_bytes)
    signal, kernel = drawn(channels)
    impulses = torch.ones_like(signal[..., :4])
    hit = signal.clone()
    hit[..., :4] += 1.0
    assert torch.allclose(convolve(signal, impulses, kernel), direct(hit, kernel))
    assert torch.allclose(convolution(signal, kernel), direct(signal, kernel))


@pytest.mark.parametrize("channels", [(1, 1), (2, 3), (9, 8)])
@pytest.mark.parametrize("block_bytes", [1, 2**30])
def test_adjoint_is_the_transpose_at_late_times(channels, block_bytes, monkeypatch):
    monkeypatch.setattr(fourier, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(fourier, "WIDE_BYTES", block_bytes)
    signal, kernel = (v.requires_grad_() for v in drawn(channels))
    whole = direct(signal, kernel)
    toward = torch.randn(whole.shape, dtype=torch.float64)
    truth = torch.autograd.grad((whole * toward)[..., EARLY:].sum(), (signal, kernel))
    with torch.no_grad():
        none = torch.zeros_like(signal[..., :4])
        found = convolution_adjoint(toward, signal, none, kernel)
    assert found.signal is not None
    assert torch.allclose(found.signal, truth[0])
    assert torch.allclose(found.kernel, truth[1])


def test_blocks_cover_every_case_once_and_evenly():
    signal = torch.zeros(3, 23, 64)
    slices = blocks(signal, 5 * 3 * 64 * 8)
    taken = [case for block in slices for case in range(*block.indices(23))]
    assert taken == list(range(23))
    assert len({block.stop - block.start for block in slices[:-1]}) == 1
