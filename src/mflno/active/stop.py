"""When enough is known: the budget is spent, or the error expected over the box is small.

σ alone is not an error. Leave-one-out and the runs that came back give pairs of predicted σ
and found error; their ratios say by how much σ must be stretched, and how surely. Taking the
logarithm of a ratio for normal with unknown mean m and spread s, the next ratio is

    log r = m + s √(1 + 1/n) t,    t of Student's law with n - 1 degrees of freedom,

and the error at a case of the box is σ · r. The quantile of the mixture over cases spread
over the box is the error expected; few pairs give wide tails, so it does not stop on luck.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy.stats import t as student

from mflno.active.guard import Evidence
from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class Verdict:
    """Whether to stop, and why, for the log.

    Attributes:
        stop: Whether to stop.
        sentence: Why.
        expected: The error expected over the box; NaN when it cannot be told.
    """

    stop: bool
    sentence: str
    expected: float = float("nan")


@dataclass(frozen=True)
class Budget:
    """Stop when so much has been spent.

    Args:
        limit: Runs of the highest level, or money in the levels' cost.
        unit: What is counted, for the log.
    """

    limit: int | float
    unit: str = "runs"

    def judge(self, spent: int | float) -> Verdict:
        """Stop when nothing is left."""
        text = f"{spent:g} of {self.limit:g} {self.unit} spent"
        return Verdict(spent >= self.limit - 1e-9, text)


@dataclass(frozen=True)
class ErrorGoal:
    """Stop when the error expected over the box is below a goal, in the error's own unit.

    Args:
        goal: As 0.02 for 2 % of relative error.
        quantile: Of the box: 0.95 means that 95 % of all cases are expected to be better.
        least: Pairs of σ and error needed before anything is said.
    """

    goal: float
    quantile: float = 0.95
    least: int = 5

    def judge(self, spread: Float[ndarray, " N"], evidence: Sequence[Evidence]) -> Verdict:
        """Compare the expected error with the goal.

        Args:
            spread: Predicted σ at cases spread evenly over the box.
            evidence: Leave-one-out of the present fit, and what came back so far.
        """
        ratios = error_ratios(evidence)
        if len(ratios) < self.least:
            return Verdict(
                False, f"{len(ratios)} of {self.least} runs needed to judge the error"
            )
        expected = expected_error(spread, ratios, self.quantile)
        share, word = f"{self.quantile:.0%}", "below" if expected < self.goal else "not below"
        text = f"{share} of the box is expected within {expected:.3g}, {word} {self.goal:g}"
        return Verdict(expected < self.goal, text, expected)


def error_ratios(evidence: Sequence[Evidence]) -> Float[ndarray, " R"]:
    """Found error over predicted σ; a σ of zero with an error counts as very wrong."""
    parts = [group.error / np.maximum(group.spread, 1e-12) for group in evidence]
    return np.maximum(np.concatenate([*parts, np.zeros(0)]), 1e-12)


def expected_error(
    spread: Float[ndarray, " N"], ratios: Float[ndarray, " R"], quantile: float = 0.95
) -> float:
    """The quantile over the box of the error to expect.

    Args:
        spread: Predicted σ at cases spread evenly over the box.
        ratios: Found errors over predicted σ, two or more.
        quantile: Which quantile, between 0 and 1.
    """
    if len(ratios) < 2 or not 0 < quantile < 1 or not np.all(spread >= 0):
        rule, remedy = "2 ratios, a quantile in (0, 1), σ >= 0", "run a leave-one-out first"
        came = (len(ratios), quantile)
        raise ArgumentError("expected_error", rule, came, remedy)
    logs = np.log(ratios)
    scale = max(logs.std(ddof=1), 1e-3) * np.sqrt(1.0 + 1.0 / len(logs))
    centre = np.log(np.maximum(spread, 1e-300)) + logs.mean()
    # One case's own quantile is a bound on either side of the mixture's; halve between them.
    reach = scale * float(student.ppf(quantile, df=len(logs) - 1))
    low, high = float(centre.min()) + reach, float(centre.max()) + reach
    while high - low > 1e-9 * max(1.0, abs(high)):
        middle = (low + high) / 2.0
        share = student.cdf((middle - centre) / scale, df=len(logs) - 1).mean()
        low, high = (middle, high) if share < quantile else (low, middle)
    return float(np.exp(high))
