"""One graph for the compiler, one program for every batch and grid.

Both run in a fresh interpreter: the shape checks of tests are Python that no compiler reads.
"""

import subprocess
import sys

import pytest
import torch
from torch.export import Dim
from torch.func import functional_call, grad, vmap

from mflno.operators import Architecture, Packing, build_operator

SMALL = Architecture(hidden=(4,))


def operator():
    net = build_operator(2, 1, SMALL, generator=torch.Generator().manual_seed(0))
    return net, torch.randn(4, 2, 200), torch.linspace(0, 5, 200)


def compiled():
    net, inputs, grid = operator()
    whole = torch.compile(net, fullgraph=True)
    gradients = []
    for each in (net, whole):
        net.zero_grad()
        found = each(inputs, grid)
        found.square().mean().backward()
        gradients.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
    assert torch.allclose(whole(inputs, grid), net(inputs, grid), atol=1e-5)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*gradients, strict=True))


def exported():
    net, inputs, grid = operator()
    cases, points = Dim("cases", min=2, max=4096), Dim("points", min=32, max=1 << 17)
    shapes = {"inputs": {0: cases, 2: points}, "grid": {0: points}}
    program = torch.export.export(net, (inputs, grid), dynamic_shapes=shapes).module()
    for count, length in ((2, 33), (3, 80), (7, 301), (5, 2048)):
        other, time = torch.randn(count, 2, length), torch.linspace(0, 5, length)
        assert torch.allclose(program(other, time), net(other, time), atol=1e-5)


def transformed():
    net, inputs, grid = operator()
    layout = Packing.of(net)

    def loss(row):
        arguments = (inputs, grid)
        out = functional_call(net, layout.unpack(row), arguments, {"checked": False})
        return out.square().mean()

    theta = layout.pack([net, net])
    each = vmap(grad(loss))
    assert torch.allclose(torch.compile(each)(theta), each(theta), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compiled", "transformed", "exported"])
def test_one_graph_serves(name):
    command = [sys.executable, "-W", "ignore", __file__, name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]


if __name__ == "__main__":
    runs = {"compiled": compiled, "transformed": transformed, "exported": exported}
    runs[sys.argv[1]]()
