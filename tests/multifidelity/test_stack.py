from typing import Any

import numpy as np
import pytest

import mflno
from mflno.errors import ArgumentError
from mflno.multifidelity import Data, PodGP
from mflno.multifidelity.auto import Auto
from mflno.multifidelity.law import Law
from mflno.multifidelity.line import Line
from mflno.multifidelity.stack import (
    FIRM,
    Member,
    StackPredictor,
    Votes,
    combined,
    mixed,
    votes,
    weighed,
)
from mflno.problems import Lorenz, grid_cases

PROBLEM = Lorenz()
DESIGN = np.array([[0.1, 5.2], [0.9, 7.8], [0.1, 7.8], [0.9, 5.2], [0.5, 6.5]])


def data(runs=5):
    low = mflno.sample(PROBLEM, grid_cases(PROBLEM, 5), 0, show=False)
    return Data(PROBLEM, (low,), mflno.sample(PROBLEM, DESIGN[:runs], 1, show=False))


def auto():
    return Auto({"pod-gp": PodGP(), "line": Line()})


def test_weights_are_the_likelihood_of_the_errors():
    weights = weighed([0.1, 0.2, 10.0], 3)
    assert np.isclose(weights[0] / weights[1], 8.0)
    assert weights[2] == 0
    assert np.isclose(weights.sum(), 1)


def test_few_runs_weigh_as_five_and_disagreement_as_four():
    scores = [0.1, 0.15]
    for runs, power in ((3, FIRM), (5, 5), (8, 8)):
        weights, doubts = votes(scores, runs)
        assert np.isclose(weights[0] / weights[1], 1.5**power)
        assert np.isclose(doubts[0] / doubts[1], 1.5**4)


def test_the_better_method_is_chosen_without_a_look_at_any_test_case():
    fitted = auto().fit(data(), seed=0, show=False)
    assert fitted.names == ("line",)
    assert fitted.story["line"]["error"] < 1e-4 < fitted.story["pod-gp"]["error"]


def test_nothing_more_is_tried_once_one_method_is_exact_enough():
    exact_first = Auto({"line": Line(), "pod-gp": PodGP()})
    fitted = exact_first.fit(data(), seed=0, show=False)
    assert "not tried" in fitted.story["pod-gp"]["refused"]


def test_a_mixture_spreads_by_its_members_and_between_them():
    one = Law(np.zeros((1, 1, 1)), np.full((1, 1, 1), 3.0))
    two = Law(np.full((1, 1, 1), 8.0), np.zeros((1, 1, 1)))
    law = mixed([one, two], Votes(np.array([0.5, 0.5]), np.array([0.5, 0.5])))
    assert law.mean.item() == 4.0
    assert np.isclose(law.std.item() ** 2, 0.5 * 9 + 16)


def test_a_member_that_is_not_believed_still_widens_the_band():
    one = Law(np.zeros((1, 1, 1)), np.full((1, 1, 1), 3.0))
    two = Law(np.full((1, 1, 1), 8.0), np.full((1, 1, 1), 100.0))
    law = mixed([one, two], Votes(np.array([1.0, 0.0]), np.array([0.75, 0.25])))
    assert law.mean.item() == 0.0
    assert np.isclose(law.std.item() ** 2, 9 + 0.25 * 64)


def test_a_run_has_no_say_in_the_weights_that_judge_it():
    found = data()
    truth = found.high.values
    off = lambda size: Law(truth * (1 + size[:, None, None]), np.ones_like(truth))
    good, lucky = np.full(5, 0.1), np.array([1e-6, 1.0, 1.0, 1.0, 1.0])
    members = [
        Member("good", None, off(good), 0.1),  # pyright: ignore[reportArgumentType]
        Member("lucky", None, off(lucky), float(np.sqrt(np.square(lucky).mean()))),  # pyright: ignore[reportArgumentType]
    ]
    law = combined(members, found)
    assert law is not None
    errors = np.abs(law.mean / truth - 1).max((1, 2))
    assert np.allclose(errors, 0.1, atol=1e-3)


def test_draws_are_functions_of_one_member_each_and_spread_as_the_law_says():
    found = data(3)
    members = [
        Member(name, method.fit(found, seed=0), None, 1.0)
        for name, method in {"line": Line(), "pod-gp": PodGP()}.items()
    ]
    stack = StackPredictor.of(members, {}, found, 0)
    query = found.query(np.array([[0.4, 6.0], [0.7, 7.0]]))
    law = stack.law(query, draws=400)
    assert law.draws is not None
    assert law.draws.shape == (400, 2, 1, 2048)
    alone = stack.law(found.query(np.array([[0.7, 7.0]])), draws=400).draws
    assert np.allclose(law.draws[:, 1:], np.asarray(alone))
    spread = np.sqrt(np.square(law.draws - law.mean).mean(0))
    ratio = np.sqrt(np.square(spread).mean() / np.square(law.std).mean())
    assert abs(ratio - 1) < 0.2


def test_draws_disagree_as_members_do():
    """One member counts, another is doubted with it: draws lie about the mean of either."""
    found = data(3)
    pair = [method.fit(found, seed=0) for method in (Line(), PodGP())]
    weights = Votes(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    stack = StackPredictor(("line", "pod-gp"), tuple(pair), weights, {}, 0)
    query = found.query(np.array([[0.4, 6.0]]))
    law = stack.law(query, draws=400)
    middle, other = (each.law(query).mean for each in pair)
    assert np.array_equal(law.mean, middle)
    off = np.asarray(law.draws) - law.mean
    # Members are far apart next to the line's own deviation, so a draw tells whose mean it has.
    share = np.mean(
        np.square(off - (other - middle)).sum((1, 2, 3)) < np.square(off).sum((1, 2, 3))
    )
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(400)
    spread = np.sqrt(np.square(off).mean() / np.square(law.std).mean())
    assert abs(spread - 1) < 0.2


def test_a_saved_stack_answers_with_the_same_bits(tmp_path):
    found = data(4)
    surrogate = mflno.fit(PROBLEM, [*found.lower, found.high], auto(), show=False)
    surrogate.save(tmp_path / "one.mflno")
    again = mflno.load(tmp_path / "one.mflno")
    cases = [[0.3, 5.5], [0.8, 7.1]]
    first, second = surrogate.predict(cases, draws=2), again.predict(cases, draws=2)
    assert np.array_equal(first.mean, second.mean)
    assert np.array_equal(first.std, second.std)
    assert np.array_equal(np.asarray(first.draws), np.asarray(second.draws))


def test_nothing_that_suits_is_an_error_that_says_why():
    class Unfit:
        name = "unfit"

        def fit(self, data, **_):
            raise ArgumentError("unfit.data", "must be round", "square", "round it")

    methods: Any = {"unfit": Unfit()}
    with pytest.raises(ArgumentError, match="must be round"):
        Auto(methods).fit(data(3), seed=0, show=False)
