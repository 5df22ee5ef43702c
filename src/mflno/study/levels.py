"""What buying the levels is worth: the same money spent in three ways, on the same candidates.

    buy     a campaign with levels = "buy": case and level by gain per cost
    fixed   two thirds of the money on the highest level, the rest evenly on those below it
    top     everything on the highest level, without the others

All begin with the same cases of a seed, the cases of `fixed` and `top` are far apart, and all
are judged on the study's cases held out. Every run of every level is paid for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.bayes import relative_error
from mflno.campaign import Plan, State, advance, next_action, state_of
from mflno.campaign.buying import Market, purchase
from mflno.campaign.learning import learned
from mflno.campaign.starting import about
from mflno.campaign.state import Choose, Stop
from mflno.campaign.thrift import Bought
from mflno.data import Trajectories
from mflno.errors import ArgumentError
from mflno.multifidelity import Surrogate
from mflno.problems import Problem, load_problem, study_cases
from mflno.sampling import sample
from mflno.study.middle import Ends, design

Row = dict[str, Any]
WAYS = "buy", "fixed", "top"
SHARE = 2.0 / 3.0
"""Of the money that a fixed design spends on the highest level."""


@dataclass(frozen=True)
class Shop:
    """Everything that may be bought, solved beforehand.

    Attributes:
        problem: What is studied.
        levels: The candidates' trajectories at each level.
        tests: Cases held out.
    """

    problem: Problem
    levels: tuple[Trajectories, ...]
    tests: Trajectories

    @classmethod
    def opened(cls, name: str) -> "Shop":
        """Solve all of it."""
        problem = load_problem(name)
        if len(problem.levels) < 3:
            rule, remedy = "must have three levels", "pass chain or burgers"
            raise ArgumentError("levels.problem", rule, name, remedy)
        split = study_cases(problem)
        levels = range(len(problem.levels))
        solved = (sample(problem, split.candidates, k, show=False) for k in levels)
        tests = sample(problem, split.tests, len(levels) - 1, show=False)
        return cls(problem, tuple(solved), tests)

    @property
    def prices(self) -> Sequence[float]:
        """What a run costs, in runs of the highest level."""
        costs = [level.cost for level in self.problem.levels]
        return [cost / costs[-1] for cost in costs]

    def data(self, picks: Sequence[Sequence[int]]) -> list[Trajectories]:
        """The runs of these candidates, level by level."""
        return [each.take(sorted(own)) for each, own in zip(self.levels, picks, strict=True)]


def bought(shop: Shop, plan: Plan, order: Sequence[int]) -> list[list[int]]:
    """Candidates at each level, as a campaign buys them from the first of `order` on."""
    problem, pool, top = shop.problem, shop.levels[-1].cases, len(shop.levels) - 1
    rows = {case.tobytes(): row for row, case in enumerate(pool)}
    state = state_of([{"event": "created", "levels": top + 1, "problem": about(problem)}])
    state = done(state, [(pool[i], k) for k in range(top + 1) for i in order[: plan.start]])
    while True:
        action = next_action(state, plan)
        picks = picks_of(state, rows, top)
        if isinstance(action, Stop):
            return picks
        if not isinstance(action, Choose):
            state = advance(state, {"event": "fitted", "runs": state.done})
            continue
        chosen = purchase(Market(problem, plan, pool, state, shop.data(picks)), action)
        if not len(chosen.cases):
            return picks
        state = done(state, [*zip(chosen.cases, chosen.levels, strict=True)])


def done(state: State, runs: Sequence[tuple[ndarray, int]]) -> State:
    """The state once these runs were chosen and came back."""
    picks = [
        {"run": state.name(place), "case": case.tolist(), "level": level}
        for place, (case, level) in enumerate(runs)
    ]
    state = advance(state, {"event": "chosen", "picks": picks})
    for pick in picks:
        cost = state.costs[pick["level"]]
        words = {"run": pick["run"], "seconds": 0.0, "cost": cost}
        state = advance(state, {"event": "returned", **words})
    return state


def picks_of(state: State, rows: dict[bytes, int], top: int) -> list[list[int]]:
    """Which candidates were run at each level."""
    found: list[list[int]] = [[] for _ in range(top + 1)]
    for run in state.runs.values():
        found[run.level].append(rows[np.array(run.case).tobytes()])
    return found


def fixed(shop: Shop, money: int | float, order: Sequence[int]) -> list[list[int]]:
    """The design whose counts are set beforehand; no more than the money pays for."""
    prices = shop.prices
    dear = int(SHARE * money + 1e-9)
    left, counts = money - dear, []
    for level, price in enumerate(prices[:-1]):
        share = left / (len(prices) - 1 - level)
        counts.append(min(len(order), int(share / price + 1e-9)))
        left -= counts[-1] * price
    return [list(order[:count]) for count in [*counts, dear]]


def surrogate_of(shop: Shop, plan: Plan, picks: Sequence[Sequence[int]]) -> Surrogate:
    """What is learned from these runs, by `pod-gp` where they are of one level alone."""
    data, problem = shop.data(picks), shop.problem
    if len(data[0]):
        return learned(Bought(problem), data, plan, show=False)
    ends = Ends(problem)
    low = shop.levels[0].take(sorted(picks[-1])[:2])
    alone = replace(plan, method="pod-gp")
    return learned(Bought(ends), [low, replace(data[-1], level=1)], alone, show=False)


def equal_money(
    name: str, budgets: Sequence[int], *, seeds: Sequence[int], method: str = "mf-gp"
) -> Iterator[Row]:
    """Errors for each way to spend each budget, counted in runs of the highest level."""
    shop = Shop.opened(name)
    dearest = shop.problem.levels[-1].cost
    for budget in budgets:
        for seed in seeds:
            plan = Plan(name, budget=budget * dearest, levels="buy", method=method, seed=seed)
            order = design(shop.problem, shop.levels[-1].cases, len(shop.levels[-1]) - 1, seed)
            order = order.tolist()
            alone = [[] for _ in shop.levels[1:]]
            ways = {
                "buy": lambda p=plan, o=order: bought(shop, p, o),
                "fixed": lambda b=budget, o=order: fixed(shop, b, o),
                "top": lambda b=budget, o=order, a=alone: [*a, o[:b]],
            }
            for way in WAYS:
                picks = ways[way]()
                found = surrogate_of(shop, plan, picks)
                yield {
                    "problem": name, "method": method, "budget": budget, "way": way,
                    "seed": seed, "runs": [len(own) for own in picks], **judged(shop, found),
                }  # fmt: skip


def judged(shop: Shop, surrogate: Surrogate) -> Row:
    """Errors at the cases held out."""
    errors = relative_error(surrogate.predict(shop.tests.cases).mean, shop.tests.values)
    return {"mean": float(errors.mean()), "max": float(errors.max())}
