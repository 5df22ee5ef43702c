"""Honest bands from few trajectories: mean coverage over many small training sets."""

from functools import partial

import numpy as np
import pytest
from scipy import special, stats

from mflno.bayes.bandscale import (
    amplitude_scale,
    checked_radius,
    pooled_scale,
    scaled_residuals,
    student_scale,
)
from mflno.bayes.calibrate import calibration
from mflno.errors import ArgumentError


def paths(generator, count, *, spread=0.3, modes=4):
    """z = a u: Gaussian Fourier shapes (one fixed for modes=0), log-normal amplitudes."""
    time = np.linspace(0, 1, 48)
    if modes == 0:
        amplitude = np.exp(spread * generator.standard_normal((count, 1, 1)))
        return amplitude * generator.standard_normal((count, 1, 1)) * np.sin(6.28 * time)
    phase = 2 * np.pi * np.arange(1, modes + 1)[:, None] * time
    waves = np.concatenate([np.cos(phase), np.sin(phase)])
    shapes = generator.standard_normal((count, 1, 2 * modes)) @ waves / np.sqrt(modes)
    return np.exp(spread * generator.standard_normal((count, 1, 1))) * shapes


def mean_coverage(generator, fit, count, *, repeats=250, **kind):
    """Mean over training sets of the share inside, and its Monte Carlo error."""
    later = np.sort(np.abs(paths(generator, 5000, **kind)), axis=None)
    radii = [fit(paths(generator, count, **kind)).radius(0.95) for _ in range(repeats)]
    shares = np.searchsorted(later, radii) / later.size
    return shares.mean(), shares.std() / np.sqrt(repeats)


@pytest.mark.parametrize("count", [5, 9])
@pytest.mark.parametrize("spread", [0.0, 0.6])
@pytest.mark.parametrize("modes", [0, 1, 6])
def test_amplitude_scale_is_honest_from_few_trajectories(count, spread, modes):
    generator = np.random.default_rng(3)
    kind = {"spread": spread, "modes": modes}
    share, error = mean_coverage(generator, amplitude_scale, count, **kind)
    assert 0.93 - 3 * error < share < 0.97 + 3 * error


def test_logarithm_overstates_amplitudes_of_one_gaussian_mode():
    generator = np.random.default_rng(14)
    logarithm = partial(amplitude_scale, power=0.0)
    share, error = mean_coverage(generator, logarithm, 9, spread=0.0, modes=0)
    assert share > 0.97 + 3 * error


def test_pooled_quantile_is_too_narrow_for_few_trajectories_and_right_for_many():
    generator = np.random.default_rng(4)
    few, error = mean_coverage(generator, pooled_scale, 5, modes=1)
    assert few < 0.93 - 3 * error
    many, error = mean_coverage(generator, pooled_scale, 200, repeats=60, modes=1)
    assert abs(many - 0.95) < 0.002 + 3 * error


@pytest.mark.parametrize("count", [5, 9])
def test_student_scale_is_honest_for_gaussian_shapes(count):
    generator = np.random.default_rng(5)
    share, error = mean_coverage(generator, student_scale, count)
    assert 0.94 - 3 * error < share < 0.97 + 3 * error


def test_student_scale_recovers_the_student_law():
    """Amplitudes sqrt(n / chi^2_n) make z Student with n degrees of freedom."""
    generator = np.random.default_rng(6)
    amplitude = np.sqrt(7 / generator.chisquare(7, (20_000, 1, 1)))
    scaled = 2 * amplitude * np.where(np.arange(50) % 2, 1.0, -1.0)
    fit = student_scale(scaled)
    assert fit.dof == pytest.approx(7, rel=0.05)
    assert fit.scale == pytest.approx(2, rel=0.02)
    assert fit.radius(0.9) == pytest.approx(2 * stats.t(7).ppf(0.95), rel=0.02)


@pytest.mark.parametrize("power", [0.0, 1 / 3, 1.0])
def test_amplitude_quantiles_of_a_flat_shape_are_the_predictive_student_law(power):
    amplitudes = np.array([0.7, 1.1, 1.6, 1.0])
    scaled = amplitudes[:, None, None] * np.where(np.arange(40) % 2, 1.0, -1.0)
    seen = amplitudes**power if power else np.log(amplitudes)
    later = seen.mean() + seen.std(ddof=1) * np.sqrt(1.25) * special.stdtrit(3, 0.9)
    known = later ** (1 / power) if power else np.exp(later)
    found = amplitude_scale(scaled, power=power).radius(0.9)
    assert found == pytest.approx(known, rel=5e-3)


def test_prior_pulls_the_spread_and_vanishes_with_data():
    generator = np.random.default_rng(8)
    few, many = paths(generator, 3, spread=0.0), paths(generator, 2000, spread=0.0)
    pulled = lambda scaled: amplitude_scale(scaled, prior_count=4.0, prior_spread=1.0)
    assert pulled(few).radius(0.95) > 1.3 * amplitude_scale(few).radius(0.95)
    assert pulled(many).radius(0.95) == pytest.approx(
        amplitude_scale(many).radius(0.95), rel=0.02
    )


@pytest.mark.parametrize("fit", [pooled_scale, amplitude_scale, student_scale])
def test_radius_follows_the_scale_of_residuals(fit):
    scaled = paths(np.random.default_rng(9), 6)
    assert fit(3 * scaled).radius(0.9) == pytest.approx(3 * fit(scaled).radius(0.9))


@pytest.mark.parametrize("fit", [pooled_scale, amplitude_scale, student_scale])
def test_law_has_the_bands_of_the_radius(fit):
    generator = np.random.default_rng(10)
    scale = fit(paths(generator, 8))
    mean, std = generator.normal(size=(3, 1, 5)), generator.uniform(0.1, 2, (3, 1, 5))
    law = scale.law(mean, std)
    for level in (0.5, 0.9, 0.95):
        reach = (law.quantile(0.5 + level / 2) - mean) / std
        np.testing.assert_allclose(reach, scale.radius(level), rtol=0.01)
        np.testing.assert_allclose(mean - law.quantile(0.5 - level / 2), std * reach)


def test_calibrated_law_scores_better_than_an_overconfident_one():
    generator = np.random.default_rng(12)
    truth, seen = paths(generator, 200), paths(generator, 7)
    std = np.full_like(truth, 0.2)
    law = amplitude_scale(seen / 0.2).law(np.zeros_like(truth), std)
    honest = calibration(law, truth, generator)
    raw = calibration(pooled_scale(np.ones((2, 1, 9))).law(0 * truth, std), truth, generator)
    assert 0.92 < honest.levels[-1].coverage.value < 0.99
    assert honest.crps.value < raw.crps.value


def test_checked_radius_states_its_uncertainty():
    """The 90 % interval holds the radius of a large sample about nine times in ten."""
    generator = np.random.default_rng(13)
    target = pooled_scale(paths(generator, 5000)).radius(0.8)
    fit = pooled_scale
    reports = [checked_radius(fit, paths(generator, 9), 0.8) for _ in range(150)]
    held = np.mean([report.low <= target <= report.high for report in reports])
    assert 0.9 - 0.08 < held < 0.98
    truthful = np.mean([report.coverage for report in reports])
    assert abs(truthful - mean_of_eight(generator)) < 0.015


def mean_of_eight(generator):
    """Mean coverage at 0.8 of pooled radii from eight trajectories."""
    later = np.sort(np.abs(paths(generator, 5000)), axis=None)
    radii = [pooled_scale(paths(generator, 8)).radius(0.8) for _ in range(300)]
    return (np.searchsorted(later, radii) / later.size).mean()


def test_exact_points_count_as_held_and_errors_without_deviation_are_refused():
    truth, mean, std = np.ones((2, 1, 3)), np.ones((2, 1, 3)), np.ones((2, 1, 3))
    std[..., 0] = 0.0
    assert np.all(scaled_residuals(truth, mean, std) == 0)
    with pytest.raises(ArgumentError, match="2 points without"):
        scaled_residuals(truth + 1, mean, std)
    with pytest.raises(ArgumentError, match="some error"):
        amplitude_scale(0 * truth)
    with pytest.raises(ArgumentError, match="2 or more"):
        amplitude_scale(truth[:1])
    with pytest.raises(ArgumentError, match="3 or more"):
        checked_radius(amplitude_scale, truth)
    with pytest.raises(ArgumentError, match="power"):
        amplitude_scale(truth, power=2.0)
    with pytest.raises(ArgumentError, match="prior"):
        amplitude_scale(truth, prior_count=-1.0)
