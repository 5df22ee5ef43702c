"""Conformal bands: exact counts, coverage where promised, refusal where the counts forbid."""

import numpy as np
import pytest

from mflno.bayes.conformal import (
    jackknife_band,
    jackknife_minmax_band,
    mean_score,
    needed,
    risk_radius,
    split_band,
    split_radius,
    sup_score,
)
from mflno.errors import ArgumentError


@pytest.fixture
def generator():
    return np.random.default_rng(11)


def trajectories(generator, *shape):
    """Smooth dependent paths of uneven amplitude."""
    waves = np.sin(np.arange(1, 4)[:, None] * np.linspace(0, 6, 32))
    amplitude = np.exp(0.5 * generator.standard_normal((*shape, 1, 1)))
    return amplitude * (generator.standard_normal((*shape, 1, 3)) @ waves)


@pytest.mark.parametrize(
    ("level", "count"), [(0.95, 19), (0.9, 9), (0.8, 4), (0.5, 1), (0.99, 99)]
)
def test_fewest_trajectories_are_those_of_the_rank_formula(level, count):
    assert needed(level) == count
    split_radius(np.ones(count), level)
    if count > 1:
        with pytest.raises(ArgumentError, match=f"takes {count} or more"):
            split_radius(np.ones(count - 1), level)


@pytest.mark.parametrize("count", [19, 30])
def test_split_radius_holds_whole_trajectories_exactly_as_promised(generator, count):
    """Coverage of the rank k of N scores is k / (N + 1), neither less nor more."""
    repeats = 20_000
    scores = sup_score(trajectories(generator, repeats * (count + 1))).reshape(repeats, -1)
    inside = [row[-1] <= split_radius(row[:-1], 0.95) for row in scores]
    exact = np.ceil((count + 1) * 0.95 - 1e-9) / (count + 1)
    assert abs(np.mean(inside) - exact) < 3 * np.sqrt(exact * (1 - exact) / repeats)


def test_mean_score_is_the_root_mean_square_over_outputs_and_time():
    scaled = np.array([[[3.0, 0.0], [0.0, 4.0]]])
    np.testing.assert_allclose(mean_score(scaled), [2.5])
    np.testing.assert_allclose(sup_score(-scaled), [4.0])


def test_scaled_sup_band_contains_the_trajectory_iff_its_score_is_below(generator):
    truth = trajectories(generator, 40)
    std = generator.uniform(0.5, 2, truth.shape)
    scores = sup_score(truth / std)
    low, high = split_band(np.zeros_like(truth), std, radius := float(np.median(scores)))
    whole = ((low <= truth) & (truth <= high)).all((1, 2))
    np.testing.assert_array_equal(whole, scores <= radius)


def least_squares(x, y):
    return np.linalg.lstsq(x, y, rcond=None)[0]


def test_jackknife_plus_covers_where_a_naive_band_does_not(generator):
    """Least squares with 8 unknowns from 20 cases: training residuals are far too small."""
    cases, unknowns, repeats = 20, 8, 800
    hits, naive = [], []
    for _ in range(repeats):
        x = generator.standard_normal((cases + 1, unknowns))
        y = x @ generator.standard_normal(unknowns) + generator.standard_normal(cases + 1)
        keeps = ~np.eye(cases, dtype=bool)
        weights = np.stack([least_squares(x[:cases][k], y[:cases][k]) for k in keeps])
        left = np.abs(y[:cases] - (weights * x[:cases]).sum(1))
        guess = (weights @ x[-1])[:, None, None, None]
        low, high = jackknife_band(guess, left[:, None, None], 0.9)
        hits.append(low.item() <= y[-1] <= high.item())
        full = least_squares(x[:cases], y[:cases])
        reach = np.quantile(np.abs(y[:cases] - x[:cases] @ full), 0.9)
        naive.append(abs(y[-1] - x[-1] @ full) <= reach)
    error = np.sqrt(0.09 / repeats)
    assert np.mean(hits) > 0.9 - 3 * error
    assert np.mean(hits) < 0.97
    assert np.mean(naive) < 0.75


def test_jackknife_with_one_model_is_split_conformal_at_each_point(generator):
    radii = generator.exponential(size=(19, 2, 3))
    low, high = jackknife_band(np.zeros((19, 4, 2, 3)), radii, 0.95)
    np.testing.assert_allclose(high, np.broadcast_to(radii.max(0), high.shape))
    np.testing.assert_allclose(low, -high)
    known = [[split_radius(radii[:, o, t], 0.9) for t in range(3)] for o in range(2)]
    _, high = jackknife_band(np.zeros((19, 1, 2, 3)), radii, 0.9)
    np.testing.assert_allclose(high[0], known)


def test_scaled_jackknife_multiplies_by_the_new_deviation(generator):
    radii, guess = generator.exponential(size=(9, 1, 3)), generator.normal(size=(9, 2, 1, 3))
    scales = np.full(guess.shape, 3.0)
    plain = jackknife_band(guess, 3 * radii, 0.9)
    np.testing.assert_allclose(jackknife_band(guess, radii, 0.9, scales=scales), plain)


def test_minmax_is_wider_than_jackknife_plus(generator):
    guess, radii = generator.normal(size=(12, 5, 1, 4)), generator.exponential(size=(12, 1, 4))
    low, high = jackknife_band(guess, radii, 0.85)
    wide_low, wide_high = jackknife_minmax_band(guess, radii, 0.85)
    assert np.all(wide_low <= low)
    assert np.all(high <= wide_high)


@pytest.mark.parametrize(("count", "worst"), [(19, 1.0), (9, 0.5), (7, 0.4)])
def test_risk_radius_holds_the_share_of_points_in_expectation(generator, count, worst):
    repeats = 2000
    scaled = trajectories(generator, repeats, count + 1)
    share = [
        (np.abs(rows[-1]) <= risk_radius(rows[:-1], 0.95, worst=worst)).mean()
        for rows in scaled
    ]
    assert np.mean(share) > 0.95 - 3 * np.std(share) / np.sqrt(repeats)
    assert np.mean(share) < 0.999


def test_risk_radius_is_the_smallest_that_meets_its_inequality(generator):
    scaled = trajectories(generator, 9)
    radius = risk_radius(scaled, 0.9, worst=0.5)
    bound = lambda r: 0.9 * (np.abs(scaled) > r).mean() + 0.5 / 10
    assert bound(radius) <= 0.1
    below = np.abs(scaled)[np.abs(scaled) < radius].max()
    assert bound(below * (1 - 1e-9)) > 0.1


def test_bands_without_guarantee_are_refused(generator):
    scaled = trajectories(generator, 9)
    with pytest.raises(ArgumentError, match="19 or more"):
        risk_radius(scaled, 0.95)
    with pytest.raises(ArgumentError, match="worst"):
        risk_radius(scaled, 0.95, worst=1.5)
    with pytest.raises(ArgumentError, match=r"up to 0\.9"):
        jackknife_band(np.zeros((9, 1, 1, 32)), np.abs(scaled), 0.95)
    with pytest.raises(ArgumentError, match="one row for each"):
        jackknife_band(np.zeros((9, 1, 1, 32)), np.abs(scaled[:5]), 0.9)
    with pytest.raises(ArgumentError, match="finite"):
        split_radius(np.full(30, np.inf), 0.95)
    with pytest.raises(ArgumentError, match="strictly between"):
        needed(1.0)
