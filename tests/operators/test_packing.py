"""Rows of parameters and back."""

import torch

from mflno.operators import Packing, build_operator


def test_rows_hold_every_parameter_once():
    nets = [build_operator(1, 1, generator=torch.Generator().manual_seed(k)) for k in range(2)]
    layout = Packing.of(nets[0])
    rows = layout.pack(nets)
    assert rows.shape == (2, 947)
    back = layout.unpack(rows)
    for k, net in enumerate(nets):
        for name, value in net.named_parameters():
            assert torch.equal(back[name][k], value)
