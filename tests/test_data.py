import numpy as np
import pytest

from mflno.data import Level, Parameter, Trajectories, check_grid
from mflno.errors import ArgumentError

GRID = np.linspace(0.0, 2.0, 5)


def some(count=3, **changes):
    generator = np.random.default_rng(count)
    fields = {
        "cases": generator.uniform(0.0, 1.0, (count, 2)),
        "grid": GRID,
        "inputs": generator.normal(size=(count, 1, 5)),
        "values": generator.normal(size=(count, 2, 5)),
        "level": 1,
        "problem": "box",
        "parameters": (Parameter("a", 0.0, 1.0), Parameter("b", 0.0, 1.0, "m")),
        "outputs": ("u", "v"),
    }
    return Trajectories(**{**fields, **changes})


def test_a_parameter_is_scaled_to_one_either_side_of_zero():
    rho = Parameter("rho", 5.0, 8.0)
    assert [rho.scaled(x) for x in (5.0, 6.5, 8.0)] == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize("sides", [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_an_empty_or_endless_interval_is_refused(sides):
    with pytest.raises(ArgumentError, match="low < high, both finite"):
        Parameter("x", *sides)


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (np.zeros((2, 4)), "one row"),
        (np.arange(3.0), "at least 4"),
        (np.array([0.0, 1.0, 1.0, 2.0]), "rising"),
        (np.array([0.0, 1.0, np.nan, 3.0]), "rising"),
        (np.array([0.0, 1.0, 2.0, 3.001]), "uniform"),
    ],
)
def test_a_grid_must_be_uniform(grid, words):
    with pytest.raises(ArgumentError, match=words):
        check_grid("here", grid)


def test_a_level_costs_something():
    assert Level("low", GRID, 0.5).points == 5
    for cost in (0.0, -1.0, np.nan):
        with pytest.raises(ArgumentError, match="must be positive"):
            Level("low", GRID, cost)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cases": np.zeros((3, 1))}, r"cases: must have shape \(3, 2\)"),
        ({"values": np.zeros((3, 1, 5))}, r"values: must have shape \(3, 2, 5\)"),
        ({"values": np.full((3, 2, 5), np.nan)}, "must be finite"),
        ({"inputs": np.full((3, 1, 5), np.inf)}, "must be finite"),
    ],
)
def test_trajectories_that_do_not_fit_are_refused(changes, words):
    with pytest.raises(ArgumentError, match=words):
        some(**changes)


def test_take_and_join_keep_rows_together():
    data = some(4)
    taken = data.take([2, 0])
    assert len(taken) == 2
    for name in ("cases", "inputs", "values"):
        assert np.array_equal(getattr(taken, name), getattr(data, name)[[2, 0]])
        joined = getattr(taken.join(data), name)
        assert np.array_equal(
            joined, np.concatenate([getattr(taken, name), getattr(data, name)])
        )


@pytest.mark.parametrize("changes", [{"level": 0}, {"problem": "ball"}, {"grid": 2.0 * GRID}])
def test_only_like_is_joined_to_like(changes):
    with pytest.raises(ArgumentError, match="same problem, level and grid"):
        some().join(some(**changes))
