"""Where poles start comes from the data."""

import pytest
import torch

from mflno.operators import Spectrum


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_band_follows_the_signal_in_any_unit(scale):
    time = scale * torch.linspace(0, 20, 1024, dtype=torch.float64)
    values = torch.sin(3 * 2 * torch.pi * time / scale)[None, None] + 7.0
    found = Spectrum.of(values, time)
    assert found.span == pytest.approx(20 * scale)
    assert 1.0 < found.band * scale / (3 * 2 * torch.pi) < 2.0


def test_constant_signal_has_a_band():
    found = Spectrum.of(torch.ones(2, 1, 64), torch.linspace(0, 1, 64))
    assert 0 < found.band < 100


def test_finer_grid_same_band():
    bands = []
    for points in (256, 2048):
        time = torch.linspace(0, 20, points)
        bands.append(Spectrum.of(torch.sin(5 * time)[None, None], time).band)
    assert bands[0] == pytest.approx(bands[1], rel=0.05)
