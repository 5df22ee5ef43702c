"""The operator around the layer: parts, chains, grids, poles."""

import pytest
import torch
from torch.func import functional_call, grad, vmap

from mflno.operators import (
    Architecture,
    Causal,
    LaplaceBlock,
    LaplaceLayer,
    LaplaceOperator,
    Packing,
    Pointwise,
    Projection,
    Residue,
    build_operator,
    chain_forward,
    identity,
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def wave(cases=5, channels=2, points=128, seed=0):
    return torch.randn(cases, channels, points, generator=seeded(seed)), torch.linspace(
        0, 10, points
    )


SIZES = {
    "paper": Architecture(),
    "deep": Architecture(width=2, modes=3, hidden=(5, 4), layers=2, inner=torch.sin),
    "start": Architecture(rule=Causal(initial_state=True)),
}


@pytest.mark.parametrize("name", SIZES)
def test_chains_together_equal_a_loop(name):
    nets = [build_operator(2, 1, SIZES[name], generator=seeded(k)) for k in range(3)]
    inputs, grid = wave()
    theta = Packing.of(nets[0]).pack(nets)
    together = chain_forward(nets[0])(theta, inputs, grid)
    loop = torch.stack([net(inputs, grid) for net in nets])
    assert together.shape == (3, 5, 1, 128)
    assert torch.allclose(together, loop, atol=1e-5)


def test_vmapped_gradients_equal_a_loop():
    nets = [build_operator(2, 1, generator=seeded(k)).double() for k in range(3)]
    inputs, grid = (value.double() for value in wave())
    net, layout = nets[0], Packing.of(nets[0])

    def loss(row):
        arguments = (inputs, grid)
        out = functional_call(net, layout.unpack(row), arguments, {"checked": False})
        return out.square().mean()

    theta = layout.pack(nets)
    together = vmap(grad(loss))(theta)
    for k, one in enumerate(nets):
        (one(inputs, grid).square().mean()).backward()
        parts = [p.grad.reshape(-1) for p in one.parameters() if p.grad is not None]
        assert torch.allclose(together[k], torch.cat(parts), rtol=1e-9, atol=1e-13)


def test_linear_operator_is_affine():
    sizes = Architecture(hidden=(2,), activation=identity)
    net = build_operator(1, 1, sizes, generator=seeded()).double()
    inputs, grid = (value.double() for value in wave(channels=1))
    zero = net(torch.zeros_like(inputs), grid)
    one, other = net(inputs, grid) - zero, net(inputs.flip(0), grid) - zero
    both = net(2 * inputs + 3 * inputs.flip(0), grid) - zero
    assert torch.allclose(both, 2 * one + 3 * other, atol=1e-12)


@pytest.mark.parametrize("rule", ["causal", "start", "residue"])
@pytest.mark.parametrize("hidden", [(2,), (4,), (2, 3), ()], ids=str)
@pytest.mark.parametrize("activation", [identity, torch.sin])
def test_maps_taken_into_the_kernel_change_nothing(rule, hidden, activation):
    rules = {"causal": Causal(), "start": Causal(initial_state=True), "residue": Residue()}
    sizes = Architecture(hidden=hidden, activation=activation, rule=rules[rule])
    nets = [build_operator(2, 1, sizes, generator=seeded(k)).double() for k in range(2)]
    inputs, grid = (value.double() for value in wave(points=64))
    (block,), gradients = nets[0].blocks, []
    plain = nets[0].lift(inputs.transpose(0, 1))
    assert isinstance(block, LaplaceBlock)
    plain = block.laplace(plain, grid) + block.bypass(plain)
    plain = nets[0].projection(plain).transpose(0, 1)
    whole = nets[0](inputs, grid)
    assert torch.allclose(whole, plain, atol=1e-11)
    for found in (whole, plain):
        nets[0].zero_grad()
        found.square().sum().backward()
        parts = [p.grad.reshape(-1) for p in nets[0].parameters() if p.grad is not None]
        gradients.append(torch.cat(parts))
    assert torch.allclose(*gradients, rtol=1e-8, atol=1e-8)
    together = chain_forward(nets[0])(Packing.of(nets[0]).pack(nets), inputs, grid)
    assert torch.allclose(together[1], nets[1](inputs, grid), atol=1e-11)


def test_first_layer_sees_no_future():
    net = build_operator(2, 1, generator=seeded()).double()
    inputs, grid = (value.double() for value in wave())
    changed = inputs.clone()
    changed[..., 60:] = 7.0
    before, after = net(inputs, grid), net(changed, grid)
    assert torch.allclose(before[..., :60], after[..., :60], atol=1e-12)


def test_parts_are_passed_in():
    lift = Pointwise(3, 2, generator=seeded())
    layer = LaplaceLayer(2, 2, 4, generator=seeded())
    block = LaplaceBlock(layer, Pointwise(2, 2, generator=seeded()), torch.tanh)
    projection = Projection([Pointwise(2, 4, generator=seeded())], identity)
    inputs, grid = wave(channels=3)
    net = LaplaceOperator(lift, [block], projection)
    assert net(inputs, grid).shape == (5, 4, 128)
    by_hand = lift(inputs.transpose(0, 1))
    by_hand = torch.tanh(layer(by_hand, grid) + block.bypass(by_hand))
    assert torch.allclose(net(inputs, grid), projection(by_hand).transpose(0, 1), atol=1e-6)


def test_poles_and_residues_are_readable():
    net = build_operator(2, 1, Architecture(layers=2), generator=seeded())
    assert [p.shape for p in net.poles()] == [(3, 3, 8)] * 2
    assert [r.shape for r in net.residues()] == [(3, 3, 8)] * 2
    assert all((p.real < 0).all() for p in net.poles())


def test_same_seed_same_operator():
    one, again, other = (build_operator(1, 1, generator=seeded(k)) for k in (0, 0, 1))
    inputs, grid = wave(channels=1)
    assert torch.equal(one(inputs, grid), again(inputs, grid))
    assert not torch.equal(one(inputs, grid), other(inputs, grid))


def test_single_precision_operator_agrees_with_double():
    net = build_operator(2, 1, generator=seeded())
    inputs, grid = wave(points=2048)
    single = net(inputs, grid)
    double = net.double()(inputs.double(), grid.double())
    assert (single - double).norm() <= 1e-4 * double.norm()
