"""Pools lie in the box, each case once; refinement never loses."""

import numpy as np
import pytest

from mflno.active import grid_pool, listed_pool, refined, scaled, sobol_pool, unscaled
from mflno.data import Parameter
from mflno.errors import ArgumentError

AXES = (Parameter("a", 0.01, 1.0), Parameter("rho", 5.0, 8.0))


def test_scaling_is_undone_and_stays_in_the_box():
    cases = np.random.default_rng(0).uniform([0.01, 5], [1, 8], size=(500, 2))
    assert np.allclose(unscaled(scaled(cases, AXES), AXES), cases)
    assert scaled(np.array([[0.01, 8.0]]), AXES).tolist() == [[-1.0, 1.0]]
    ends = unscaled(grid_pool(2, 2), AXES)
    assert ends.min(0).tolist() == [0.01, 5.0]
    assert ends.max(0).tolist() == [1.0, 8.0]
    assert scaled(cases, AXES)[0, 0] == pytest.approx(AXES[0].scaled(cases[0, 0]))


def test_a_grid_has_its_corners_and_its_order():
    pool = grid_pool(2, 3)
    assert pool[:4].tolist() == [[-1, -1], [-1, 0], [-1, 1], [0, -1]]
    with pytest.raises(ArgumentError, match="use a Sobol pool"):
        grid_pool(8, 10)


def test_a_sobol_pool_fills_the_box_evenly():
    pool = sobol_pool(3, 64, np.random.default_rng(0))
    assert np.abs(pool).max() <= 1
    assert np.bincount((pool > 0) @ [1, 2, 4]).tolist() == [8] * 8
    assert len(sobol_pool(3, 50, np.random.default_rng(0))) == 50
    assert len(sobol_pool(3, 1, np.random.default_rng(0))) == 1


def test_a_users_list_is_kept_in_order_each_case_once():
    cases = np.array([[1.0, 5.0], [0.01, 8.0], [1.0, 5.0]])
    assert listed_pool(cases, AXES).tolist() == [[1, -1], [-1, 1]]
    with pytest.raises(ArgumentError, match=r"1 outside, first row 0: \[2.0, 5.0\]"):
        listed_pool(np.array([[2.0, 5.0]]), AXES)
    with pytest.raises(ArgumentError, match="1 outside"):
        listed_pool(np.array([[np.nan, 5.0]]), AXES)
    with pytest.raises(ArgumentError, match="rows of 2 numbers"):
        listed_pool(np.zeros((3, 1)), AXES)


def test_refinement_finds_the_top_of_a_smooth_score_inside_and_on_the_edge():
    for top, wanted in (([0.33, -0.71], [0.33, -0.71]), ([3.0, 0.2], [1.0, 0.2])):
        score = lambda cases, top=top: -np.square(cases - top).sum(1)
        assert np.allclose(refined(np.array([0.3, -0.6]), score), wanted, atol=2e-3)


def test_refinement_is_never_worse_and_never_outside():
    rng = np.random.default_rng(0)
    for _ in range(20):
        start, weight = rng.uniform(-1, 1, 3), rng.normal(size=3) * 5
        score = lambda cases, w=weight: np.sin(cases @ w)
        end = refined(start, score)
        assert score(end[None]) >= score(start[None])
        assert np.abs(end).max() <= 1
