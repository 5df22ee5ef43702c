"""One graph for the compiler, one program for every batch and grid."""

import pytest
import torch
from torch.export import Dim

from mflno.operators import Architecture, build_operator

SMALL = Architecture(hidden=(4,))


def operator():
    net = build_operator(2, 1, SMALL, generator=torch.Generator().manual_seed(0))
    return net, torch.randn(4, 2, 200), torch.linspace(0, 5, 200)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_whole_graph_compiles_forward_and_backward():
    net, inputs, grid = operator()
    compiled = torch.compile(net, fullgraph=True)
    gradients = []
    for each in (net, compiled):
        net.zero_grad()
        found = each(inputs, grid)
        found.square().mean().backward()
        gradients.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
    assert torch.allclose(compiled(inputs, grid), net(inputs, grid), atol=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*gradients, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_export_serves_any_batch_and_any_grid():
    net, inputs, grid = operator()
    cases, points = Dim("cases", min=2, max=4096), Dim("points", min=32, max=1 << 17)
    shapes = {"inputs": {0: cases, 2: points}, "grid": {0: points}}
    program = torch.export.export(net, (inputs, grid), dynamic_shapes=shapes).module()
    for count, length in ((2, 33), (3, 80), (7, 301), (5, 2048)):
        other, time = torch.randn(count, 2, length), torch.linspace(0, 5, length)
        assert torch.allclose(program(other, time), net(other, time), atol=1e-5)
