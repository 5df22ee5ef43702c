import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems import (
    Chain,
    Lorenz,
    candidate_cases,
    checked_cases,
    checked_level,
    checked_values,
    grid_cases,
    random_cases,
    study_cases,
    test_cases,
)

FIRST_LORENZ_TEST = [0.10390792953862221, 7.477144467856966]


class Box:
    """A problem of which only the box is looked at."""

    version, outputs = "1", ("u",)
    levels = (
        Level("low", np.linspace(0, 1, 4), 1.0),
        Level("high", np.linspace(0, 1, 8), 2.0),
    )

    def __init__(self, name, sides):
        self.name = name
        self.parameters = tuple(Parameter(f"p{i}", *side) for i, side in enumerate(sides))

    def inputs(self, case, level):
        return np.empty((0, self.levels[level].points))

    def solve(self, case, level):
        raise NotImplementedError


def test_grid_reaches_all_corners_and_varies_the_last_parameter_fastest():
    cases = grid_cases(Lorenz(), 10)
    assert cases.shape == (100, 2)
    assert cases[0].tolist() == [0.01, 5.0]
    assert cases[9].tolist() == [0.01, 8.0]
    assert cases[-1].tolist() == [1.0, 8.0]
    assert len({tuple(case) for case in cases}) == 100


def test_grid_that_would_fill_the_memory_is_refused():
    with pytest.raises(ArgumentError, match="draw random cases"):
        grid_cases(Box("many", [(0.0, 1.0)] * 7), 10)
    with pytest.raises(ArgumentError, match="2 or more"):
        grid_cases(Lorenz(), 1)
    with pytest.raises(ArgumentError, match="up to 1000000"):
        random_cases(Lorenz(), 10**12, np.random.default_rng(0))


def test_random_cases_are_uniform_in_the_box_and_follow_the_generator():
    cases = random_cases(Lorenz(), 4000, np.random.default_rng(1))
    scaled = (cases - [0.01, 5.0]) / [0.99, 3.0]
    assert scaled.min() >= 0
    assert scaled.max() <= 1
    # Mean 1/2 and variance 1/12 within four standard errors.
    assert scaled.mean(axis=0) == pytest.approx([0.5, 0.5], abs=4 / np.sqrt(12 * 4000))
    assert scaled.var(axis=0) == pytest.approx([1 / 12] * 2, abs=4 * 0.0745 / np.sqrt(4000))
    again = random_cases(Lorenz(), 4000, np.random.default_rng(1))
    assert np.array_equal(cases, again)


def test_split_is_fixed_and_disjoint():
    split = study_cases(Lorenz())
    assert np.array_equal(split.candidates, grid_cases(Lorenz(), 10))
    assert np.array_equal(split.tests, study_cases(Lorenz()).tests)
    assert np.array_equal(split.tests, test_cases(Lorenz()))
    assert np.array_equal(split.candidates, candidate_cases(Lorenz()))
    # Another draw would be another benchmark.
    assert split.tests[0] == pytest.approx(FIRST_LORENZ_TEST, rel=1e-12)
    assert not {tuple(row) for row in split.candidates} & {tuple(row) for row in split.tests}


def test_beam_splits_its_own_grid():
    box = Box("beam", [(0.7, 1.3), (8000.0, 12000.0)])
    candidates, tests = study_cases(box)
    assert candidates.shape == (300, 2)
    assert tests.shape == (100, 2)
    together = {tuple(row) for row in np.concatenate([candidates, tests])}
    assert together == {tuple(row) for row in grid_cases(box, 20)}


def test_checked_cases_names_what_is_wrong():
    for cases, words in [
        ([0.5, 6.0], "put one case in each row"),
        ([[0.5]], "rows of 2 numbers"),
        ([["a", 6.0]], "rows of 2 numbers"),
        ([[0.5, 6.0], [0.5, 9.0]], r"rho must lie in \[5, 8\]; got 9 in row 1"),
        ([[np.nan, 6.0]], "a must lie in"),
    ]:
        with pytest.raises(ArgumentError, match=words):
            checked_cases(Lorenz(), cases)


def test_checked_cases_forgives_rounding_at_the_border_and_the_sign_of_zero():
    assert len(checked_cases(Lorenz(), [[1.0 + 1e-12, 5.0 - 1e-12]])) == 1
    zero = checked_cases(Box("zero", [(-1.0, 1.0)]), [[-0.0]])
    assert not np.signbit(zero[0, 0])


def test_checked_level_and_values():
    for level in (-1, 3, 0.5, "exact"):
        with pytest.raises(ArgumentError, match=r"0 \(one mass\), 1 \(fewer masses\), 2"):
            checked_level(Chain(), level)
    good = np.zeros((1, 128))
    assert checked_values(Chain(), 0, good).shape == (1, 128)
    for values, kind in [
        (good[0], "shape"),
        (good[:, :-1], "shape"),
        (np.where(np.arange(128) == 9, np.nan, good), "nan"),
        ("no numbers", "output"),
        (None, "nan|shape|output"),
    ]:
        with pytest.raises(SolveFailed, match=kind):
            checked_values(Chain(), 0, values)
