"""A swing that costs nothing, solved at two levels and two outputs."""

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.sampling import sample


class Swing:
    """Two outputs of a damped swing; the cheap level is a straight line of the dear one."""

    name, version, outputs = "swing", "1", ("left", "right")
    parameters = (Parameter("a", 1.0, 3.0), Parameter("w", 2.0, 3.0))
    levels = (
        Level("cheap", np.linspace(0.0, 3.0, 31), cost=0.1),
        Level("dear", np.linspace(0.0, 3.0, 61), cost=1.0),
    )

    def inputs(self, case, level):
        return np.zeros((0, self.levels[level].points))

    def solve(self, case, level):
        (a, w), t = case, self.levels[level].grid
        both = np.stack([np.sin(w * t), a * np.cos(0.5 * w * t)]) * a * np.exp(-0.2 * t)
        return both if level else (both - 0.3 - 0.1 * t) / (1.5 + 0.5 * np.sin(t))


@pytest.fixture(scope="session")
def swing():
    return Swing()


@pytest.fixture(scope="session")
def grid_cases():
    axes = np.linspace(1.0, 3.0, 6), np.linspace(2.0, 3.0, 6)
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes)], axis=1)


@pytest.fixture(scope="session")
def runs(swing, grid_cases):
    """36 cheap runs, and 7 dear ones of the same cases."""
    picks = [0, 5, 30, 35, 14, 21, 18]
    low = sample(swing, grid_cases, 0, cache=False, show=False)
    return low, sample(swing, grid_cases[picks], 1, cache=False, show=False)


@pytest.fixture(scope="session")
def fresh(swing):
    """Cases that were never run, and the truth there."""
    generator = np.random.default_rng(5)
    cases = np.stack([generator.uniform(1, 3, 20), generator.uniform(2, 3, 20)], axis=1)
    return cases, sample(swing, cases, 1, cache=False, show=False).values
