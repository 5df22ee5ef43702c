"""e^{zt} in pairs of real numbers."""

import pytest
import torch

from mflno.operators.exponentials import exponentials


def test_pairs_are_the_complex_exponential():
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(3, 2, dtype=torch.complex128, generator=generator)
    times = torch.linspace(0, 4, 7, dtype=torch.float64)
    found = exponentials(z.real, z.imag, times)
    truth = torch.exp(z[..., None] * times)
    assert torch.allclose(found[..., 0, :, :], truth.real)
    assert torch.allclose(found[..., 1, :, :], truth.imag)


def test_single_precision_keeps_the_angle_of_many_turns():
    real, imag = -torch.ones(1, dtype=torch.float64) / 300, torch.full((1,), 9.0).double()
    times = torch.linspace(0, 300, 1000, dtype=torch.float64)
    double = exponentials(real, imag, times)
    single = exponentials(real, imag, times, torch.float32)
    assert single.dtype == torch.float32
    assert (single - double).abs().max() < 3e-7


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_derivatives_in_every_mode():
    generator = torch.Generator().manual_seed(0)
    real, imag = torch.randn(2, 2, 3, dtype=torch.float64, generator=generator)
    times = torch.linspace(0, 2, 5, dtype=torch.float64)
    arguments = [real.requires_grad_(), imag.requires_grad_()]
    function = lambda a, b: exponentials(a, b, times)
    assert torch.autograd.gradcheck(function, arguments, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, arguments)
