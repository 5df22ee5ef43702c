"""Sketches keep inner products, and beliefs are the posterior's moments."""

import resource
import time

import numpy as np
import pytest

from mflno.active import Sketched, beliefs
from mflno.active.sketch import draw_sketch
from mflno.errors import ArgumentError

RNG = np.random.default_rng(0)


def test_a_sketch_is_linear_and_a_signed_permutation_where_nothing_is_lost():
    sketch = draw_sketch(1000, 64, np.random.default_rng(0))
    x, y = RNG.normal(size=(2, 3, 1000))
    assert np.allclose(sketch(x + 2 * y), sketch(x) + 2 * sketch(y))
    short = draw_sketch(50, 64, np.random.default_rng(0))
    rows = RNG.normal(size=(4, 50))
    assert np.allclose(short(rows) @ short(rows).T, rows @ rows.T)


@pytest.mark.parametrize("shape", ["noise", "waves", "spike", "constant"])
def test_sketched_inner_products_err_as_stated(shape):
    time_axis = np.linspace(0, 20, 1500)
    x, y = {
        "noise": RNG.normal(size=(2, 1500)),
        "waves": np.stack([np.sin(3 * time_axis), np.sin(3 * time_axis + 1)]),
        "spike": np.stack([np.eye(1500)[700], np.eye(1500)[700] + 0.1]),
        "constant": np.ones((2, 1500)),
    }[shape]
    size, trials = 64, 400
    found = []
    for seed in range(trials):
        a, b = draw_sketch(1500, size, np.random.default_rng(seed))(np.stack([x, y]))
        found.append(a @ b)
    bound = np.sqrt((x @ x * (y @ y) + (x @ y) ** 2) / size)
    assert abs(np.mean(found) - x @ y) < 4 * bound / np.sqrt(trials)
    assert np.std(found) < 1.15 * bound


def test_a_sketch_refuses_rows_of_another_length():
    with pytest.raises(ArgumentError, match=r"Sketch.rows: must be 10 long"):
        draw_sketch(10, 4, np.random.default_rng(0))(np.zeros((1, 9)))


def moments(draws):
    deviation = draws - draws.mean(0)
    flat = deviation.transpose(1, 0, 2, 3).reshape(draws.shape[1], -1)
    return flat @ flat.T / (len(draws) - 1) / np.prod(draws.shape[2:])


def answering(draws, cases):
    """A predictor that knows draws for just these cases, in any chunks."""
    index = {tuple(case): number for number, case in enumerate(cases)}
    return lambda asked: draws[:, [index[tuple(case)] for case in asked]]


def test_beliefs_are_the_moments_of_the_draws():
    cases, draws = RNG.normal(size=(9, 2)), 3 + RNG.normal(size=(5, 9, 2, 11))
    found = Sketched(answering(draws, cases), np.random.default_rng(0))(cases)
    assert np.allclose(found.features @ found.features.T, moments(draws))
    assert np.allclose(found.spread, draws.std(0, ddof=1).mean((1, 2)))
    assert np.allclose(found.size, np.sqrt(np.square(draws.mean(0)).mean((1, 2))))


def test_long_draws_are_sketched_within_the_stated_error():
    cases = RNG.normal(size=(20, 2))
    draws = RNG.normal(size=(20, 20, 1, 300)).cumsum(-1)
    posterior = Sketched(answering(draws, cases), np.random.default_rng(0), length=128)
    found = posterior(cases)
    exact = moments(draws)
    own = np.diag(exact)
    bound = np.sqrt((np.outer(own, own) + exact**2) / 128)
    error = (found.features @ found.features.T - exact) / bound
    assert found.features.shape == (20, 128)
    assert np.sqrt(np.mean(error**2)) < 1.3
    assert np.allclose(found.spread, draws.std(0, ddof=1).mean((1, 2)))


def test_chunks_do_not_change_the_beliefs(monkeypatch):
    cases, draws = RNG.normal(size=(30, 2)), RNG.normal(size=(6, 30, 1, 200))
    predict = answering(draws, cases)
    whole = Sketched(predict, np.random.default_rng(0))(cases)
    monkeypatch.setattr(beliefs, "CHUNK_BYTES", 7 * 6 * 200 * 8)
    asked = []
    counted = lambda some: (asked.append(len(some)), predict(some))[1]
    parts = Sketched(counted, np.random.default_rng(0))(cases)
    assert np.allclose(whole.features, parts.features)
    assert np.allclose(whole.spread, parts.spread)
    assert max(asked) == 7


def test_two_calls_share_one_sketch():
    cases, draws = RNG.normal(size=(10, 2)), RNG.normal(size=(6, 10, 1, 200))
    posterior = Sketched(answering(draws, cases), np.random.default_rng(0), length=32)
    assert np.allclose(posterior(cases).features[3:5], posterior(cases[3:5]).features)


def test_scales_bring_outputs_of_different_units_together():
    cases, draws = RNG.normal(size=(4, 2)), RNG.normal(size=(6, 4, 2, 8))
    scales = np.array([1.0, 1000.0])
    plain = Sketched(answering(draws, cases), np.random.default_rng(0))(cases)
    grown = draws * scales[:, None]
    found = Sketched(answering(grown, cases), np.random.default_rng(0), scales=scales)(cases)
    assert np.allclose(found.features, plain.features)


def test_relative_beliefs_are_per_size_and_finite_for_a_case_at_rest():
    cases, draws = RNG.normal(size=(3, 2)), 2 + RNG.normal(size=(6, 3, 1, 8))
    draws[:, 1] -= draws[:, 1].mean(0)
    found = Sketched(answering(draws, cases), np.random.default_rng(0))(cases)
    relative = found.relative()
    assert np.allclose(relative.spread[[0, 2]], (found.spread / found.size)[[0, 2]])
    assert np.isfinite(relative.spread[1])


def test_draws_that_are_none_are_refused():
    for draws in (np.zeros((1, 2, 1, 4)), np.zeros((3, 2, 4)), np.zeros((3, 5, 1, 4))):
        with pytest.raises(ArgumentError, match="draws of shape"):
            Sketched(lambda _, d=draws: d, np.random.default_rng(0))(np.zeros((2, 1)))
    bad = np.full((3, 2, 1, 4), np.nan)
    with pytest.raises(ArgumentError, match="draws must be finite"):
        Sketched(lambda asked: bad[:, : len(asked)], np.random.default_rng(0))(np.zeros((2, 1)))


def test_another_number_of_draws_is_refused_by_the_same_sketch():
    many = RNG.normal(size=(6, 4, 1, 100))
    left = iter([many, many, many[:5], many[:5]])
    posterior = Sketched(lambda asked: next(left)[:, : len(asked)], np.random.default_rng(0))
    posterior(np.zeros((4, 1)))
    with pytest.raises(ArgumentError, match="the same draws and grid each time"):
        posterior(np.zeros((4, 1)))


@pytest.mark.slow
def test_ten_thousand_candidates_take_seconds_and_little_memory():
    waves = RNG.normal(size=(50, 8192)).astype(np.float32)

    def predict(cases):
        starts = ((cases[:, 0] + 1) * 3000).astype(int)
        return np.stack([waves[:, s : s + 2048] for s in starts], axis=1)[:, :, None]

    cases = RNG.uniform(-1, 1, size=(10_000, 2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    Sketched(predict, np.random.default_rng(0))(cases)
    assert time.perf_counter() - start < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000
