"""Costs, the guard and the stopping rules against closed forms and brute force."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import kendalltau, norm, t

from mflno.active import (
    Budget,
    ErrorGoal,
    Evidence,
    GainPerCost,
    Guard,
    Offer,
    annealed_costs,
    concordance,
    expected_error,
)
from mflno.errors import ArgumentError

RNG = np.random.default_rng(0)


def test_costs_begin_equal_rise_steadily_and_end_true():
    costs = np.array([1.0, 5.0, 34.0])
    rounds = np.array([annealed_costs(costs, t) for t in range(80)])
    assert np.allclose(rounds[0], 1 / 3)
    assert np.allclose(rounds[-1], costs / 40)
    ratio = rounds[:, 2] / rounds[:, 0]
    assert np.all(np.diff(ratio) > 0)
    assert ratio[-1] == pytest.approx(34, rel=1e-6)
    with pytest.raises(ArgumentError, match="must be positive"):
        annealed_costs(np.array([1.0, 0.0]), 0)


def levels(correlation, count=9, length=40):
    """Low and high features of nine cases, correlated case by case."""
    high = RNG.normal(size=(count, length)) / np.sqrt(length)
    other = RNG.normal(size=(count, length)) / np.sqrt(length)
    low = correlation * high + np.sqrt(1 - correlation**2) * other
    return np.stack([low, high])


def picks_of(features, costs, *, age, batch=1, taken=None, chance=None, **words):
    count = features.shape[1]
    taken = np.zeros((2, count), dtype=bool) if taken is None else taken
    cases = np.linspace(-1, 1, count)[:, None]
    offer = Offer(features, taken, cases, np.array(costs), chance)
    return GainPerCost().choose(offer, batch=batch, age=age, **words)


def test_gain_per_cost_is_the_fall_of_the_high_levels_variance_per_price():
    features, costs = levels(0.7), np.array([1.0, 3.0])
    flat = features.reshape(18, -1)
    covariance = flat @ flat.T
    noise = [0.01 * np.square(level).sum(1).mean() for level in features]
    high = covariance[9:]

    def left(bought):
        """Total variance at the high level once these runs are in."""
        block = covariance[np.ix_(bought, bought)] + np.diag([noise[b // 9] for b in bought])
        cross = high[:, bought]
        return np.trace(high[:, 9:]) - np.trace(cross @ np.linalg.solve(block, cross.T))

    bought: list[int] = []
    price = annealed_costs(costs, 4)
    for pick in picks_of(features, costs, age=4, batch=4):
        before = left(bought)
        rates = [
            -1 if j in bought else (before - left([*bought, j])) / price[j // 9]
            for j in range(18)
        ]
        assert (pick.level, pick.candidate) == divmod(int(np.argmax(rates)), 9)
        assert pick.gain == pytest.approx(max(rates) * price[pick.level])
        bought.append(pick.level * 9 + pick.candidate)


def test_early_rounds_do_not_stick_to_the_cheap_level_and_late_ones_use_it():
    features, costs = levels(0.6), [1.0, 40.0]
    early = picks_of(features, costs, age=0, batch=3)
    late = picks_of(features, costs, age=60, batch=3)
    assert [pick.level for pick in early] == [1, 1, 1]
    assert [pick.level for pick in late] == [0, 0, 0]


def test_a_cheap_level_that_says_nothing_is_not_bought():
    features = levels(0.0)
    features[0, :, 20:], features[1, :, :20] = 0.0, 0.0
    picks = picks_of(features, [1.0, 40.0], age=100, batch=2)
    assert [pick.level for pick in picks] == [1, 1]


def test_a_run_that_tells_next_to_nothing_is_not_bought_at_any_price():
    features = levels(0.0)
    features[0, :, 20:], features[1, :, :20] = 0.0, 0.0
    # A trace of the high level, far below what one high candidate has of its own.
    features[0] += 0.01 * features[1]
    taken = np.zeros((2, 9), dtype=bool)
    taken[1] = True
    assert picks_of(features, [1e-9, 40.0], age=100, taken=taken) == []


def test_taken_runs_are_not_bought_again():
    taken = np.ones((2, 9), dtype=bool)
    taken[1, 4] = False
    picks = picks_of(levels(0.5), [1.0, 2.0], age=3, batch=5, taken=taken)
    assert [(pick.level, pick.candidate) for pick in picks] == [(1, 4)]


def test_no_more_is_bought_than_there_is_money_for():
    features, costs = levels(0.6), [1.0, 4.0]
    picks = picks_of(features, costs, age=0, batch=9, money=6.5)
    assert [pick.level for pick in picks] == [1, 0, 0]
    free = picks_of(features, costs, age=0, batch=3)
    assert picks[0] == free[0]
    assert picks_of(features, costs, age=0, batch=3, money=0.9) == []


def test_a_run_that_will_hardly_succeed_counts_for_less():
    features = levels(0.5)
    first = picks_of(features, [1.0, 2.0], age=0)[0]
    chance = np.ones((2, 9))
    chance[first.level, first.candidate] = 1e-3
    second = picks_of(features, [1.0, 2.0], age=0, chance=chance)[0]
    assert (second.level, second.candidate) != (first.level, first.candidate)


def group(spread, error):
    return Evidence(np.array(spread, float), np.array(error, float))


def test_the_chance_of_luck_is_counted_over_all_orders():
    error = [0.1, 0.3, 0.2], [0.5, 0.4]
    spread = [1.0, 2.0, 3.0], [2.0, 1.0]
    share, chance, pairs = concordance(
        [group(s, e) for s, e in zip(spread, error, strict=True)]
    )
    agreeing = lambda s, e: sum(
        (s[i] - s[j]) * (e[i] - e[j]) > 0 for i in range(len(s)) for j in range(i)
    )
    found = sum(agreeing(s, e) for s, e in zip(spread, error, strict=True))
    every = [
        agreeing(p, error[0]) + agreeing(q, error[1])
        for p, q in product(permutations(spread[0]), permutations(spread[1]))
    ]
    assert (pairs, share) == (4, found / 4)
    assert chance == pytest.approx(np.mean(np.array(every) >= found))


def test_one_group_is_kendalls_test():
    spread, error = RNG.normal(size=(2, 8))
    share, chance, _ = concordance([group(spread, error)])
    known = tuple(kendalltau(spread, error, alternative="greater", method="exact"))
    assert (2 * share - 1, chance) == pytest.approx(known)


def test_a_common_trend_over_rounds_is_not_evidence():
    falling = [group([s], [s]) for s in (1.0, 0.5, 0.2, 0.1)]
    decision = Guard().decide(falling)
    assert not decision.trusted
    assert decision.choice == Guard().careful
    assert "no two runs of one round" in decision.sentence


def test_the_guard_trusts_a_sigma_that_orders_the_errors_and_says_so():
    rounds = [group([1.0, 2.0], [0.1, 0.3]) for _ in range(4)]
    decision = Guard().decide(rounds)
    assert decision.trusted
    assert decision.choice == Guard().bold
    assert decision.sentence == (
        "σ and error agree in 100% of 4 pairs (by luck: 6%): trusting σ"
    )
    turned = Guard().decide([group([2.0, 1.0], [0.1, 0.3]) for _ in range(4)])
    assert not turned.trusted
    assert "agree in 0% of 4 pairs" in turned.sentence


def test_the_guard_needs_more_than_three_pairs():
    assert not Guard().decide([group([1.0, 2.0], [0.1, 0.3])] * 3).trusted


def test_a_sigma_that_knows_nothing_is_trusted_as_rarely_as_stated():
    trusted = [
        Guard().decide([group(*RNG.normal(size=(2, n))) for n in (2, 2, 2, 5)]).trusted
        for _ in range(1500)
    ]
    assert np.mean(trusted) < 0.1 + 3 * np.sqrt(0.09 / 1500)


def test_the_guards_careful_rule_reads_no_posterior():
    assert not Guard().careful.reads_posterior
    assert Guard().bold.reads_posterior


def test_evidence_refuses_what_is_no_pair_of_numbers():
    for spread, error in (([1.0], [1.0, 2.0]), ([1.0], [np.nan])):
        with pytest.raises(ArgumentError, match="one finite σ for each finite error"):
            group(spread, error)


def test_a_budget_stops_when_it_is_spent():
    assert not Budget(9).judge(7).stop
    verdict = Budget(9).judge(9)
    assert (verdict.stop, verdict.sentence) == (True, "9 of 9 runs spent")


def test_with_one_sigma_the_expected_error_is_a_prediction_interval():
    ratios = np.exp(RNG.normal(0.3, 0.5, size=8))
    logs = np.log(ratios)
    wanted = 0.02 * np.exp(logs.mean() + t.ppf(0.95, 7) * logs.std(ddof=1) * np.sqrt(1 + 1 / 8))
    assert expected_error(np.full(30, 0.02), ratios, 0.95) == pytest.approx(wanted, rel=1e-6)


def test_with_many_ratios_the_expected_error_is_the_mixtures_quantile():
    spread = np.exp(RNG.normal(-3, 0.7, size=400))
    ratios = np.exp(0.2 + 0.4 * norm.ppf((np.arange(4000) + 0.5) / 4000))
    errors = np.sort((spread[:, None] * ratios).ravel())
    wanted = errors[int(0.9 * len(errors))]
    assert expected_error(spread, ratios, 0.9) == pytest.approx(wanted, rel=0.01)


def test_the_next_error_is_below_the_expected_one_as_often_as_stated():
    hits, trials = 0, 3000
    for _ in range(trials):
        ratios = np.exp(RNG.normal(0.5, 0.6, size=7))
        hits += np.exp(RNG.normal(0.5, 0.6)) <= expected_error(np.ones(1), ratios[:6], 0.9)
    assert abs(hits / trials - 0.9) < 4 * np.sqrt(0.09 / trials)


def test_the_error_goal_waits_for_evidence_then_judges():
    goal = ErrorGoal(0.02)
    few = goal.judge(np.full(50, 0.001), [group([1, 1], [1, 1])])
    assert not few.stop
    assert "2 of 5 runs needed" in few.sentence
    evidence = [group([0.01] * 6, [0.009, 0.01, 0.011, 0.01, 0.0095, 0.0105])]
    good = goal.judge(np.full(50, 0.01), evidence)
    assert good.stop
    assert good.expected < 0.02
    assert good.sentence.startswith("95% of the box is expected within 0.0")
    bad = goal.judge(np.full(50, 0.05), evidence)
    assert not bad.stop
    assert "not below 0.02" in bad.sentence


def test_a_sigma_of_zero_with_an_error_forbids_stopping():
    evidence = [group([0.01] * 5 + [0.0], [0.01] * 6)]
    assert not ErrorGoal(0.02).judge(np.full(9, 0.001), evidence).stop


def test_expected_error_refuses_what_it_cannot_judge():
    with pytest.raises(ArgumentError, match="2 ratios"):
        expected_error(np.ones(3), np.ones(1))
