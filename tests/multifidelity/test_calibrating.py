"""Bands from what was left out."""

from typing import ClassVar

import numpy as np
import pytest

from mflno.data import Level, Parameter, Trajectories
from mflno.multifidelity import Data, Law, fit, left_out_law
from mflno.multifidelity.calibrating import (
    LEVELS,
    WORTH,
    bands_of,
    evened,
    expected,
    spread_of,
)

GRID = np.linspace(0.0, 1.0, 40)


class Noise:
    """Every run is a smooth random function: nothing can be learnt but its size."""

    name, version, outputs = "noise", "1", ("u",)
    parameters = (Parameter("x", 0.0, 1.0),)
    levels = (Level("low", GRID), Level("high", GRID))

    def inputs(self, case, level):
        return np.zeros((0, 40))

    def solve(self, case, level):
        seed = int.from_bytes(np.float64(case[0]).tobytes()[:6], "little")
        waves = np.random.default_rng(seed).standard_normal((2, 5))
        turns = np.outer(np.arange(1, 6), 2 * np.pi * GRID)
        return (waves[0] @ np.sin(turns) + waves[1] @ np.cos(turns))[None]


class Guess:
    """Predicts nothing, with a deviation off by a factor."""

    name: ClassVar[str] = "guess"
    kind: ClassVar[str] = "guess"

    def __init__(self, std):
        self.std = std

    def fit(self, data, *, seed, device="cpu", warm=None, show=True):
        return self

    def law(self, query, *, draws=0):
        mean = np.zeros((len(query.cases), 1, 40))
        return Law(mean + 1e-3, mean + self.std)

    def arrays(self):
        return {}, {}

    @classmethod
    def from_arrays(cls, arrays, about):
        return cls(1.0)


def noise_runs(count, level, seed=0):
    cases = np.random.default_rng(seed).uniform(0, 1, (count, 1))
    values = np.stack([Noise().solve(case, level) for case in cases])
    return Trajectories(
        cases, GRID, np.zeros((count, 0, 40)), values, level, "noise", Noise.parameters
    )


@pytest.mark.parametrize(("std", "slack"), [(0.1, 0.1), (2.2, 0.05), (50.0, 0.1)])
def test_a_wrong_scale_is_put_right_by_many_runs(std, slack):
    """All but the two runs out of sixty-two that the method's own scale is worth."""
    surrogate = fit(Noise(), [noise_runs(20, 0), noise_runs(60, 1)], Guess(std), show=False)
    fresh = noise_runs(200, 1, seed=9)
    found = surrogate.predict(fresh.cases)
    for level in (0.5, 0.6827, 0.9, 0.95):
        low, high = found.interval(level)
        share = ((low <= fresh.values) & (fresh.values <= high)).mean()
        assert share == pytest.approx(level, abs=slack)
    assert surrogate.expected_error.mean > 100


def test_bands_over_many_small_sets_hold_their_share():
    fresh = noise_runs(100, 1, seed=9)
    shares = []
    for seed in range(30):
        high = noise_runs(5, 1, seed=100 + seed)
        surrogate = fit(Noise(), [noise_runs(20, 0), high], Guess(2.2), show=False)
        low, up = surrogate.predict(fresh.cases).interval(0.95)
        shares.append(((low <= fresh.values) & (fresh.values <= up)).mean())
    assert np.mean(shares) == pytest.approx(0.95, abs=0.025)


def test_worth_pulls_the_scale_to_the_method_s_own():
    scaled = 4.0 * np.random.default_rng(0).standard_normal((5, 1, 200))
    free, _, _ = spread_of(scaled, 1e-9)
    half, _, _ = spread_of(scaled, 5.0)
    own, _, _ = spread_of(scaled, 1e6)
    assert free == pytest.approx(4.0, rel=0.15)
    assert half == pytest.approx(2.0, rel=0.2)
    assert own == pytest.approx(1.0, rel=0.1)


def test_radii_rise_and_are_in_units_of_the_deviation():
    for scaled in (None, np.random.default_rng(0).standard_normal((3, 1, 50))):
        _, radius, _ = spread_of(scaled, WORTH)
        levels, widths = zip(*radius, strict=True)
        assert levels == LEVELS
        assert np.all(np.diff(widths) > 0)
        assert dict(radius)[0.6827] == pytest.approx(1.0)


def test_no_band_closes_and_time_is_evened_out():
    raw = np.zeros((2, 1, 10))
    raw[0, 0, 5:] = 1.0
    found = evened(raw, np.array([0.1]))
    assert np.all(found >= 0.1)
    assert found[0, 0, 0] > found[1, 0, 0]
    assert np.square(found[0]).mean() == pytest.approx(0.5 + 0.01)


def test_refits_leave_each_run_out():
    seen = []

    class Watched(Guess):
        def fit(self, data, *, seed, device="cpu", warm=None, show=True):
            seen.append(data.high.cases)
            assert warm is None
            return self

    high = noise_runs(4, 1)
    data, method = Data(Noise(), (noise_runs(20, 0),), high), Watched(1.0)
    left_out_law(method, data, method, seed=0, device="cpu", show=False)
    assert len(seen) == 4
    for index, cases in enumerate(seen):
        assert np.array_equal(cases, np.delete(high.cases, index, axis=0))


def test_expected_error_is_that_of_a_known_law():
    data = Data(Noise(), (noise_runs(40, 0),), noise_runs(40, 1))

    class Known(Guess):
        worth = 5.0

        def law(self, query, *, draws=0):
            ones = np.ones((len(query.cases), 1, 40))
            return Law(10.0 * ones, 0.5 * ones)

    truth = np.random.default_rng(0).standard_normal((40, 1, 40))
    law = Law(data.high.values - 0.5 * truth, np.full_like(truth, 0.5))
    told = expected(bands_of(data, Known(1.0), law, 0))
    assert told.mean == pytest.approx(0.05, rel=0.1)
    assert told.low < 0.05 < told.high
    assert told.most > told.mean
