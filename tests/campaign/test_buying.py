"""Runs of every level bought: what is spent, on what, and that nothing is solved for free."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mflno
from mflno.campaign import Campaign, Inline, Plan, next_action, read_campaign, state_of
from mflno.campaign.buying import REACH, Market, conditioned
from mflno.campaign.state import ROUND, Choose, Fit, Stop, advance
from mflno.campaign.thrift import Bought, thrifty
from mflno.cli import main
from mflno.errors import ArgumentError
from mflno.multifidelity import Data, Line, PodGP, Query
from mflno.problems import Chain, grid_cases

CHAIN = Chain()
COSTS = [level.cost for level in CHAIN.levels]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, tmp_path, monkeypatch):
    # An empty cache of its own: what a surrogate solved for free would lie in it.
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def small(**words):
    usual = {"problem": "chain", "levels": "buy", "method": "mf-gp", "pool": "grid:8"}
    return Plan(**{**usual, "budget": 4.5, "start": 3, **words})


def done(path, plan=None, runner=None):
    campaign = Campaign(path, plan=plan or small())
    campaign.run(runner=runner or Inline(campaign.problem), show=False)
    return campaign


def test_a_campaign_pays_for_every_run_of_every_level_and_stays_within_its_budget(tmp_path):
    history = done(tmp_path / "c").history
    levels = [run.level for run in history.runs]
    assert levels[:9] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len({run.case for run in history.runs[:9]}) == 3
    assert {0, 1} <= set(levels[9:])
    paid = sum(COSTS[level] for level in levels)
    assert history.state.paid == pytest.approx(paid)
    assert paid <= 4.5
    assert 4.5 - paid < 1.0
    assert len({(run.case, run.level) for run in history.runs}) == len(levels)
    assert all(len(each.picks) <= ROUND for each in history.rounds)
    assert not (tmp_path / "c" / "lower").exists()
    assert not [*(tmp_path / "cache").rglob("*.safetensors")]


def test_lower_runs_are_told_from_high_ones_in_evidence_and_data(tmp_path):
    campaign = done(tmp_path / "c", small(budget=6.5))
    history = campaign.history
    top = {run.name for run in history.runs if run.level == 2}
    returned = [each["run"] for fit in history.fits for each in fit.returned]
    assert set(returned) <= top
    counts = [history.state.known_at(level) for level in range(3)]
    assert [len(history.trajectories(level)) for level in range(3)] == counts
    assert len(campaign.surrogate.cases) == counts[2]
    assert [len(known) for known in campaign.surrogate.known] == counts[:2]


def test_a_killed_campaign_buys_what_an_untouched_one_does(tmp_path):
    class Killed(Inline):
        def submit(self, job):
            if job.name == "0013":
                raise KeyboardInterrupt
            super().submit(job)

    whole = done(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        done(tmp_path / "c", runner=Killed(CHAIN))
    again = done(tmp_path / "c")
    told = lambda each: [(run.name, run.case, run.level) for run in each.history.runs]
    assert told(again) == told(whole)
    cases = [[2.5, 0.3], [5.0, 0.15]]
    first, second = (each.surrogate.predict(cases, draws=2) for each in (whole, again))
    assert np.array_equal(first.mean, second.mean)
    assert np.array_equal(np.asarray(first.draws), np.asarray(second.draws))


def test_the_choice_is_what_conditioning_the_joint_law_by_hand_gives(tmp_path):
    campaign = done(tmp_path / "c", small(budget=3.3))
    state, pool = campaign.history.state, grid_cases(CHAIN, 8)
    data = [campaign.history.trajectories(level) for level in range(3)]
    market = Market(CHAIN, campaign.plan, pool, state, data)
    features = market.law.features(np.random.default_rng(0).normal(size=(12, 9)))
    levels = [0, 2, 1]
    found = conditioned(features, levels)
    flat = features.reshape(36, -1)
    rows = [level * 12 + 9 + place for place, level in enumerate(levels)]
    noise = [1e-4 * np.square(features[level]).sum(1).mean() for level in levels]
    covariance = flat @ flat.T
    block = covariance[np.ix_(rows, rows)] + np.diag(noise)
    wanted = covariance - covariance[:, rows] @ np.linalg.solve(block, covariance[rows])
    keep = [level * 12 + place for level in range(3) for place in range(9)]
    left = found.reshape(27, -1)
    size = np.abs(wanted).max()
    # The noise is a ten thousandth: exact conditioning and its features differ by that much.
    assert np.abs(left @ left.T - wanted[np.ix_(keep, keep)]).max() < 1e-6 * size


def test_the_reach_is_measured_and_long_along_what_changes_nothing(tmp_path):
    class Flat(Chain):
        def solve_many(self, cases, level):
            return super().solve_many(
                np.stack([cases[:, 0], np.full(len(cases), 0.3)], 1), level
            )

    flat, cases = Flat(), grid_cases(CHAIN, 5)
    data = [mflno.sample(flat, cases, level, cache=False) for level in range(3)]
    plan = small()
    state = state_of([{"event": "created", "levels": 3}])
    kappa, damping = Market(flat, plan, cases, state, data).reaches
    assert damping > 5 * kappa
    few = [each.take(range(4)) for each in data]
    assert Market(flat, plan, cases, state, few).reaches.tolist() == [REACH, REACH]


def test_methods_that_solve_a_lower_level_to_answer_are_refused():
    cases = grid_cases(CHAIN, 3)
    low, middle, high = (mflno.sample(CHAIN, cases, k, cache=False) for k in range(3))
    data = Data(Bought(CHAIN), (low, middle), high)
    with pytest.raises(ArgumentError, match="bought run by run"):
        thrifty(Line()).fit(data, seed=0)
    held, free = (method.fit(data, seed=0) for method in (thrifty(PodGP()), PodGP()))
    asked = Query(CHAIN, np.array([[3.3, 0.21]]))
    assert np.array_equal(held.law(asked).mean, free.law(asked).mean)


def test_the_default_leaves_out_what_would_solve_for_free(tmp_path):
    campaign = done(tmp_path / "c", small(budget=3.3, method="auto"))
    story = getattr(campaign.surrogate.predictor, "story", {})
    assert "bought run by run" in story["gain"]["refused"]
    assert story["mf-gp"]["weight"] >= 0
    campaign.surrogate.predict([[2.7, 0.33]])
    assert not [*(tmp_path / "cache").rglob("*.safetensors")]


def test_failed_runs_are_paid_and_another_case_takes_their_place(tmp_path):
    class Moody(Chain):
        def solve(self, case, level):
            if level == 1 and case[0] > 5.0:
                raise mflno.SolveFailed("exit", "no")
            return super().solve(case, level)

    problem = Moody()
    campaign = Campaign(tmp_path / "c", problem, small(problem=""))
    campaign.run(runner=Inline(problem), show=False)
    state = campaign.history.state
    failed = state.named("failed")
    assert failed
    assert {run.level for run in failed} == {1}
    assert state.paid == pytest.approx(sum(COSTS[run.level] for run in state.runs.values()))
    assert campaign.surrogate.cases.shape[0] >= 3


def events(*counts):
    """A campaign of two levels, costs 1 and 4, with so many runs done at each."""
    levels = [{"cost": 1.0}, {"cost": 4.0}]
    state = state_of([{"event": "created", "levels": 2, "problem": {"levels": levels}}])
    for level, count in enumerate(counts):
        picks = [
            {"run": state.name(k), "case": [0.1 * k], "level": level} for k in range(count)
        ]
        state = advance(state, {"event": "chosen", "picks": picks})
    for name in state.runs:
        words = {"run": name, "seconds": 1.0, "cost": 1.0}
        state = advance(state, {"event": "returned", **words})
    return state


def test_rounds_are_as_large_as_their_money_and_the_last_takes_the_rest():
    plan = Plan("p", budget=40.0, levels="buy", batch=2, start=3, folder="/")
    state = events(5, 3)
    assert state.paid == 17.0
    assert next_action(state, plan) == Fit()
    fitted = advance(state, {"event": "fitted", "runs": state.done})
    assert next_action(fitted, plan) == Choose(ROUND, False, 8.0)
    last = next_action(fitted, replace(plan, budget=28.5))
    assert isinstance(last, Choose)
    assert last.money == pytest.approx(11.5)
    assert next_action(fitted, replace(plan, budget=17.9)) == Stop(
        "the budget of 17.9 is spent"
    )
    assert next_action(events(), plan) == Choose(3, design=True)
    assert next_action(events(), replace(plan, budget=11.0)) == Choose(2, design=True)
    scarce = next_action(events(1, 7), plan)
    assert scarce == Stop("1 of 1 runs of level 0 succeeded: too few to learn from")


@pytest.mark.parametrize("words", [{"choice": "ivr"}, {"lower": "grid:3"}, {"refine": True},
                                   {"budget": 0.0}, {"levels": "rent"}])  # fmt: skip
def test_a_plan_that_buys_refuses_what_it_does_not_use(words):
    with pytest.raises(ArgumentError, match=f"Plan.{next(iter(words))}"):
        small(**words)
    with pytest.raises(ArgumentError, match="a whole number"):
        Plan("chain", budget=4.5)


def test_a_method_known_to_need_a_lower_level_is_refused_before_anything_is_paid(tmp_path):
    with pytest.raises(ArgumentError, match=r"Plan\.method: must answer without solving"):
        done(tmp_path / "c", small(method="line"))
    assert not (tmp_path / "c").exists()


def test_asked_and_told_by_name_each_run_keeps_its_level(tmp_path, capsys):
    words = ["--levels", "buy", "--budget", "5", "--method", "mf-gp", "--pool", "grid:8"]
    line = ["ask", "c", "-n", "3", "--problem", "chain", "--to", "n.csv", "--quiet", *words]
    assert main(line) == 0
    counts = []
    for count in (9, 4):
        rows = list(csv.DictReader(Path("n.csv").read_text().splitlines()))
        counts.append(len(rows))
        for row in rows:
            level = [each.name for each in CHAIN.levels].index(row["level"])
            case = np.array([float(row["kappa"]), float(row["c"])])
            table = np.stack([CHAIN.levels[level].grid, CHAIN.solve(case, level)[0]], 1)
            np.savetxt("u.csv", table, "%.17g", ",", header="time,u", comments="")
            assert main(["tell", "c", "u.csv", "--run", row["run"]]) == 0
        if count == 9:
            assert main(["ask", "c", "-n", "4", "--to", "n.csv", "--quiet"]) == 0
    assert counts == [9, 4]
    capsys.readouterr()
    assert main(["status", "c", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["done_by_level"]) == 13
    assert told["spent"] == pytest.approx(read_campaign("c").state.paid)
    assert main(["status", "c"]) == 0
    assert "of 5 spent" in capsys.readouterr().out


def test_the_page_of_a_campaign_that_buys_says_what_was_paid(tmp_path):
    from mflno.report import write_report

    done(tmp_path / "c", small(budget=3.3))
    text = write_report(tmp_path / "c", most=200).page.read_text()
    assert "Runs of every level were paid for, 3.3 in all." in text
    assert "Runs, level by level" in text
