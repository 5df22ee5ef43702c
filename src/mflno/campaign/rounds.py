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
from mflno.campaign.choosing import Chosen, Known, Question, choose, design
from mflno.campaign.learning import Forecast, grouped, judged, learned, left_out
from mflno.campaign.state import Choose, State
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
    fresh = learned(books.problem, data, books.plan, show=books.show)
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
        runs = [run for run in state.runs.values() if run.round == number]
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
    if surrogate and not action.design and len(chosen.cases):
        made = Forecast.made(surrogate, chosen.cases)
        books.keep_forecast(state.rounds, chosen.cases, made)
    picks = [
        {"run": state.name(place), "case": case.tolist(), "level": state.top}
        for place, case in enumerate(chosen.cases)
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
    question = Question(
        problem=books.problem,
        plan=books.plan,
        pool=books.pool,
        known=known_cases(state),
        round=state.rounds,
        remaining=books.plan.budget - state.spent,
        surrogate=surrogate,
        evidence=grouped(returned),
    )
    return (design if action.design else choose)(question, action.count)


def known_cases(state: State) -> Known:
    """Cases of the highest level by what became of them."""
    top = [run for run in state.runs.values() if run.level == state.top]
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
            return load(path, books.problem)
    data = books.data(state, state.fitted)
    fresh = learned(books.problem, data, books.plan, show=books.show)
    return books.keep_surrogate(number, fresh)


def words_of(names: Sequence[str], case: Float[ndarray, " P"] | Sequence[float]) -> str:
    """A case as text."""
    return ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, case, strict=True))
