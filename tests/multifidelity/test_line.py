"""The line against textbook regression."""

import numpy as np
import pytest
from scipy.stats import linregress

from mflno.multifidelity import Data, Line, fit


def test_a_line_that_is_exact_is_found(swing, runs, fresh):
    cases, truth = fresh
    found = fit(swing, runs, "line", show=False).predict(cases)
    # The cheap grid is coarser: what is left is the spline between its points.
    assert np.abs(found.mean - truth).max() < 2e-3 * np.abs(truth).max()


def test_mean_and_deviation_are_those_of_linear_regression(swing, runs, fresh):
    low, high = runs
    data = Data(swing, (low,), high)
    noise = np.random.default_rng(0).standard_normal(high.values.shape)
    noisy = type(high)(
        high.cases, high.grid, high.inputs, high.values + 0.1 * noise, 1, high.problem,
        high.parameters, high.outputs,
    )  # fmt: skip
    law = Line().fit(Data(swing, (low,), noisy), seed=0).law(data.query(fresh[0]))
    cheap, wanted = data.query().cheapest, data.query(fresh[0]).cheapest
    for output, at in ((0, 20), (1, 47)):
        x, y = cheap[:, output, at], noisy.values[:, output, at]
        slope, intercept, *_ = linregress(x, y)
        new = wanted[:, output, at]
        assert law.mean[:, output, at] == pytest.approx(intercept + slope * new)
        rest = np.square(y - intercept - slope * x).sum() / (len(x) - 2)
        reach = 1 + 1 / len(x) + (new - x.mean()) ** 2 / np.square(x - x.mean()).sum()
        assert law.std[:, output, at] == pytest.approx(np.sqrt(rest * reach))


def test_draws_spread_as_the_deviation_says(swing, runs, fresh):
    law = (
        Line()
        .fit(Data(swing, runs[:1], runs[1]), seed=0)
        .law(Data(swing, runs[:1], runs[1]).query(fresh[0]), draws=600)
    )
    spread = np.square(law.draws - law.mean).mean(0)
    ratio = np.sqrt(spread.sum(2) / np.square(law.std).sum(2))
    assert np.abs(ratio - 1).max() < 0.2
