import numpy as np
import pytest

from mflno.multifidelity.moving_poles import MovingPoles, monomials, unit_waves

POLES = np.array([[-0.3 + 2.0j, -1.0 + 5.0j]])
OMEGA = 2.1


def exact(pole, time):
    """∫_0^t e^{μ(t-s)} sin(ωs) ds in closed form."""
    top = OMEGA * np.exp(pole * time) - OMEGA * np.cos(OMEGA * time)
    return (top - pole * np.sin(OMEGA * time)) / (OMEGA**2 + pole**2)


def errors(points):
    time = np.linspace(0.0, 20.0, points)
    wave, slope = unit_waves(np.sin(OMEGA * time)[None, None], POLES, time[1])
    shift = 1e-5
    found = []
    for mode, pole in enumerate(POLES[0]):
        change = (exact(pole + shift, time) - exact(pole - shift, time)) / (2 * shift)
        found.append(abs(wave[0, 0, mode] - exact(pole, time)).max())
        found.append(abs(slope[0, 0, mode] - change).max())
    return np.array(found)


def test_waves_and_their_slopes_agree_with_the_closed_form_at_fifth_order():
    coarse, fine = errors(257), errors(513)
    assert fine.max() < 1e-6
    assert np.log2(coarse / fine).min() > 4.5


def test_waves_are_causal_and_start_at_zero():
    generator = np.random.default_rng(0)
    signal = generator.standard_normal((2, 1, 129))
    poles = np.repeat(POLES, 2, axis=0)
    before = unit_waves(signal, poles, 0.1, slopes=False)[0]
    changed = signal.copy()
    changed[..., 64:] += 1.0
    after = unit_waves(changed, poles, 0.1, slopes=False)[0]
    assert abs(before[..., 0]).max() == 0
    assert abs(after - before)[..., :64].max() < 1e-12 * abs(before).max() + 1e-12
    assert abs(after - before)[..., 64:].max() > 1e-2


@pytest.mark.parametrize(("channels", "outputs"), [(1, 1), (2, 3), (0, 2)])
def test_derivatives_agree_with_differences(channels, outputs):
    generator = np.random.default_rng(1)
    model = MovingPoles(2, 1, channels, outputs)
    grid = np.linspace(0.0, 10.0, 129)
    phase = 6 * generator.random((3, channels, 1))
    signal = np.sin(phase * grid + 1.0)
    numbers = 0.5 * generator.standard_normal((3, model.count))
    numbers[:, 2:4] *= 4
    answer, columns = model.linearised(numbers, signal, grid)
    assert np.allclose(answer, model.answer(numbers, signal, grid), atol=1e-13)
    for place, unit in enumerate(np.eye(model.count)):
        ahead = model.answer(numbers + 1e-6 * unit, signal, grid)
        behind = model.answer(numbers - 1e-6 * unit, signal, grid)
        assert np.allclose(columns[:, place], (ahead - behind) / 2e-6, atol=1e-7)


def test_numbers_are_polynomials_of_the_case():
    table, degrees = monomials(np.array([[0.5, -1.0]]), 2)
    assert table.tolist() == [[1.0, 0.5, -1.0, 0.25, -0.5, 1.0]]
    assert degrees.tolist() == [0, 1, 1, 2, 2, 2]


def test_a_mode_grows_never_and_is_bounded_by_the_step():
    model = MovingPoles(1, 0, 1, 1)
    grid = np.linspace(0.0, 1.0, 65)
    wild = np.full((1, model.count), 40.0)
    answer, columns = model.linearised(wild, np.ones((1, 1, 65)), grid)
    assert np.isfinite(answer).all()
    assert np.isfinite(columns).all()
