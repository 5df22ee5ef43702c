"""The checks find the faults they are made for: one planted fault each."""

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.testing import check_problem


class Line:
    """A sound problem: u = k t + offset."""

    name, version, outputs = "line", "1", ("u",)
    parameters = (Parameter("k", 1.0, 2.0), Parameter("offset", 0.0, 1.0))
    levels = (
        Level("low", np.linspace(0, 1, 5), 1.0),
        Level("high", np.linspace(0, 1, 9), 2.0),
    )

    def inputs(self, case, level):
        return np.empty((0, self.levels[level].points))

    def solve(self, case, level):
        slope, offset = case
        return (slope * self.levels[level].grid + offset)[None]


class Forgetful(Line):
    def __init__(self):
        self.calls = 0

    def solve(self, case, level):
        self.calls += 1
        return super().solve(case, level) + 1e-9 * self.calls


class Greedy(Line):
    def solve(self, case, level):
        values = super().solve(case, level)
        case *= 2.0
        return values


class Constant(Line):
    def solve(self, case, level):
        _, _ = case
        return np.ones((1, self.levels[level].points))


class Careless(Line):
    def solve(self, case, level):
        return super().solve(case[:2], level)


class Hasty(Line):
    def solve_many(self, cases, level):
        return np.stack([self.solve(case, level) for case in cases[::-1]])


class Rooted(Line):
    def __init__(self):
        self.callback = lambda: None


class Changing(Line):
    def inputs(self, case, level):
        return np.zeros((level + 1, self.levels[level].points))


class Short(Line):
    def solve(self, case, level):
        return super().solve(case, level)[:, :-1]


class Dear(Line):
    levels = Line.levels[::-1]


class Lone(Line):
    levels = Line.levels[:1]


def test_a_sound_problem_passes():
    check_problem(Line())


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Forgetful, "same numbers again"),
        (Greedy, "must not change its case|same numbers"),
        (Constant, "other cases must give other numbers"),
        (Careless, "refuse a case that is too long"),
        (Hasty, "solve_many must give the numbers of solve"),
        (Rooted, "local object|pickle"),
        (Changing, "as many channels everywhere"),
        (Short, r"shape: must be \(1, 5\)"),
        (Dear, "cheapest first"),
        (Lone, "two levels or more"),
    ],
)
def test_a_fault_is_found(fault, words):
    with pytest.raises(Exception, match=words):
        check_problem(fault())
