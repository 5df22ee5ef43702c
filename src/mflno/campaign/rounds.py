"""A fit and a choice: what each reads from the books, and the event it becomes."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.campaign.books import Books
from mflno.campaign.buying import Market, purchase, start_runs
from mflno.campaign.choosing import Chosen, Known, Question, choose, design
from mflno.campaign.learning import Forecast, grouped, judged, learned, left_out
from mflno.campaign.state import Choose, Run, State, prices
from mflno.errors import ArgumentError
from mflno.multifidelity import Surrogate, load
from mflno.shapes import Float

Returned = Sequence[Mapping[str, Any]]
"""What came back so far: `run`, `round`, predicted `spread`, found `error`."""


def fit_event(
    books: Books, state: State, returned: Returned
) -> tuple[Surrogate, dict[str, Any]]:
    """Learn from all runs that are done, judge the outcome, keep the surrogate."""
    begin = time.perf_counter()
    data = books.data(state, state.done)
    warm = warm_start(books, state.fits)
    fresh = learned(books.seen, data, books.plan, warm=warm, show=books.show)
    surrogate = books.keep_surrogate(state.fits, fresh)
    back = came_back(books, state)
    own = left_out(surrogate)
    evidence = grouped([*returned, *back])
    verdict = judged(surrogate, books.plan, books.pool, [*evidence, *([own] if own else [])])
    told: dict[str, Any] = {
        "runs": list(state.done),
        "method": surrogate.method,
        "expected": None if math.isnan(verdict.expected) else verdict.expected,
        "verdict": verdict.sentence,
        "met": bool(books.plan.goal and verdict.stop),
        "error": asdict(surrogate.expected_error),
        "returned": back,
    }
    if own and surrogate.left_out:
        cases = surrogate.left_out.cases.tolist()
        lists = {"spread": own.spread.tolist(), "error": own.error.tolist()}
        told["left_out"] = {"cases": cases, **lists}
    return surrogate, {**told, "seconds": time.perf_counter() - begin}


def came_back(books: Books, state: State) -> list[dict[str, Any]]:
    """Predicted spread and found error of the runs that the last fit had not seen."""
    found = []
    new = set(state.done) - set(state.fitted)
    for number in range(state.rounds):
        # Forecasts are of the highest level, in the order of its picks.
        runs = [run for run in top_runs(state) if run.round == number]
        forecast = books.forecast(number) if new & {run.name for run in runs} else None
        for index, run in enumerate(runs):
            if forecast and run.name in new:
                values = books.trajectories([run], run.level).values[0]
                pair = {"spread": float(forecast.spread[index])}
                pair["error"] = forecast.error(index, values)
                found.append({"run": run.name, "round": number, **pair})
    return found


def choose_event(
    books: Books, state: State, action: Choose, surrogate: Surrogate | None, returned: Returned
) -> dict[str, Any]:
    """Choose runs, and keep what the surrogate predicts for them."""
    begin = time.perf_counter()
    chosen = choice_made(books, state, action, surrogate, returned)
    levels = chosen.levels or (state.top,) * len(chosen.cases)
    tops = chosen.cases[np.array(levels, dtype=int) == state.top]
    if surrogate and not action.design and len(tops):
        books.keep_forecast(state.rounds, tops, Forecast.made(surrogate, tops))
    picks = [
        {"run": state.name(place), "case": case.tolist(), "level": level}
        for place, (case, level) in enumerate(zip(chosen.cases, levels, strict=True))
    ]
    return {
        "picks": picks,
        "choice": chosen.choice,
        "sentence": chosen.sentence,
        "trusted": chosen.trusted,
        "seconds": time.perf_counter() - begin,
    }


def choice_made(
    books: Books, state: State, action: Choose, surrogate: Surrogate | None, returned: Returned
) -> Chosen:
    """The coming runs, not yet written down."""
    plan = books.plan
    if plan.buys and not action.design:
        data = books.data(state, state.done)
        return purchase(Market(books.problem, plan, books.pool, state, data), action)
    remaining = int(state.left(plan) / prices(state, plan)[0])
    question = Question(
        problem=books.problem,
        plan=plan,
        pool=books.pool,
        known=known_cases(state),
        round=state.rounds,
        remaining=remaining,
        surrogate=surrogate,
        evidence=grouped(returned),
    )
    if not action.design:
        return choose(question, action.count)
    begun = design(question, action.count)
    return start_runs(begun, [*state.runs.values()], state.top) if plan.buys else begun


def top_runs(state: State) -> list[Run]:
    """The runs of the highest level."""
    return [run for run in state.runs.values() if run.level == state.top]


def known_cases(state: State) -> Known:
    """Cases of the highest level by what became of them."""
    top = top_runs(state)
    done = [run for run in top if run.name in state.fitted and run.state == "done"]
    failed = [run for run in top if run.state == "failed"]
    rest = [run for run in top if run not in done and run not in failed]
    width = len(top[0].case) if top else 0
    table = lambda runs: np.array([run.case for run in runs]).reshape(len(runs), width)
    return Known(table(done), table(rest), table(failed))


def last_surrogate(books: Books, state: State) -> Surrogate | None:
    """The present fit; made again where its file is gone or does not fit the problem."""
    if not state.fits:
        return None
    number = state.fits - 1
    path = books.surrogate_path(number)
    if path.exists():
        # Of another version of the problem: the same runs are learned from anew.
        with suppress(ArgumentError):
            return load(path, books.seen)
    data = books.data(state, state.fitted)
    warm = warm_start(books, number)
    fresh = learned(books.seen, data, books.plan, warm=warm, show=books.show)
    return books.keep_surrogate(number, fresh)


def warm_start(books: Books, number: int) -> Surrogate | None:
    """The fit before this one, as its file holds it: a resumed campaign starts from it too.

    Where levels are bought each fit knows more of the lower ones than the one before, and
    learns them anew.
    """
    path = books.surrogate_path(number - 1)
    if number == 0 or books.plan.buys or not path.exists():
        return None
    with suppress(ArgumentError):
        return load(path, books.seen)
    return None


def words_of(names: Sequence[str], case: Float[ndarray, " P"] | Sequence[float]) -> str:
    """A case as text."""
    return ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, case, strict=True))
