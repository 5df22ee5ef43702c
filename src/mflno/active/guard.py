"""When to believe the posterior: once returning runs have shown that its σ means something.

Every run that comes back was predicted beforehand: its σ and its error are a test that costs
nothing. Runs are compared within their round, because σ and error both fall from round to
round whether or not σ knows where the error is. A pair of runs agrees when the one with the
larger σ has the larger error. Under a σ that knows nothing each round's ordering is random, so
the chance of at least so many agreeing pairs can be counted out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy import ndarray

from mflno.active.ivr import VarianceReduction
from mflno.active.planned import Planned
from mflno.active.view import Choice
from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class Evidence:
    """What one fit predicted, and what came: one round's returned runs, or a leave-one-out.

    Attributes:
        spread: Predicted σ of each run, relative or not, as `error` is.
        error: The error found.
    """

    spread: Float[ndarray, " _"]
    error: Float[ndarray, " _"]

    def __post_init__(self) -> None:
        """Refuse lists of different lengths, and numbers that are none."""
        same = self.spread.shape == self.error.shape and self.spread.ndim == 1
        if not (same and np.all(np.isfinite(self.spread)) and np.all(np.isfinite(self.error))):
            rule, remedy = "one finite σ for each finite error", "leave failed runs out"
            came = f"shapes {self.spread.shape}, {self.error.shape}, or NaN"
            raise ArgumentError("Evidence", rule, came, remedy)


@dataclass(frozen=True)
class Decision:
    """What the guard says for one round.

    Attributes:
        choice: The rule to use.
        trusted: Whether it reads the posterior because it may.
        sentence: Why, for the log.
        agreement: Share of pairs in which σ and error agree; NaN without pairs.
        chance: How likely so much agreement is by luck alone.
    """

    choice: Choice
    trusted: bool
    sentence: str
    agreement: float = float("nan")
    chance: float = 1.0


@dataclass(frozen=True)
class Guard:
    """Space-filling first; the posterior's rule once it has earned it.

    Args:
        careful: Used until the posterior is trusted; reads no posterior.
        bold: Used after that.
        luck: The posterior is trusted when so much agreement by luck is rarer than this.
        agreement: The least share of pairs that must agree, however many there are.
    """

    careful: Choice = field(default_factory=Planned)
    bold: Choice = field(default_factory=VarianceReduction)
    luck: float = 0.1
    agreement: float = 0.65

    def decide(self, evidence: Sequence[Evidence]) -> Decision:
        """Which rule to use now, given everything that was predicted and came back."""
        share, chance, pairs = concordance(evidence)
        if pairs == 0:
            text = "no two runs of one round have come back yet: filling the space"
            return Decision(self.careful, False, text)
        tested = f"σ and error agree in {share:.0%} of {pairs} pairs (by luck: {chance:.0%})"
        if share >= self.agreement and chance <= self.luck:
            return Decision(self.bold, True, f"{tested}: trusting σ", share, chance)
        return Decision(self.careful, False, f"{tested}: filling the space", share, chance)


def concordance(evidence: Sequence[Evidence]) -> tuple[float, float, int]:
    """Share of agreeing pairs, the chance of that many by luck, and how many pairs there are.

    A stratified Kendall test: within each round, under random order, the number of agreeing
    pairs of n runs is a sum of independent uniform numbers on 0..k, k = 0 ... n - 1, and the
    rounds are independent. Pairs that tie count half.
    """
    agreeing, pairs = 0.0, 0
    law = np.ones(1)
    for group in evidence:
        for i, j in combinations(range(len(group.spread)), 2):
            sign = np.sign(
                (group.spread[i] - group.spread[j]) * (group.error[i] - group.error[j])
            )
            agreeing, pairs = agreeing + (1.0 + sign) / 2.0, pairs + 1
        for runs in range(2, len(group.spread) + 1):
            law = np.convolve(law, np.full(runs, 1.0 / runs))
    if pairs == 0:
        return float("nan"), 1.0, 0
    chance = float(law[int(np.ceil(agreeing - 1e-9)) :].sum())
    return agreeing / pairs, min(chance, 1.0), pairs
