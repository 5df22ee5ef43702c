"""The three rules behind one door, and what the published one gets wrong."""

import numpy as np
import pytest
import torch

from mflno.operators import (
    RULES,
    Causal,
    LaplaceLayer,
    Published,
    Residue,
    Spectrum,
    causal_convolution,
    published_response,
    residue_parts,
)


def signals(forms, kind, points, count):
    time, step = forms.grid(points)
    values = torch.from_numpy(forms.signal(kind, time))[None, None]
    return values.expand(count, 1, points), time, step


@pytest.mark.parametrize("kind", ["sine", "exponential"])
def test_residue_rule_against_closed_form(forms, kind):
    poles, residues = forms.modes()
    errors = []
    for points in (512, 1024, 2048):
        values, time, step = signals(forms, kind, points, 1)
        one, other = residue_parts(values, forms.pairs(poles), forms.pairs(residues), step)
        truth = forms.response(kind, poles[0, 0], residues[0, 0], time)
        errors.append(forms.error((one + other)[0, 0], truth))
    assert errors[0] <= 1e-4
    assert np.log2(np.divide(errors[:-1], errors[1:])).min() >= 1.9


def test_parts_of_a_line_are_those_of_its_double_pole(forms):
    poles, residues = forms.modes(count=3)
    time, step = forms.grid(300)
    line = torch.from_numpy(2.0 - 0.7 * time)[None, None]
    steady, transient = residue_parts(line, forms.pairs(poles), forms.pairs(residues), step)
    mu, beta = poles[0, 0][:, None], residues[0, 0][:, None]
    truth = (beta * (2.0 / mu - 0.7 / mu**2) * np.exp(mu * time)).sum(0).real
    assert forms.error(transient[0, 0], truth) < 1e-12
    truth = -(beta * (2.0 / mu - 0.7 / mu**2 - 0.7 * time / mu)).sum(0).real
    assert forms.error(steady[0, 0], truth) < 1e-12


def test_steady_part_repeats_and_transient_part_is_a_sum_of_the_modes(forms):
    poles, residues = forms.modes(count=1)
    values, time, step = signals(forms, "sine", 2001, 1)
    steady, transient = residue_parts(
        values[..., :-1], forms.pairs(poles), forms.pairs(residues), step
    )
    assert torch.allclose(steady[..., :100], steady[..., 100:200], atol=1e-9)
    mu = poles[0, 0, 0]
    one = np.exp(mu * time[:-1])
    basis = np.stack([one.real, one.imag], 1)
    left = np.linalg.lstsq(basis, transient[0, 0].numpy(), rcond=None)[1]
    assert left < 1e-16


def test_residue_parts_of_several_channels(forms):
    poles, residues = forms.modes(channels=(2, 3))
    values, time, step = signals(forms, "sine", 2048, 2)
    one, other = residue_parts(values, forms.pairs(poles), forms.pairs(residues), step)
    for o in range(3):
        truth = sum(forms.response("sine", poles[i, o], residues[i, o], time) for i in range(2))
        assert forms.error((one + other)[o, 0], truth) < 1e-3


def published_error(forms, channels):
    poles, residues = forms.modes(channels=(channels, channels), count=4, seed=1)
    values, _, step = signals(forms, "sine", 2048, channels)
    pole, residue = forms.pairs(poles), forms.pairs(residues)
    truth = causal_convolution(values, pole, residue, step)
    return forms.error(published_response(values, pole, residue, step), truth.numpy())


def test_published_rule_is_right_for_one_channel(forms):
    assert published_error(forms, 1) < 1e-3


@pytest.mark.parametrize("channels", [2, 3])
def test_published_rule_contracts_the_wrong_index_for_more(forms, channels):
    assert published_error(forms, channels) > 0.1


def reference(x, weights_pole, weights_residue, t):
    """The public layer's forward pass as its authors wrote it, for one 1-D layer."""
    alpha = torch.fft.fft(x)
    dt = (t[1] - t[0]).item()
    omega = torch.fft.fftfreq(t.shape[0], dt) * 2 * np.pi * 1j
    omega = omega[..., None, None, None]
    term = torch.div(1, torch.sub(omega, weights_pole))
    hw = weights_residue * term
    residue2 = torch.einsum("bix,xiok->box", alpha, hw)
    residue1 = torch.einsum("bix,xiok->bok", alpha, -hw)
    x1 = torch.real(torch.fft.ifft(residue2, n=x.size(-1)))
    pole_time = torch.einsum("iok,z->iokz", weights_pole, t.type(torch.complex64))
    x2 = torch.real(torch.einsum("bix,ioxz->boz", residue1, torch.exp(pole_time)))
    return x1 + x2 / x.size(-1)


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_published_rule_is_the_public_code(channels):
    generator = torch.Generator().manual_seed(0)
    layer = LaplaceLayer(channels, channels, 5, rule=Published(), generator=generator)
    grid = torch.linspace(0.0, 2.0, 64)
    values = torch.randn(4, channels, 64, generator=generator)
    pole, residue = (torch.view_as_complex(layer.get_parameter(n)) for n in ("pole", "residue"))
    truth = reference(values, pole, residue, grid).transpose(0, 1)
    assert torch.allclose(layer(values.transpose(0, 1), grid), truth, atol=2e-5)


def test_published_start_is_the_public_one():
    layer = LaplaceLayer(
        3, 3, 200, rule=Published(), generator=torch.Generator().manual_seed(0)
    )
    for name in ("pole", "residue"):
        value = layer.get_parameter(name)
        assert value.min() >= 0
        assert 0.99 / 9 < value.max() < 1 / 9


def test_rules_have_names_and_agree():
    generator = torch.Generator().manual_seed(0)
    layer = LaplaceLayer(2, 2, 4, generator=generator)
    other = LaplaceLayer(2, 2, 4, rule=RULES["residue"](), generator=generator)
    other.load_state_dict(layer.state_dict())
    grid = torch.linspace(0, 20, 2000)
    values = torch.sin(torch.arange(1, 4)[:, None] * 2 * torch.pi * grid / 20.01).expand(
        2, 3, -1
    )
    assert isinstance(other.rule, Residue)
    assert isinstance(RULES["causal"](), Causal)
    assert torch.allclose(layer(values, grid), other(values, grid), atol=3e-3)


@pytest.mark.parametrize("rule", [Causal(), Residue(), Causal(initial_state=True)])
def test_poles_are_damped_whatever_the_parameters(rule):
    layer = LaplaceLayer(2, 2, 4, rule=rule, generator=torch.Generator().manual_seed(0))
    for size in (-30.0, 3.0, 30.0):
        layer.get_parameter("decay").data.fill_(size)
        assert (layer.poles().real < 0).all()


def test_growth_is_capped():
    layer = LaplaceLayer(
        1, 1, 4, rule=Causal(growth=0.1), generator=torch.Generator().manual_seed(0)
    )
    layer.get_parameter("decay").data.fill_(-40.0)
    assert torch.allclose(layer.poles().real, torch.tensor(0.1, dtype=torch.float64))


def test_real_pairs_are_what_is_stored():
    layer = LaplaceLayer(2, 3, 4, generator=torch.Generator())
    assert not any(p.is_complex() for p in layer.parameters())
    assert layer.poles().shape == layer.residues().shape == (2, 3, 4)


def test_start_spreads_over_the_band():
    spectrum = Spectrum(span=20.0, band=12.0)
    layer = LaplaceLayer(3, 3, 8, spectrum=spectrum, generator=torch.Generator().manual_seed(0))
    poles = layer.poles()
    bins = (poles.imag / 1.5).floor().long()
    assert (bins == torch.arange(8)).all()
    assert (poles.real <= -0.99 / 20).all()


def test_response_at_the_start_is_of_order_one():
    grid = torch.linspace(0, 20, 512)
    generator = torch.Generator().manual_seed(0)
    values = torch.sin(torch.rand(3, 40, 1, generator=generator) * 6 * grid)
    sizes = [
        LaplaceLayer(3, 3, 8, generator=generator)(values, grid).std().item() for _ in range(8)
    ]
    assert min(sizes) > 0.1
    assert max(sizes) < 10


@pytest.mark.parametrize("name", sorted(RULES))
def test_grid_and_device_come_with_the_data(name):
    layer = LaplaceLayer(
        1, 1, 3, rule=RULES[name](), generator=torch.Generator().manual_seed(0)
    )
    time = torch.linspace(0, 10, 400)
    one, other = (layer(torch.sin(t)[None, None], t) for t in (time, time * 1.5))
    assert one.shape == other.shape
    assert not torch.allclose(one, other, atol=1e-3)
    fine = torch.linspace(0, 10, 799)
    again = layer(torch.sin(fine)[None, None], fine)[..., ::2]
    assert torch.allclose(one, again, atol=5e-2)
