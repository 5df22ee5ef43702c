"""DeepONet in the two forms of the comparison."""

import pytest
import torch

from mflno.errors import ArgumentError
from mflno.operators import Packing, chain_forward, paper_deeponet, residual_deeponet

POINTS = 32
GRID = torch.linspace(0, 5, POINTS)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_paper_form_is_branch_times_trunk_plus_bias():
    net = paper_deeponet(2 * POINTS, 8, generator=seeded())
    inputs = torch.randn(4, 2, POINTS, generator=seeded())
    found = net(inputs, GRID)
    code = net.branch(inputs.flatten(1))
    time = torch.linspace(-1, 1, POINTS)[:, None]
    assert found.shape == (4, 1, POINTS)
    assert torch.allclose(found[:, 0], code @ net.trunk(time).T + net.bias, atol=1e-6)


def test_constant_channel_is_one_number():
    net = paper_deeponet(POINTS + 1, 8, constants=[1], generator=seeded())
    inputs = torch.randn(4, 2, POINTS, generator=seeded())
    changed = inputs.clone()
    changed[:, 1, 1:] += 3.0
    assert torch.equal(net(inputs, GRID), net(changed, GRID))


def test_residual_form_reads_the_low_trajectory_where_it_is_asked():
    net = residual_deeponet(POINTS, 8, along=[1], generator=seeded())
    inputs = torch.randn(4, 2, POINTS, generator=seeded())
    changed = inputs.clone()
    changed[:, 1, 7] += 1.0
    moved = (net(inputs, GRID) != net(changed, GRID)).any(0)[0]
    assert moved.tolist() == [k == 7 for k in range(POINTS)]


@pytest.mark.parametrize("along", [[], [1]])
def test_chains_together_equal_a_loop(along):
    if along:
        make = lambda k: residual_deeponet(POINTS, 8, along=along, generator=seeded(k))
    else:
        make = lambda k: paper_deeponet(2 * POINTS, 8, generator=seeded(k))
    nets = [make(k) for k in range(3)]
    inputs = torch.randn(4, 2, POINTS, generator=seeded())
    theta = Packing.of(nets[0]).pack(nets)
    together = chain_forward(nets[0])(theta, inputs, GRID)
    assert torch.allclose(together, torch.stack([n(inputs, GRID) for n in nets]), atol=1e-5)


def test_another_grid_is_refused():
    net = paper_deeponet(POINTS, 8, generator=seeded())
    with pytest.raises(ArgumentError, match=r"DeepONet\.inputs.*32 numbers.*got 64.*tied"):
        net(torch.zeros(2, 1, 64), torch.linspace(0, 5, 64))
