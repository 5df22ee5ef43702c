import numpy as np
import pytest

import mflno
from mflno.data import Level, Parameter
from mflno.errors import ArgumentError
from mflno.multifidelity import Data, Query
from mflno.multifidelity.moving_poles import MovingPoles, monomials
from mflno.multifidelity.pole_search import Runs, searched
from mflno.multifidelity.trended import Trended, TrendedPredictor
from mflno.multifidelity.trends import Gain, Poles, PoleTrend

GRID = np.linspace(0.0, 20.0, 513)
DRIVE = 1.7


class Swing:
    """ü + 2δu̇ + ω²u = a sin(1.7t) from rest, in closed form; the cheap level is too fast."""

    name, version, outputs = "swing", "1", ("u",)
    parameters = Parameter("a", 0.5, 2.0), Parameter("omega", 1.0, 1.4)
    levels = Level("fast", GRID[::2], 1.0), Level("true", GRID, 10.0)

    def inputs(self, case, level):
        return case[0] * np.sin(DRIVE * self.levels[level].grid)[None]

    def solve(self, case, level):
        omega = case[1] * (1.08 if level == 0 else 1.0)
        return swing(self.levels[level].grid, case[0], omega)[None]


def swing(time, force, omega, damping=0.1):
    stiff, drag = omega**2 - DRIVE**2, 2 * damping * DRIVE
    size = force / (stiff**2 + drag**2)
    sine, cosine = size * stiff, -size * drag
    fast = np.sqrt(omega**2 - damping**2)
    b = (-DRIVE * sine - damping * cosine) / fast
    free = np.exp(-damping * time) * (-cosine * np.cos(fast * time) + b * np.sin(fast * time))
    return sine * np.sin(DRIVE * time) + cosine * np.cos(DRIVE * time) + free


CORNERS = np.array([[0.6, 1.02], [1.9, 1.05], [1.2, 1.38], [0.7, 1.3], [1.8, 1.25], [1.2, 1.2]])


def data(runs=6, seed=None):
    """Runs far apart, or drawn by a seed."""
    problem = Swing()
    generator = np.random.default_rng(0)
    cheap = np.array([0.5, 1.0]) + generator.random((30, 2)) * np.array([1.5, 0.4])
    low = mflno.sample(problem, cheap, 0, cache=False, show=False)
    drawn = np.random.default_rng(seed).random((runs, 2))
    cases = CORNERS[:runs] if seed is None else [0.5, 1.0] + drawn * [1.5, 0.4]
    high = mflno.sample(problem, cases, 1, cache=False, show=False)
    return Data(problem, (low,), high)


def held_out(problem):
    generator = np.random.default_rng(1)
    cases = np.array([0.5, 1.0]) + generator.random((40, 2)) * np.array([1.5, 0.4])
    truth = mflno.sample(problem, cases, 1, cache=False, show=False).values
    return cases, truth


def error(values, truth):
    size = np.linalg.norm(truth, axis=-1)
    return float((np.linalg.norm(values - truth, axis=-1) / size).mean())


def test_poles_of_an_oscillator_are_found_where_they_are():
    found = data()
    runs = Runs(Query(found.problem, found.high.cases).scaled, found.query().inputs,
                found.high.values, GRID)  # fmt: skip
    model = MovingPoles(1, 2, 1, 1)
    end, _ = searched(model, runs.thinned(runs.band), 1e-6, np.random.default_rng(0))
    numbers = monomials(runs.cases, 2)[0] @ end.theta
    assert np.allclose(np.exp(numbers[:, 0]), 0.1, atol=5e-3)
    omega = np.sqrt(found.high.cases[:, 1] ** 2 - 0.01)
    assert np.allclose(np.abs(numbers[:, 1]), omega, atol=5e-3)


@pytest.mark.parametrize("cheap", [True, False])
def test_moving_poles_reach_between_runs_where_a_process_alone_does_not(cheap):
    found = data(4)
    cases, truth = held_out(found.problem)
    poles = Trended(Poles(1, 1, (1e-4,), cheap=cheap))
    answer = poles.fit(found, seed=0, show=False).law(found.query(cases)).mean
    alone = mflno.multifidelity.PodGP().fit(found, seed=0).law(found.query(cases)).mean
    assert error(answer, truth) < 0.02
    assert error(answer, truth) < 0.3 * error(alone, truth)


def test_the_answer_at_a_run_is_the_run():
    found = data()
    fitted = Trended(Poles(1, 1)).fit(found, seed=0, show=False)
    assert error(fitted.law(found.query()).mean, found.high.values) < 1e-4


def test_a_run_left_out_is_not_known():
    found = data(5)
    fitted = Trended(Poles(1, 1)).fit(found, seed=0, show=False)
    assert fitted.left is not None
    fewer = found.without(2)
    again = Trended(Poles(1, 1)).fit(fewer, seed=0, show=False)
    fresh = again.law(found.at_high(2)).mean
    assert error(fitted.left.mean[2:3], found.high.values[2:3]) > 1e-5
    assert error(fitted.left.mean[2:3], fresh) < 0.02


def refits(found, fitted):
    """Of each run: the fit without it, the question there, and the process's variance."""
    for i in range(len(found.high)):
        fewer, at = found.without(i), found.at_high(i)
        alone = Trended().conditioned(fitted.trend.without(found, i), fewer, 0)
        pairs = alone.blend.pairs
        yield i, alone, at, sum(w * each.variance(at.scaled)[0] for w, each in pairs)


def test_half_of_the_covariance_is_that_of_errors_at_runs_left_out():
    found = data(5)
    fitted = Trended(Gain()).fit(found, seed=0, show=False)
    outside = np.zeros((513, 513))
    for i, alone, at, variance in refits(found, fitted):
        off = (found.high.values[i] - alone.law(at).mean[0]).ravel()
        outside += np.outer(off, off) / variance / 5
    for each in fitted.blend.processes:
        inside = each.whitened.T @ each.whitened
        wanted = (inside + outside) / 2
        assert np.abs(each.root.T @ each.root - wanted).max() < 1e-9 * wanted.max()


def test_a_run_left_out_is_judged_by_the_errors_at_the_others():
    found = data(4)
    fitted = Trended(Gain()).fit(found, seed=0, show=False)
    rows = [*refits(found, fitted)]
    squares = [
        np.square(found.high.values[i] - alone.law(at).mean[0]) / variance
        for i, alone, at, variance in rows
    ]
    for i, alone, at, _ in rows:
        others = np.mean([each for j, each in enumerate(squares) if j != i], axis=0)[0]
        mean = alone.blend.mean(at.scaled)
        wanted = sum(
            w * each.variance(at.scaled) * (np.square(each.scale) + others) / 2
            + w * np.square(each.mean(at.scaled) - mean)
            for w, each in alone.blend.pairs
        )
        assert fitted.left is not None
        assert np.allclose(np.square(fitted.left.std[i]), wanted, rtol=1e-9)


def test_the_deviation_is_about_the_error_though_a_trend_bends_to_its_runs():
    """Residuals at the runs alone give 0.4; the mean logarithm has a standard error of 0.25."""
    ratios = []
    for seed in range(12):
        found = data(5, seed=seed)
        law = Trended(Gain()).fit(found, seed=0, show=False).law
        cases, truth = held_out(found.problem)
        mean, std, _ = law(found.query(cases))
        ratios.append(np.sqrt(np.square(std).mean() / np.square(mean - truth).mean()))
    assert 0.6 < np.exp(np.log(ratios).mean()) < 1.7


def test_a_cheap_level_that_poles_do_not_describe_is_refused():
    found = data()
    noise = np.random.default_rng(0).standard_normal(found.lower[0].values.shape)
    low = mflno.Trajectories(
        found.lower[0].cases, found.lower[0].grid, found.lower[0].inputs, noise, 0,
        "swing", Swing.parameters,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="cheap=False"):
        Trended(Poles(1, 1)).fit(Data(found.problem, (low,), found.high), seed=0, show=False)


@pytest.mark.parametrize("maker", [Gain(), Poles(1, 1)], ids=["gain", "poles"])
def test_arrays_give_the_same_bits_back(maker):
    found = data()
    fitted = Trended(maker).fit(found, seed=0, show=False)
    again = TrendedPredictor.from_arrays(*fitted.arrays())
    query = found.query(held_out(found.problem)[0][:3])
    first, second = fitted.law(query, draws=3), again.law(query, draws=3)
    for one, two in zip(first, second, strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(two))


def test_a_second_fit_takes_the_cheap_poles_of_the_first():
    found = data(4)
    method = Trended(Poles(1, 1))
    first = method.fit(found, seed=0, show=False)
    second = method.fit(data(5), seed=0, warm=first, show=False)
    assert isinstance(first.trend, PoleTrend)
    assert isinstance(second.trend, PoleTrend)
    assert second.trend.origin is first.trend.origin
