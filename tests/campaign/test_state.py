"""The two pure decisions: what follows from a journal, and what to do next."""

from dataclasses import replace

import numpy as np
import pytest

from mflno.campaign import Plan, State, advance, next_action, state_of
from mflno.campaign.state import Choose, Fit, Stop, Submit, Wait

PLAN = Plan("chain", budget=7, batch=2, start=3, folder="/")
CREATED = {"event": "created", "levels": 2}


def chosen(state, count, level=1):
    picks = [{"run": state.name(k), "case": [0.1 * k], "level": level} for k in range(count)]
    return {"event": "chosen", "picks": picks}


def ended(run, ok, again=False):
    words = {"run": run, "seconds": 1.0, "cost": 1.0}
    if ok:
        return {"event": "returned", **words}
    told = {"kind": "nan", "detail": "", "retryable": again, "again": again}
    return {"event": "failed", **words, **told}


def driven(plan, generator, fails=0.0, slots=2, limit=1000):
    """A campaign whose solver answers at random; every action taken, and the state."""
    state, actions = state_of([CREATED]), []
    for _ in range(limit):
        action = next_action(state, plan, slots)
        actions.append((action, state))
        if isinstance(action, Stop):
            return actions, state
        if isinstance(action, Submit):
            event = {"event": "submitted", "run": action.run.name}
        elif isinstance(action, Choose):
            event = chosen(state, action.count)
        elif isinstance(action, Fit):
            event = {"event": "fitted", "runs": state.done}
        else:
            run = generator.choice([run.name for run in state.named("working")])
            failed = generator.random() < fails
            again = failed and state.runs[run].attempt < plan.retries
            event = ended(run, not failed, bool(again))
        state = advance(state, event)
    raise AssertionError("a campaign must end")


@pytest.mark.parametrize("overlap", [0, 1, 3])
@pytest.mark.parametrize("fails", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_every_campaign_ends_within_its_budget(overlap, fails, seed):
    plan = replace(PLAN, overlap=overlap)
    actions, state = driven(plan, np.random.default_rng(seed), fails)
    assert state.spent <= plan.budget
    assert not state.named("waiting", "working")
    for action, before in actions:
        if isinstance(action, Choose | Fit):
            assert len(before.named("waiting", "working")) <= overlap
        if isinstance(action, Submit):
            assert len(before.named("working")) < 2
    if state.known >= 2:
        assert state.fitted == state.done
    else:
        assert "too few" in actions[-1][0].reason


def test_a_sound_campaign_fits_at_three_five_and_seven():
    actions, state = driven(PLAN, np.random.default_rng(0))
    fits = [before.known for action, before in actions if isinstance(action, Fit)]
    counts = [action.count for action, _ in actions if isinstance(action, Choose)]
    assert (fits, counts) == ([3, 5, 7], [3, 2, 2])
    assert actions[-1][0] == Stop("the budget of 7 runs is spent")
    assert state.spent == 7


def test_start_runs_that_failed_are_replaced_before_the_first_fit():
    state = state_of([CREATED, chosen(State(), 3)])
    for run, ok in (("0000", True), ("0001", False), ("0002", True)):
        state = advance(state, {"event": "submitted", "run": run})
        state = advance(state, ended(run, ok))
    assert next_action(state, PLAN) == Choose(1, design=True)


def test_nothing_waits_for_a_slow_run_when_overlap_allows_it():
    state = state_of([CREATED, chosen(State(), 4)])
    for run in ("0000", "0001", "0002", "0003"):
        state = advance(state, {"event": "submitted", "run": run})
    for run in ("0000", "0002", "0003"):
        state = advance(state, ended(run, True))
    assert next_action(state, PLAN, 2) == Wait()
    assert next_action(state, replace(PLAN, overlap=1), 2) == Fit()


def test_a_failed_run_is_tried_again_under_another_name_then_given_up():
    sent = {"event": "submitted", "run": "0000"}
    state = advance(state_of([CREATED, chosen(State(), 3)]), sent)
    state = advance(state, ended("0000", False, again=True))
    assert state.runs["0000"].folder == "0000-retry1"
    assert next_action(state, PLAN) == Submit(state.runs["0000"])
    state = advance(advance(state, sent), ended("0000", False))
    assert state.runs["0000"].state == "failed"
    assert state.runs["0000"].cost == 2.0


def test_a_goal_that_is_met_stops_and_a_higher_budget_goes_on():
    state = state_of([CREATED, chosen(State(), 3)])
    for run in ("0000", "0001", "0002"):
        state = advance(state, ended(run, True))
    met = advance(state, {"event": "fitted", "runs": state.done, "met": True})
    assert next_action(met, PLAN) == Stop("the goal is met")
    spent = advance(state, {"event": "fitted", "runs": state.done})
    assert isinstance(next_action(spent, replace(PLAN, budget=3)), Stop)
    assert next_action(spent, PLAN) == Choose(2, design=False)


def test_runs_solved_elsewhere_are_waited_for_by_stopping():
    asked = state_of([CREATED, {**chosen(State(), 3), "elsewhere": True}])
    assert next_action(asked, PLAN, 0) == Stop("3 runs asked for are not told yet")
    told = {
        "event": "told",
        "run": "0000",
        "case": [0.0],
        "level": 1,
        "cost": 1.0,
        "attempt": 0,
    }
    for run in ("0000", "0001", "0002"):
        asked = advance(asked, {**told, "run": run})
    assert next_action(asked, PLAN, 0) == Fit()
    assert asked.spent == 3
    extra = advance(asked, {**told, "run": "0003", "case": [9.0]})
    assert (extra.spent, extra.known) == (3, 4)


def test_unknown_events_change_nothing():
    state = state_of([CREATED])
    assert advance(state, {"event": "heartbeat"}) == state
