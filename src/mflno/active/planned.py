"""The runs that are left, planned together so that little of the box stays unknown; no model.

The response is taken for a draw of a Gaussian process over the scaled box,

    k(x, y) = (1 + r + r² / 3) e^-r,    r = √5 |x - y| / reach,

and a set of runs is good when the variance v_i it leaves over the box has a small Σ_i v_i^q:
q = 1 asks for a small mean, a large q for a small maximum. Plans are made greedily, then every
member is exchanged for a better one until none is left; the members that help most are asked
for first. Greedy rules spend their first picks as if no others would follow, which costs most
when few follow.

Measured with Gaussian processes on the leading modes for a surrogate, on Lorenz, Duffing (both
boxes) and the beam: against `maximin` the mean error was smaller by 5 to 35 % over a campaign,
the maximum anything from 40 % smaller to 35 % larger, smaller in most settings. Any reach from
1 to 3 and power from 1 to 2 did about as well; the defaults lie in the middle.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.covariance import conditioned_features, noise_floor
from mflno.active.view import View, allowed, best, demand, gaps
from mflno.shapes import Bool, Float, Int

SAMPLE = 512
"""Candidates that stand for the box in the sum, at least half as many where there are more."""


@dataclass(frozen=True)
class Planned:
    """A joint design of the coming runs under a fixed prior.

    Args:
        reach: Distance over which the response is alike; the box is 2 wide.
        ahead: How many runs are planned together, at most what is left of the budget.
        power: q, between the mean and the maximum.
        sweeps: How often each planned run may be exchanged.
        rank: Features that stand for the prior; more is more exact and slower.
    """

    reach: float = 1.5
    ahead: int = 6
    power: float = 2.0
    sweeps: int = 4
    rank: int = 128
    reads_posterior: ClassVar[bool] = False

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices, most helpful first."""
        count, mask = demand(view, batch), allowed(view)
        length = min(max(count, min(self.ahead, view.remaining)), len(view.free))
        cases = np.concatenate([view.candidates, view.done, view.pending])
        features = prior_features(cases, self.reach, self.rank)
        noise = noise_floor(features, 1e-4)
        for row in range(len(view.candidates), len(cases)):
            features = conditioned_features(features, features[row], noise)
        design = Design(view, self.power, noise)
        features = features[: len(view.candidates)]
        plan = design.greedy(features, mask, length)
        for _ in range(self.sweeps if length > 1 else 0):
            before = list(plan)
            plan = design.exchanged(features, mask, plan)
            if plan == before:
                break
        planned = np.zeros(len(mask), dtype=bool)
        planned[plan] = True
        return np.array(design.greedy(features, planned, count))


def prior_features(
    cases: Float[ndarray, "N P"], reach: float, rank: int
) -> Float[ndarray, "N D"]:
    """Features whose inner products are the prior covariance: a pivoted Cholesky factor."""
    rest = np.ones(len(cases))
    factor = np.zeros((len(cases), min(rank, len(cases))))
    for column in range(factor.shape[1]):
        pivot = best(rest, cases)
        if rest[pivot] < 1e-10:
            return factor[:, :column]
        covariance = matern(gaps(cases, cases[pivot : pivot + 1])[:, 0], reach)
        covariance -= factor[:, :column] @ factor[pivot, :column]
        factor[:, column] = covariance / np.sqrt(rest[pivot])
        rest = np.maximum(rest - factor[:, column] ** 2, 0.0)
    return factor


def matern(distance: Float[ndarray, "..."], reach: float) -> Float[ndarray, "..."]:
    """Matérn covariance of smoothness 5/2."""
    ratio = np.sqrt(5.0) * distance / reach
    return (1.0 + ratio + ratio**2 / 3.0) * np.exp(-ratio)


@dataclass(frozen=True)
class Design:
    """Greedy picks and exchanges under Σ_i v_i^q.

    Args:
        view: The candidates, and where runs fail.
        power: q.
        noise: What a run leaves unsaid, as a variance.
    """

    view: View
    power: float
    noise: float

    @cached_property
    def sample(self) -> Int[ndarray, " R"]:
        """Candidates over which the sum runs: all, or every k-th in the parameters' order."""
        order = np.lexsort(np.round(self.view.candidates, 9).T[::-1])
        return order[:: -(-len(order) // SAMPLE)]

    def gain(
        self, features: Float[ndarray, "N D"], mask: Bool[ndarray, " N"]
    ) -> Float[ndarray, " N"]:
        """By how much Σ_i v_i^q falls when each masked candidate is observed."""
        own = np.square(features[mask]).sum(1)
        now = np.square(features[self.sample]).sum(1)
        shared = features[self.sample] @ features[mask].T
        left = np.maximum(now[:, None] - shared**2 / (own + self.noise), 0.0)
        gain = np.full(len(mask), -np.inf)
        gain[mask] = (now**self.power).sum() - (left**self.power).sum(0)
        return gain * self.view.chance

    def greedy(
        self, features: Float[ndarray, "N D"], mask: Bool[ndarray, " N"], count: int
    ) -> list[int]:
        """One after the other, each the best addition to those before it."""
        mask, picks = mask.copy(), []
        for _ in range(count):
            picks.append(best(self.gain(features, mask), self.view.candidates))
            features = conditioned_features(features, features[picks[-1]], self.noise)
            mask[picks[-1]] = False
        return picks

    def exchanged(
        self, features: Float[ndarray, "N D"], mask: Bool[ndarray, " N"], plan: list[int]
    ) -> list[int]:
        """Each member in turn replaced by the best addition to all the others."""
        plan = list(plan)
        for place in range(len(plan)):
            others = plan[:place] + plan[place + 1 :]
            rest, free = features, mask.copy()
            free[others] = False
            for other in others:
                rest = conditioned_features(rest, rest[other], self.noise)
            plan[place] = self.greedy(rest, free, 1)[0]
        return plan
