"""Calibration: every score against scoringrules or a closed form, intervals against theory."""

import time
from typing import Any

import numpy as np
import pytest
import scoringrules
from scipy import stats

from mflno.bayes.calibrate import QUANTILES, calibration, resampled
from mflno.bayes.laws import AtomLaw, DrawLaw, StudentLaw, widened
from mflno.bayes.scores import (
    ensemble_crps,
    interval_score,
    relative_error,
    student_crps,
)
from mflno.errors import ArgumentError


@pytest.fixture
def generator():
    return np.random.default_rng(7)


@pytest.mark.parametrize(("fair", "name"), [(True, "fair"), (False, "nrg")])
def test_ensemble_crps_is_that_of_scoringrules(generator, fair, name):
    draws, truth = generator.standard_normal((9, 4, 2, 5)), generator.normal(size=(4, 2, 5))
    known: Any = scoringrules.crps_ensemble(truth, draws, m_axis=0, estimator=name)
    score = ensemble_crps(np.sort(draws, 0), truth, fair=fair)
    np.testing.assert_allclose(score, known)


@pytest.mark.parametrize("dof", [2.5, 4.0, 30.0, np.inf])
def test_student_crps_is_that_of_scoringrules(generator, dof):
    truth = generator.normal(size=(3, 2, 6)) * 3
    mean, scale = generator.normal(size=(3, 2, 6)), generator.uniform(0.2, 2, (3, 2, 6))
    known = (
        scoringrules.crps_normal(truth, mean, scale)
        if dof == np.inf
        else scoringrules.crps_t(truth, dof, mean, scale)
    )
    np.testing.assert_allclose(StudentLaw(mean, scale, dof).crps(truth), known, rtol=1e-10)


def test_fair_score_of_few_draws_is_unbiased_for_the_law_they_come_from(generator):
    draws, truth = generator.standard_normal((5, 200_000)), generator.standard_normal(200_000)
    exact = student_crps(truth)
    gap = ensemble_crps(np.sort(draws, 0), truth) - exact
    assert abs(gap.mean()) < 3 * gap.std() / np.sqrt(gap.size)
    narrow = ensemble_crps(np.sort(draws, 0), truth, fair=False) - exact
    assert narrow.mean() > 10 * narrow.std() / np.sqrt(gap.size)


def test_interval_score_is_that_of_scoringrules(generator):
    low, truth = generator.normal(size=50), generator.normal(size=50) * 2
    high = low + generator.uniform(0, 2, 50)
    known = scoringrules.interval_score(truth, low, high, 0.1)
    np.testing.assert_allclose(interval_score(low, high, truth, 0.9), known)


def test_atom_law_scores_as_its_atoms_do(generator):
    atoms = np.sort(generator.standard_t(3, 37))
    mean, scale = generator.normal(size=(3, 1, 8)), generator.uniform(0.1, 2, (3, 1, 8))
    truth = generator.normal(size=(3, 1, 8)) * 2
    ensemble = mean + scale * atoms[:, None, None, None]
    known: Any = scoringrules.crps_ensemble(truth, ensemble, m_axis=0, estimator="nrg")
    law = AtomLaw(mean, scale, atoms)
    np.testing.assert_allclose(law.crps(truth), known, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(law.quantile(0.3), DrawLaw(ensemble).quantile(0.3))


@pytest.mark.parametrize("dof", [4.0, np.inf])
def test_below_inverts_quantile(generator, dof):
    shape = (4, 1, 7)
    law = StudentLaw(generator.normal(size=shape), generator.uniform(1, 2, shape), dof)
    np.testing.assert_allclose(law.below(law.quantile(0.83)), 0.83)
    table = AtomLaw(law.mean, law.scale, np.sort(generator.normal(size=99)))
    np.testing.assert_allclose(table.below(table.quantile(0.83)), 0.83)


def test_draw_law_of_exchangeable_truth_is_calibrated_at_any_size(generator):
    """Order statistics at p (S + 1) cover exactly level when the level fits the draws."""
    both = generator.normal(size=(20, 40_000, 1, 1))
    law, truth = DrawLaw(both[1:]), both[0]
    inside = (law.quantile(0.05) <= truth) & (truth <= law.quantile(0.95))
    assert abs(inside.mean() - 0.9) < 3 * np.sqrt(0.09 / 40_000)
    ranks = np.histogram(law.below(truth), np.linspace(0, 1, 21))[0]
    assert stats.chisquare(ranks).pvalue > 1e-3


def test_spread_equals_skill_when_the_law_is_true(generator):
    both = generator.normal(size=(6, 400, 1, 25))
    report = calibration(DrawLaw(both[1:]), both[0], generator)
    assert report.spread_skill.low < 1 < report.spread_skill.high
    assert report.spread_skill.high - report.spread_skill.low < 0.1


def test_report_agrees_with_plain_loops(generator):
    draws, truth = generator.normal(size=(12, 30, 2, 9)), generator.normal(size=(30, 2, 9)) + 1
    draws *= generator.uniform(0.5, 2, (1, 30, 1, 1))
    law = DrawLaw(draws)
    report = calibration(law, truth, generator, levels=(0.8,))
    low, high = law.quantile(0.1), law.quantile(0.9)
    inside = (low <= truth) & (truth <= high)
    level = report.levels[0]
    assert level.coverage.value == pytest.approx(inside.mean())
    assert level.whole.value == pytest.approx(inside.all((1, 2)).mean())
    assert level.width.value == pytest.approx((high - low).mean())
    assert level.score.value == pytest.approx(
        scoringrules.interval_score(truth, low, high, 0.2).mean()
    )
    known: Any = scoringrules.crps_ensemble(truth, draws, m_axis=0, estimator="fair")
    assert report.crps.value == pytest.approx(known.mean())
    error, deviation = relative_error(law.mean, truth), law.std.mean((1, 2))
    assert report.pearson.value == pytest.approx(stats.pearsonr(deviation, error)[0])
    assert report.spearman.value == pytest.approx(stats.spearmanr(deviation, error)[0])
    share = [(law.below(truth) <= p).mean() for p in QUANTILES]
    np.testing.assert_allclose(report.shares, share)
    assert report.quantile_error.value == pytest.approx(np.abs(share - QUANTILES).mean())


def test_chunks_do_not_change_the_report(generator, monkeypatch):
    draws, truth = generator.normal(size=(5, 11, 1, 6)), generator.normal(size=(11, 1, 6))
    whole = calibration(DrawLaw(draws), truth, np.random.default_rng(0))
    monkeypatch.setattr("mflno.bayes.calibrate._CHUNK", 20)
    parts = calibration(DrawLaw(draws), truth, np.random.default_rng(0))
    assert parts.crps.value == pytest.approx(whole.crps.value, rel=1e-13)
    assert parts.levels[-1].coverage == whole.levels[-1].coverage
    np.testing.assert_allclose(parts.error, whole.error, rtol=1e-13)
    np.testing.assert_array_equal(parts.shares, whole.shares)


def test_too_narrow_a_law_is_told_apart(generator):
    truth = generator.normal(size=(100, 1, 40))
    report = calibration(StudentLaw(0 * truth, 0 * truth + 0.7), truth, generator)
    assert report.levels[-1].coverage.high < 0.95
    assert report.spread_skill.high < 1
    assert report.quantile_error.low > 0.02


def test_bootstrap_unit_is_the_trajectory(generator):
    """Points that repeat one error per trajectory must not shorten the interval."""
    truth = np.repeat(generator.normal(size=(50, 1, 1)), 400, axis=2)
    law = StudentLaw(0 * truth, 0 * truth + 1)
    cover = calibration(law, truth, generator, levels=(0.68,)).levels[0].coverage
    binomial = np.sqrt(0.68 * 0.32 / 50)
    assert 0.7 < (cover.high - cover.low) / (2 * 1.96 * binomial) < 1.3


def test_bad_input_is_refused(generator):
    one = np.ones((1, 1, 4))
    with pytest.raises(ArgumentError, match="two or more trajectories"):
        calibration(StudentLaw(one, one), one, generator)
    with pytest.raises(ArgumentError, match="positive everywhere"):
        StudentLaw(one, 0 * one)
    with pytest.raises(ArgumentError, match="two or more"):
        DrawLaw(one[None])
    two = np.ones((2, 1, 4))
    with pytest.raises(ArgumentError, match="shaped as the law"):
        calibration(StudentLaw(one, one), two, generator)
    with pytest.raises(ArgumentError, match="strictly between"):
        calibration(StudentLaw(two, two), two, generator, levels=(95.0,))
    with pytest.raises(ArgumentError, match="finite"):
        calibration(StudentLaw(two, two), two * np.nan, generator)
    with pytest.raises(ArgumentError, match="zero throughout"):
        relative_error(two, 0 * two)


def test_widened_floor_is_a_share_of_the_mean_square():
    std = np.array([[[0.0, 3.0, 4.0]]])
    np.testing.assert_allclose(widened(std, 0.5) ** 2, std**2 + 0.25 * 25 / 3)


def test_resamples_draw_whole_rows(generator):
    index = resampled(7, 1000, generator)
    assert index.shape == (1000, 7)
    assert set(np.unique(index)) == set(range(7))


def test_report_costs_less_than_a_dozen_sorts_of_the_draws(generator):
    """In one run, as the clock of a shared machine tells little: sorting is the floor."""
    draws = generator.standard_normal((100, 20, 1, 2048))
    truth = generator.standard_normal((20, 1, 2048))
    sort, report = [], []
    for _ in range(3):
        start = time.perf_counter()
        np.sort(draws, axis=0)
        middle = time.perf_counter()
        calibration(DrawLaw(draws), truth, generator)
        sort.append(middle - start)
        report.append(time.perf_counter() - middle)
    assert min(report) < 12 * min(sort)
