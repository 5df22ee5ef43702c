"""The causal rule against calculus, and where it could break."""

import numpy as np
import pytest
import torch

from mflno.operators import causal_convolution


def answer(forms, kind, points, dtype=torch.float64):
    poles, residues = forms.modes()
    time, step = forms.grid(points)
    values = torch.from_numpy(forms.signal(kind, time)).to(dtype)[None, None]
    found = causal_convolution(values, forms.pairs(poles), forms.pairs(residues), step)[0, 0]
    return found, forms.response(kind, poles[0, 0], residues[0, 0], time)


@pytest.mark.parametrize("kind", ["sine", "exponential"])
def test_error_against_closed_form_at_512_points(forms, kind):
    assert forms.error(*answer(forms, kind, 512)) <= 1e-4


@pytest.mark.parametrize("kind", ["sine", "exponential"])
def test_order_of_convergence(forms, kind):
    errors = [forms.error(*answer(forms, kind, points)) for points in (256, 512, 1024, 2048)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders.min() >= 3.5, orders


@pytest.mark.parametrize("kind", ["sine", "exponential"])
@pytest.mark.parametrize("points", [128, 512, 2048, 5000])
def test_single_precision_agrees_with_double(forms, kind, points):
    double = answer(forms, kind, points)[0]
    assert forms.error(answer(forms, kind, points, torch.float32)[0], double.numpy()) <= 1e-4


def test_constants_are_answered_alike_however_fine_the_grid(forms):
    poles, residues = forms.modes()
    for points, bound in ((128, 5e-3), (512, 1e-5), (2048, 1e-8)):
        time, step = forms.grid(points)
        truth = (residues * (np.exp(poles * time[:, None, None, None]) - 1) / poles).sum(-1)
        one = torch.ones(1, 1, points, dtype=torch.float64)
        found = causal_convolution(one, forms.pairs(poles), forms.pairs(residues), step)[0, 0]
        assert forms.error(found, truth.real[:, 0, 0]) <= bound


def noisy(*, chains=(), cases=3, channels=(2, 3), modes=4, points=150, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*chains, *shape, generator=generator).double()
    poles = torch.stack([-draw(*channels, modes).abs(), 4 * draw(*channels, modes)], dim=-1)
    return draw(channels[0], cases, points), poles, draw(*channels, modes, 2)


def test_several_channels_are_the_sum_of_each_alone():
    values, poles, residues = noisy()
    step = torch.tensor(0.1, dtype=torch.float64)
    whole = causal_convolution(values, poles, residues, step)
    for o in range(3):
        alone = [
            causal_convolution(
                values[i : i + 1],
                poles[i : i + 1, o : o + 1],
                residues[i : i + 1, o : o + 1],
                step,
            )[0]
            for i in range(2)
        ]
        assert torch.allclose(whole[o], alone[0] + alone[1], atol=1e-12)


@pytest.mark.parametrize("channels", [(2, 3), (9, 8)])
@pytest.mark.parametrize("at", [1, 2, 3, 5, 12, 15, 16, 17, 90])
def test_a_changed_input_changes_nothing_before_it(channels, at):
    values, poles, residues = noisy(channels=channels)
    step = torch.tensor(0.1, dtype=torch.float64)
    changed = values.clone()
    changed[..., at:] += 1.0
    before, after = (causal_convolution(v, poles, residues, step) for v in (values, changed))
    size = before.abs().max()
    assert (before - after)[..., :at].abs().max() <= 1e-13 * size
    assert (before - after)[..., at].abs().min() > 1e-4 * size


def test_silence_is_answered_by_silence():
    _, poles, residues = noisy()
    step = torch.tensor(0.1, dtype=torch.float64)
    values = torch.zeros(2, 3, 150, dtype=torch.float64)
    assert not causal_convolution(values, poles, residues, step).any()


def test_response_starts_from_rest():
    values, poles, residues = noisy()
    step = torch.tensor(0.1, dtype=torch.float64)
    assert causal_convolution(values, poles, residues, step)[..., 0].abs().max() < 1e-13


def resonant(forms, distance):
    poles = torch.tensor([[[[-distance, 2 * np.pi]]]], requires_grad=True, dtype=torch.float64)
    time, step = forms.grid(1024)
    values = torch.from_numpy(forms.signal("sine", time))[None, None]
    residues = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64, requires_grad=True)
    found = causal_convolution(values, poles, residues, step)
    found.square().sum().backward()
    return found[0, 0], poles.grad, residues.grad


def test_resonance_has_no_pole(forms):
    time, _ = forms.grid(1024)
    # Re ∫ e^{iw(t-s)} sin(ws) ds = t sin(wt) / 2
    truth = time * np.sin(2 * np.pi * time) / 2
    exact, *gradients = resonant(forms, 0.0)
    assert forms.error(exact, truth) < 1e-6
    for gradient in gradients:
        assert gradient is not None
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() > 0
    near, *_ = resonant(forms, 1e-9)
    assert forms.error(near, truth) < 1e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extremely_damped_modes_are_finite_with_finite_gradients(forms, dtype):
    time, step = forms.grid(512)
    rate = 1e4 / 20.0
    values = torch.from_numpy(forms.signal("sine", time)).to(dtype)[None, None]
    poles = torch.tensor([[[[-rate, 3.0]]]], dtype=torch.float64, requires_grad=True)
    residues = torch.tensor([[[[rate, 0.0]]]], dtype=torch.float64, requires_grad=True)
    found = causal_convolution(values, poles, residues, step)
    found.square().sum().backward()
    truth = forms.response("exponential", np.array([-rate + 3j]), np.array([rate]), time)
    slow = torch.from_numpy(forms.signal("exponential", time)).to(dtype)[None, None]
    assert forms.error(causal_convolution(slow, poles, residues, step)[0, 0], truth) < 2e-3
    assert torch.isfinite(found).all()
    for gradient in (poles.grad, residues.grad):
        assert gradient is not None
        assert torch.isfinite(gradient).all()


def test_homogeneous_response_is_added():
    values, poles, residues = noisy()
    _, _, initial = noisy(seed=1)
    step = torch.tensor(0.1, dtype=torch.float64)
    added = causal_convolution(values, poles, residues, step, initial)
    added = added - causal_convolution(values, poles, residues, step)
    time = step * torch.arange(150)
    waves = torch.view_as_complex(poles)[..., None].mul(time).exp()
    each = (torch.view_as_complex(initial)[..., None] * waves).real.sum(-2)
    assert torch.allclose(added, torch.einsum("iot,in->ont", each, values[..., 0]), atol=1e-11)


GRADIENTS = [((1, 1), 16), ((2, 1), 17), ((1, 2), 90), ((8, 8), 20)]


# Forward mode scripts its decompositions by the old compiler.
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
@pytest.mark.parametrize(("channels", "points"), GRADIENTS, ids=str)
def test_gradients_against_differences(channels, points):
    values, poles, residues = noisy(cases=1, channels=channels, modes=2, points=points)
    step = torch.tensor(0.1, dtype=torch.float64)
    arguments = [v.requires_grad_() for v in (values, poles, residues)]
    function = lambda v, p, r: causal_convolution(v, p, r, step)
    fast = points > 17
    assert torch.autograd.gradcheck(function, arguments, fast_mode=fast)
    assert torch.autograd.gradcheck(
        function,
        arguments,
        fast_mode=fast,
        check_forward_ad=True,
        check_backward_ad=False,
    )
    if points == 16:
        assert torch.autograd.gradgradcheck(function, arguments)


@pytest.mark.parametrize("channels", [(2, 3), (8, 8)])
def test_chains_in_one_call_equal_a_loop(channels):
    values, poles, residues = noisy(chains=(4,), channels=channels)
    step = torch.tensor(0.1, dtype=torch.float64)
    together = causal_convolution(values, poles, residues, step)
    loop = [causal_convolution(values[k], poles[k], residues[k], step) for k in range(4)]
    assert torch.allclose(together, torch.stack(loop), atol=1e-12)


def test_shared_signals_reach_every_chain():
    values, poles, residues = noisy(chains=(3,))
    step = torch.tensor(0.1, dtype=torch.float64)
    shared = causal_convolution(values[0], poles, residues, step)
    spread = causal_convolution(values[:1].expand_as(values), poles, residues, step)
    assert torch.allclose(shared, spread, atol=1e-12)


def test_no_tensor_of_cases_times_modes_times_time():
    cases, many, points = 12, 64, 512
    values = torch.randn(1, cases, points)
    poles = torch.rand(1, 1, many, 2, dtype=torch.float64).mul(-1).requires_grad_()
    residues = torch.rand(1, 1, many, 2, dtype=torch.float64, requires_grad=True)
    largest = 0

    def keep(tensor):
        nonlocal largest
        largest = max(largest, tensor.numel())
        return tensor

    step = torch.tensor(0.01, dtype=torch.float64)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        causal_convolution(values, poles, residues, step).sum().backward()
    assert 0 < largest <= 2 * many * points
