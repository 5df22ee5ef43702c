"""Which case and which level next, where runs of every level are paid for.

The choice looks at one law over all levels (`active/levels.py`), conditioned on every run
there is. The surrogate that predicts may be any method that answers without solving a lower
level; which one it is does not change what is bought.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from mflno.active import (
    Agreement,
    GainPerCost,
    Offer,
    View,
    agreement,
    conditioned_features,
    noise_floor,
    prior_features,
)
from mflno.campaign.choosing import Chosen, placed
from mflno.campaign.plan import Plan
from mflno.campaign.state import Choose, Run, State
from mflno.data import Parameter, Trajectories
from mflno.multifidelity import Kernel, Prior, interpolated, learned
from mflno.problems import Problem
from mflno.shapes import Bool, Float

ENOUGH = 8
"""Runs of a level from which its reach is measured."""
LONG = 20.0
"""Age of a campaign whose budget is spent, see `annealed_costs`."""
REACH, RANK, NOISE = 1.5, 128, 1e-4
"""Of the prior over the box, as in `Planned`."""


@dataclass(frozen=True)
class Market:
    """Everything a purchase depends on.

    Attributes:
        problem: What is studied.
        plan: Budget and batch.
        pool: Candidates in physical units.
        state: Where the campaign stands.
        data: The runs that are done, level by level.
    """

    problem: Problem
    plan: Plan
    pool: Float[ndarray, "N P"] = field(repr=False)
    state: State
    data: Sequence[Trajectories] = field(repr=False)

    @property
    def axes(self) -> tuple[Parameter, ...]:
        """Of the box."""
        return tuple(self.problem.parameters)

    @property
    def law(self) -> Agreement:
        """How the levels agree, on the highest level's grid."""
        grid = self.problem.levels[-1].grid
        values = [interpolated(each.grid, each.values, grid) for each in self.data]
        return agreement([each.cases for each in self.data], values)

    @property
    def reaches(self) -> Float[ndarray, " P"]:
        """Distance along each axis over which the response is alike, from the runs there are.

        Of the highest level that has enough of them: it is most like the highest of all.
        """
        enough = [each for each in self.data if len(each) >= ENOUGH]
        if not enough:
            return np.full(len(self.axes), REACH)
        runs = enough[-1]
        kernel = Kernel((tuple(range(len(self.axes))),), "matern52")
        values = (runs.values - runs.values.mean(0)).reshape(len(runs), -1)
        theta = learned(kernel, placed(runs.cases, self.axes), values, prior=Prior(REACH))
        return np.exp(theta[: len(self.axes)])

    def cases(self, level: int, *states: str) -> Float[ndarray, "N P"]:
        """Scaled cases of a level's runs in these states; in all when none is named."""
        runs = [run for run in self.state.runs.values() if run.level == level]
        rows = [run.case for run in runs if not states or run.state in states]
        return placed(np.array(rows).reshape(len(rows), self.pool.shape[1]), self.axes)

    def offer(self, law: Agreement) -> Offer:
        """What can be bought, given all that is known or on its way."""
        places = placed(self.pool, self.axes)
        runs = [run for run in self.state.runs.values() if run.state != "failed"]
        known = placed(np.array([run.case for run in runs]), self.axes)
        stretched = np.concatenate([places, known]) * (REACH / self.reaches)
        prior = prior_features(stretched, REACH, RANK)
        levels = range(len(law.sizes))
        views = [
            View(places, done=self.cases(k, "done"), failed=self.cases(k, "failed"))
            for k in levels
        ]
        return Offer(
            features=conditioned(law.features(prior), [run.level for run in runs]),
            taken=np.stack([taken(places, self.cases(k)) for k in levels]),
            cases=places,
            costs=np.array([level.cost for level in self.problem.levels], dtype=float),
            chance=np.stack([view.chance for view in views]),
        )


def conditioned(
    features: Float[ndarray, "M A D"], levels: Sequence[int]
) -> Float[ndarray, "M N D"]:
    """Features of the candidates once the runs behind them, of these levels, are known."""
    count = features.shape[1]
    noise = [noise_floor(level, NOISE) for level in features]
    flat = features.reshape(-1, features.shape[2])
    first = count - len(levels)
    for row, level in enumerate(levels, start=first):
        flat = conditioned_features(flat, flat[level * count + row], noise[level])
    return flat.reshape(features.shape)[:, :first]


def taken(places: Float[ndarray, "N P"], cases: Float[ndarray, "R P"]) -> Bool[ndarray, " N"]:
    """Which candidates were asked for already."""
    free = np.zeros(len(places), dtype=bool)
    free[View(places, done=cases).free] = True
    return ~free


def purchase(market: Market, action: Choose) -> Chosen:
    """The runs of one round."""
    plan, law = market.plan, market.law
    age = LONG * (1.0 - market.state.left(plan) / plan.budget)
    offer = market.offer(law)
    picks = GainPerCost().choose(offer, batch=action.count, age=age, money=action.money)
    levels = tuple(pick.level for pick in picks)
    cases = market.pool[[pick.candidate for pick in picks]]
    return Chosen(cases, "gain per cost", sentence(market.problem, law, levels), False, levels)


def sentence(problem: Problem, law: Agreement, levels: Sequence[int]) -> str:
    """What is bought, and what the levels say of each other."""
    names = [level.name for level in problem.levels]
    bought = [f"{levels.count(k)} of {name!r}" for k, name in enumerate(names) if k in levels]
    shares = [
        f"{names[k]!r} explains {share:.0%} of {names[k + 1]!r}"
        for k, share in enumerate(law.explained)
    ]
    return f"{', '.join(bought)}; {', '.join(shares)}"


def start_runs(chosen: Chosen, runs: Sequence[Run], top: int) -> Chosen:
    """The cases of a start at every level, cheapest first; those known already left out."""
    known = {(run.case, run.level) for run in runs}
    pairs = [
        (case, level)
        for level in range(top + 1)
        for case in chosen.cases
        if (tuple(case.tolist()), level) not in known
    ]
    cases = np.array([case for case, _ in pairs])
    levels = tuple(level for _, level in pairs)
    return Chosen(cases, chosen.choice, f"{chosen.sentence}, at every level", False, levels)
