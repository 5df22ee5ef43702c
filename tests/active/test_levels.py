"""The law over all levels against the covariances it is made of, and against known levels."""

import numpy as np
import pytest

from mflno.active import Agreement, agreement


def test_inner_products_are_the_covariances_of_the_autoregressive_law():
    generator = np.random.default_rng(0)
    slopes, sizes = np.array([0.0, 0.8, -1.3]), np.array([1.5, 0.4, 0.2])
    prior = generator.normal(size=(5, 7))
    kernel = prior @ prior.T
    found = Agreement(slopes, sizes).features(prior)
    # u_k = ρ_k u_{k-1} + δ_k, level by level: Cov(u_k, u_l) of two cases, by hand.
    wanted = np.zeros((3, 3))
    wanted[0, 0] = sizes[0] ** 2
    for level in (1, 2):
        wanted[level, :level] = wanted[:level, level] = (
            slopes[level] * wanted[level - 1, :level]
        )
        wanted[level, level] = slopes[level] ** 2 * wanted[level - 1, level - 1]
        wanted[level, level] += sizes[level] ** 2
    for first in range(3):
        for second in range(3):
            inner = found[first] @ found[second].T
            assert np.allclose(inner, wanted[first, second] * kernel)


def test_the_slope_and_what_is_left_are_found_on_shared_cases_alone():
    generator = np.random.default_rng(1)
    cases = generator.uniform(-1, 1, (60, 2))
    below = generator.normal(size=(60, 1, 50))
    own = generator.normal(size=(40, 1, 50))
    above = 3.0 + 0.7 * below[20:] + 0.1 * own
    shuffled = generator.permutation(40)
    found = agreement([cases, cases[20:][shuffled]], [below, above[shuffled]])
    # 2000 numbers a slope: deviation 0.1 / sqrt(2000); sizes to 1 / sqrt(2 * 2000).
    assert found.slopes[1] == pytest.approx(0.7, abs=5 * 0.1 / np.sqrt(2000))
    assert found.sizes[1] == pytest.approx(0.1, rel=5 / np.sqrt(4000))
    assert found.sizes[0] == pytest.approx(1.0, rel=5 / np.sqrt(6000))
    assert found.explained[0] == pytest.approx(0.49 / 0.5, abs=0.01)


def test_levels_without_common_cases_say_nothing_of_each_other():
    cases, values = np.array([[0.0], [0.5]]), np.array([0.0, 2.0])[:, None, None]
    found = agreement([cases, cases + 0.1], [values, values])
    assert found.slopes.tolist() == [0.0, 0.0]
    assert found.sizes == pytest.approx([np.sqrt(2), np.sqrt(2)])
    assert found.explained == [0.0]
