"""Processes over several levels: chains, what they learn, what leaving out leaves out."""

import numpy as np
import pytest

import mflno
from mflno.bayes import relative_error
from mflno.multifidelity import MFGP, NARGP, Data, PodGP, Query, fit
from mflno.multifidelity.levels import Coder, learnt_below, without_case
from mflno.problems import Chain, random_cases

CHAIN = Chain()


def sampled(cases, level):
    return mflno.sample(CHAIN, cases, level, cache=False, show=False)


@pytest.fixture(scope="module")
def chain():
    """Runs of three levels, nested: 60, 12 and 5 cases."""
    cases = random_cases(CHAIN, 60, np.random.default_rng(0))
    return [sampled(cases[:count], level) for level, count in enumerate((60, 12, 5))]


@pytest.fixture(scope="module")
def tests():
    cases = random_cases(CHAIN, 40, np.random.default_rng(1))
    return cases, sampled(cases, 2).values


def test_a_linear_map_of_the_cheap_level_is_found(swing, grid_cases, fresh):
    """Coefficients of the dear level are linear in those of the cheap one for this swing."""
    low = mflno.sample(swing, grid_cases, 0, cache=False, show=False)
    high = mflno.sample(swing, grid_cases[[0, 5, 30, 35, 14]], 1, cache=False, show=False)
    cases, truth = fresh
    errors = {
        method: relative_error(
            fit(swing, [low, high], method, show=False).predict(cases).mean, truth
        ).mean()
        for method in ("mf-gp", "pod-gp")
    }
    assert errors["mf-gp"] < 0.6 * errors["pod-gp"]


def test_coefficients_hold_the_energy_and_begin_with_the_largest(chain):
    coder = Coder.of(chain[0].values)
    coded = coder(chain[0].values)
    assert np.abs(coded.mean(0)).max() < 1e-12
    sizes = np.sqrt(np.square(coded).mean(0))
    assert sizes[0] == pytest.approx(1.0)
    assert np.all(np.diff(sizes) <= 0)
    flat = chain[0].values.reshape(60, -1) - coder.mean
    back = coded @ np.linalg.pinv(coder.basis)
    assert np.square(flat - back).sum() <= 1e-6 * np.square(flat).sum()


def test_the_cheap_levels_are_learnt_not_solved(chain, tests, monkeypatch):
    surrogate = fit(CHAIN, chain, "mf-gp", show=False)

    def refuse(*_):
        raise AssertionError("solved")

    monkeypatch.setattr(Chain, "solve_many", refuse)
    assert np.all(np.isfinite(surrogate.predict(tests[0], draws=2).mean))


@pytest.mark.parametrize("method", [MFGP(), NARGP()], ids=lambda m: m.name)
def test_left_out_runs_are_forgotten_at_every_level(chain, method):
    """Spoiling the left-out case's runs, at all levels but the cheapest, changes nothing."""
    spoil = lambda runs: mflno.Trajectories(
        runs.cases, runs.grid, runs.inputs,
        np.where(np.arange(len(runs))[:, None, None] == 2, 5.0 - runs.values, runs.values),
        runs.level, runs.problem, runs.parameters, runs.outputs,
    )  # fmt: skip
    data = Data(CHAIN, (chain[0], chain[1]), chain[2])
    spoilt = Data(CHAIN, (chain[0], chain[1]), spoil(chain[2]))
    law = method.left_out(data, method.fit(data, seed=0), seed=0)
    other = method.left_out(spoilt, method.fit(spoilt, seed=0), seed=0)
    assert np.array_equal(law.mean[2], other.mean[2])
    assert not np.array_equal(law.mean[1], other.mean[1])
    middle = without_case(chain[1], chain[2].cases[2])
    assert len(middle) == len(chain[1]) - 1


def test_left_out_of_one_level_is_a_fit_without_the_run(chain):
    data = Data(CHAIN, (chain[0], chain[1]), chain[2])
    law = PodGP().left_out(data, PodGP().fit(data, seed=0), seed=0)
    for index in (0, 3):
        alone = PodGP().fit(data.without(index), seed=0).law(data.at_high(index))
        assert np.array_equal(alone.mean[0], law.mean[index])
        assert np.array_equal(alone.std[0], law.std[index])


def test_uncertainty_of_lower_levels_goes_up(chain, tests):
    """With the lower levels known at few cases the deviation grows far from them."""
    cases, _ = tests
    full = MFGP(shapes=("se",)).fit(Data(CHAIN, (chain[0], chain[1]), chain[2]), seed=0)
    few = Data(CHAIN, (chain[0].take(range(12)), chain[1]), chain[2])
    less = MFGP(shapes=("se",)).fit(few, seed=0)
    query = Query(CHAIN, cases)
    assert less.law(query).std.mean() > full.law(query).std.mean()
    coded = full.coded(query.scaled)
    assert len(coded) == 3
    moved = less.law(query, draws=300)
    spread = np.asarray(moved.draws).std(0)
    assert np.sqrt(np.square(spread).sum() / np.square(moved.std).sum()) == pytest.approx(
        1, abs=0.25
    )


def test_known_runs_show_their_own_coefficients(chain):
    data = Data(CHAIN, (chain[0], chain[1]), chain[2])
    method = MFGP()
    below, coders = learnt_below(data, method.kernels, method.prior)
    rows = below.rows(data.query().scaled)
    assert np.abs(rows[:, 2:] - coders[1](chain[1].values[:5])).max() < 1e-12
