"""Each rule against brute force, and every rule against the contract."""

from itertools import combinations, product

import numpy as np
import pytest

from mflno.active import (
    CHOICES,
    Beliefs,
    Conditioned,
    CoreSet,
    LargestCluster,
    Maximin,
    Planned,
    Random,
    Shortlist,
    Sketched,
    Sobol,
    Stochastic,
    TopB,
    VarianceReduction,
    View,
    choice_named,
    grid_pool,
)
from mflno.active.covariance import conditioned_features, noise_floor
from mflno.active.planned import Design, matern, prior_features
from mflno.active.view import gaps
from mflno.errors import ArgumentError
from mflno.testing import check_choice, choose, made_up_view

RNG = np.random.default_rng(0)


def generator():
    return np.random.default_rng(0)


def believed(features, candidates, **known):
    """A view whose posterior has just these features for candidates, done, pending."""
    features = np.asarray(features, float)
    spread = np.linalg.norm(features, axis=1)
    posterior = lambda cases: Beliefs(features, spread, np.ones(len(features)))
    return View(candidates, posterior=posterior, **known)


def random_view(count=25, length=6, done=3, pending=2):
    cases = RNG.uniform(-1, 1, size=(count + done + pending, 2))
    features = RNG.normal(size=(len(cases), length)) * RNG.uniform(0.2, 2, (len(cases), 1))
    parts = np.split(cases, [count, count + done])
    return believed(features, parts[0], done=parts[1], pending=parts[2]), features


def without(covariance, observed, noise):
    """The covariance given observations, by the textbook formula."""
    if not len(observed):
        return covariance
    block = covariance[np.ix_(observed, observed)] + noise * np.eye(len(observed))
    cross = covariance[:, observed]
    return covariance - cross @ np.linalg.solve(block, cross.T)


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("width", [1, 2, 4])
def test_every_rule_keeps_the_contract(name, width):
    check_choice(choice_named(name), width=width)


@pytest.mark.parametrize("name", CHOICES)
def test_a_candidate_listed_twice_is_one_candidate(name):
    view = made_up_view(2, reads_posterior=True)
    twice = View(np.concatenate([view.candidates[10:14]] * 2), posterior=view.posterior)
    picks = choose(choice_named(name), twice, 9, 0)
    assert len(picks) == 4


def test_the_contract_catches_a_rule_that_asks_again():
    class Again(Random):
        def choose(self, view, batch, generator):
            return np.arange(batch)

    with pytest.raises(AssertionError, match="asked for again"):
        check_choice(Again())


def test_the_contract_catches_a_rule_that_depends_on_the_order():
    class First(Random):
        def choose(self, view, batch, generator):
            Random().choose(view, batch, generator)
            return view.free[:batch]

    with pytest.raises(AssertionError, match="order of the candidates"):
        check_choice(First())


def test_an_unknown_rule_and_an_unknown_option_are_refused():
    with pytest.raises(ArgumentError, match="must be a known rule; got 'best'"):
        choice_named("best")
    with pytest.raises(ArgumentError, match="choice 'topb': takes other options"):
        choice_named("topb", beta=1)


def test_a_rule_that_reads_a_posterior_says_so_when_there_is_none():
    view = View(grid_pool(2, 3))
    for name, rule in CHOICES.items():
        if rule.reads_posterior:
            with pytest.raises(ArgumentError, match="reads a posterior"):
                choice_named(name).choose(view, 1, generator())


def test_topb_takes_the_largest_time_means_of_the_standard_deviation():
    draws = RNG.normal(size=(9, 30, 2, 7)) * RNG.uniform(0.5, 2, size=(30, 1, 1))
    cases = RNG.uniform(-1, 1, size=(30, 2))
    view = View(cases, posterior=Sketched(lambda asked: draws[:, : len(asked)], generator()))
    scores = draws.std(0, ddof=1).mean((1, 2))
    assert np.array_equal(TopB().choose(view, 4, generator()), np.argsort(-scores)[:4])
    relative = scores / np.sqrt(np.square(draws.mean(0)).mean((1, 2)))
    picks = TopB(relative=True).choose(view, 4, generator())
    assert np.array_equal(picks, np.argsort(-relative)[:4])


def test_maximin_takes_the_farthest_candidate_each_time():
    cases, known = RNG.uniform(-1, 1, size=(40, 3)), RNG.uniform(-1, 1, size=(4, 3))
    view = View(cases, done=known[:2], pending=known[2:3], failed=known[3:])
    view.__dict__["chance"] = np.ones(40)
    centres, picks = list(known), []
    for _ in range(5):
        least = [min(np.linalg.norm(case - centre) for centre in centres) for case in cases]
        picks.append(int(np.argmax(least)))
        centres.append(cases[picks[-1]])
    assert Maximin().choose(view, 5, generator()).tolist() == picks


def test_an_empty_box_is_begun_in_its_middle():
    picks = Maximin().choose(View(grid_pool(2, 5)), 2, generator())
    assert grid_pool(2, 5)[picks].tolist() == [[0.0, 0.0], [-1.0, -1.0]]
    middle = Planned().choose(View(grid_pool(2, 5)), 1, generator())
    assert grid_pool(2, 5)[middle].tolist() == [[0.0, 0.0]]


def test_conditioned_is_the_greedy_maximum_of_the_determinant():
    view, features = random_view()
    noise = noise_floor(features[:25], 0.01)
    covariance = features @ features.T
    chosen = [28, 29]
    for pick in Conditioned(relative=False).choose(view, 6, generator()):
        dets = [
            np.linalg.det(covariance[np.ix_(b, b)] + noise * np.eye(len(b)))
            if j not in chosen
            else -1
            for j in range(25)
            for b in [[*chosen, j]]
        ]
        assert pick == np.argmax(dets)
        chosen.append(int(pick))


def test_ivr_is_the_largest_fall_of_the_total_variance():
    view, features = random_view()
    noise = noise_floor(features[:25], 0.01)
    covariance, chosen = features @ features.T, [28, 29]
    for pick in VarianceReduction(relative=False).choose(view, 5, generator()):
        totals = [
            np.trace(without(covariance, [*chosen, j], noise)[:25, :25]) for j in range(25)
        ]
        totals = [np.inf if j in chosen else total for j, total in enumerate(totals)]
        assert pick == np.argmin(totals)
        chosen.append(int(pick))


def test_features_conditioned_on_a_run_have_the_conditional_covariance():
    features = RNG.normal(size=(8, 5))
    for noise in (0.0, 0.3):
        found = conditioned_features(features, features[2], noise)
        wanted = without(features @ features.T, [2], noise)
        assert np.allclose(found @ found.T, wanted, atol=1e-12)


def test_coreset_is_maximin_among_features():
    view, features = random_view()
    centres, picks = list(features[25:]), []
    for _ in range(5):
        least = [min(np.linalg.norm(f - c) for c in centres) for f in features[:25]]
        picks.append(int(np.argmax(least)))
        centres.append(features[picks[-1]])
    assert CoreSet(relative=False).choose(view, 5, generator()).tolist() == picks


def test_lcmd_takes_the_farthest_member_of_the_largest_cluster():
    view, features = random_view()
    centres = list(features[25:])
    for pick in LargestCluster(relative=False).choose(view, 6, generator()):
        distance = np.array([[np.sum((f - c) ** 2) for c in centres] for f in features[:25]])
        owner, least = distance.argmin(1), distance.min(1)
        largest = max(set(owner), key=lambda k, o=owner, d=least: d[o == k].sum())
        assert pick == np.argmax(np.where(owner == largest, least, -1))
        centres.append(features[pick])


def test_sbal_draws_in_proportion_to_a_power_of_sigma():
    cases = grid_pool(1, 5)
    features = np.array([[1.0], [2.0], [3.0], [0.5], [1.5]])
    draws, rng = 4000, generator()
    for power in (0.0, 1.0, 2.0):
        rule = Stochastic(relative=False, power=power)
        view = believed(features, cases)
        counts = np.bincount([rule.choose(view, 1, rng)[0] for _ in range(draws)], minlength=5)
        law = features[:, 0] ** (2 * power) / (features[:, 0] ** (2 * power)).sum()
        error = np.sqrt(law * (1 - law) / draws)
        assert np.all(np.abs(counts / draws - law) < 4.5 * error)


def test_random_is_uniform_over_the_free_candidates():
    view = View(grid_pool(1, 6), done=grid_pool(1, 6)[[2]])
    rng, draws = generator(), 4000
    counts = np.bincount([Random().choose(view, 1, rng)[0] for _ in range(draws)], minlength=6)
    assert counts[2] == 0
    assert np.all(np.abs(counts[[0, 1, 3, 4, 5]] / draws - 0.2) < 4.5 * np.sqrt(0.16 / draws))


def test_sobol_goes_on_where_it_ended():
    pool = grid_pool(2, 33)
    at_once = Sobol().choose(View(pool), 8, generator())
    first = Sobol().choose(View(pool), 3, generator())
    later = Sobol().choose(View(pool, done=pool[first]), 5, np.random.default_rng(9))
    assert at_once.tolist() == [*first, *later]
    other = Sobol(scramble=1).choose(View(pool), 8, generator())
    assert other.tolist() != at_once.tolist()
    quarter = (pool[at_once] > 0) @ [1, 2]
    assert np.bincount(quarter).tolist() == [2, 2, 2, 2]


def test_the_shortlist_spreads_over_the_uncertain_fifth():
    view, features = random_view(count=40)
    short = np.argsort(-np.linalg.norm(features[:40], axis=1))[:8]
    centres, picks = list(view.known), []
    for _ in range(3):
        least = {j: min(np.linalg.norm(view.candidates[j] - c) for c in centres) for j in short}
        picks.append(max(least, key=lambda j: least[j]))
        centres.append(view.candidates[picks[-1]])
    assert Shortlist().choose(view, 3, generator()).tolist() == picks


def test_prior_features_give_the_prior_covariance():
    cases = RNG.uniform(-1, 1, size=(60, 2))
    features = prior_features(cases, 2.0, 60)
    assert np.allclose(features @ features.T, matern(gaps(cases, cases), 2.0), atol=1e-6)
    assert np.linalg.eigvalsh(matern(gaps(cases, cases), 2.0)).min() > 0
    short = prior_features(cases, 2.0, 30)
    assert np.abs(short @ short.T - matern(gaps(cases, cases), 2.0)).max() < 0.03


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_the_planned_gain_is_the_fall_of_the_powers_of_all_variances(power):
    cases = RNG.uniform(-1, 1, size=(20, 2))
    features = prior_features(cases, 1.0, 20)
    design = Design(View(cases), power, 1e-3)
    covariance, mask = features @ features.T, np.arange(20) != 4
    now = (np.diag(covariance) ** power).sum()
    left = [(np.diag(without(covariance, [j], 1e-3)) ** power).sum() for j in range(20)]
    gain = design.gain(features, mask)
    assert np.allclose(gain[mask], now - np.array(left)[mask])
    assert gain[4] == -np.inf


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_no_exchange_of_a_planned_run_would_help(power):
    for seed in range(4):
        cases = np.random.default_rng(seed).uniform(-1, 1, size=(14, 2))
        covariance = matern(gaps(cases, cases), 2.0)
        left = lambda plan, k=covariance: np.diag(without(k, [0, *plan], 1e-4))
        loss = lambda plan, v=left: (np.maximum(v(plan), 0.0) ** power).sum()
        pick = lambda batch, ahead, c=cases: Planned(
            reach=2.0, power=power, ahead=ahead
        ).choose(View(c, done=c[:1], remaining=3), batch, generator())
        plan = pick(3, 3).tolist()
        for place, other in product(range(3), set(range(1, 14)) - set(plan)):
            swapped = [*plan[:place], other, *plan[place + 1 :]]
            assert loss(plan) <= loss(swapped) * (1 + 1e-6)
        every = [loss(list(p)) for p in combinations(range(1, 14), 3)]
        assert loss(plan) <= np.quantile(every, 0.02)
        assert loss(pick(1, 1)) == pytest.approx(min(loss([j]) for j in range(1, 14)))
        assert pick(1, 3)[0] in plan


def test_a_plan_looks_ahead_only_as_far_as_the_budget():
    pool = grid_pool(2, 9)
    one = Planned().choose(View(pool, done=pool[[40]], remaining=1), 1, generator())
    greedy = Planned(ahead=1).choose(View(pool, done=pool[[40]], remaining=6), 1, generator())
    ahead = Planned().choose(View(pool, done=pool[[40]], remaining=6), 1, generator())
    assert one == greedy
    assert ahead != greedy


def test_relative_beliefs_move_the_picks_to_where_the_answer_is_small():
    features = np.array([[1.0], [0.5]])
    posterior = lambda _: Beliefs(features, np.array([1.0, 0.5]), np.array([10.0, 1.0]))
    view = View(np.array([[-1.0], [1.0]]), posterior=posterior)
    for rule in (TopB, Conditioned, VarianceReduction, Shortlist):
        share = {"share": 0.5} if rule is Shortlist else {}
        assert rule(relative=False, **share).choose(view, 1, generator()) == 0
        assert rule(relative=True, **share).choose(view, 1, generator()) == 1


@pytest.mark.parametrize("name", ["planned", "maximin", "ivr", "conditioned", "topb"])
def test_rules_keep_away_from_where_runs_fail(name):
    pool = grid_pool(1, 21)
    posterior = lambda cases: Beliefs(
        np.eye(len(cases)), np.ones(len(cases)), np.ones(len(cases))
    )
    failed = np.array([[0.55], [0.65], [0.75], [0.85], [0.95], [0.98]])
    view = View(pool, done=np.array([[-0.95]]), failed=failed, posterior=posterior)
    pick = choice_named(name).choose(view, 1, generator())
    assert pool[pick[0], 0] < 0.3
    assert np.all(view.chance[:4] > 0.7)
    assert np.all(view.chance[-4:] < 0.4)


def test_without_failures_every_run_is_expected_to_succeed():
    assert np.all(View(grid_pool(2, 3), done=grid_pool(2, 3)[:2]).chance == 1)


def test_a_view_refuses_cases_that_do_not_fit():
    pool = grid_pool(2, 3)
    with pytest.raises(ArgumentError, match=r"View.candidates: must lie in"):
        View(pool * 3)
    with pytest.raises(ArgumentError, match=r"View.done: must lie in"):
        View(pool, done=np.array([[np.nan, 0.0]]))
    with pytest.raises(ArgumentError, match=r"View.pending: must have 2 columns"):
        View(pool, pending=np.zeros((1, 3)))
    with pytest.raises(ArgumentError, match=r"batch: must be at least 1"):
        Random().choose(View(pool), 0, generator())
