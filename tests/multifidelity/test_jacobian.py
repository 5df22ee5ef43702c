"""Closed-form derivatives against reverse mode."""

import pytest
import torch

from mflno.multifidelity.channels import Channels
from mflno.multifidelity.forms import LNO, Deep, Mixture, Site
from mflno.multifidelity.jacobian import jacobian, structured
from mflno.operators import Packing, Spectrum, chain_forward


def made(form, outputs=1, rows=2):
    site = Site(Channels(1, (0,), time=True, lower=1), outputs, 40, Spectrum())
    generator = torch.Generator().manual_seed(0)
    modules = [form.build(site, generator).double() for _ in range(rows)]
    inputs = torch.randn(3, 4, 40, generator=generator, dtype=torch.float64)
    return modules[0], Packing.of(modules[0]).pack(modules), inputs, torch.linspace(0, 20, 40)


@pytest.mark.parametrize("hidden", [(3,), (4, 2)])
@pytest.mark.parametrize("outputs", [1, 2])
def test_columns_of_a_mixture_are_those_of_reverse_mode(hidden, outputs):
    sizes = LNO(width=2, modes=3, hidden=hidden)
    module, theta, inputs, grid = made(Mixture(sizes, sizes), outputs)
    assert structured(module)
    values, columns = jacobian(module, theta, inputs, grid)
    forward = chain_forward(module)
    torch.testing.assert_close(values, forward(theta, inputs, grid), rtol=0, atol=1e-12)
    for row in (0, 1):
        one = lambda each: forward(each[None], inputs, grid)[0]
        truth = torch.autograd.functional.jacobian(one, theta[row])
        torch.testing.assert_close(columns[row].movedim(0, -1), truth, rtol=0, atol=1e-11)


def test_rows_may_have_data_of_their_own():
    module, theta, inputs, grid = made(LNO(width=2, modes=2, hidden=(2,)))
    both = torch.stack([inputs, 2 * inputs])
    _, columns = jacobian(module, theta, both, grid)
    _, second = jacobian(module, theta[1:], 2 * inputs, grid)
    torch.testing.assert_close(columns[1:], second, rtol=0, atol=1e-12)


def test_other_networks_go_through_forward_mode():
    module, theta, inputs, grid = made(Deep(width=4, once=True))
    assert not structured(module)
    assert not structured(made(LNO(inner="sine"))[0])
    _, columns = jacobian(module, theta, inputs, grid)
    one = lambda each: chain_forward(module)(each[None], inputs, grid)[0]
    truth = torch.autograd.functional.jacobian(one, theta[1])
    torch.testing.assert_close(columns[1].movedim(0, -1), truth, rtol=0, atol=1e-12)
