"""From runs to a surrogate, and from a surrogate to what it is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import ErrorGoal, Evidence, Verdict
from mflno.campaign.plan import Named, Plan, named
from mflno.campaign.thrift import thrifty
from mflno.data import Trajectories
from mflno.multifidelity import DEFAULT, Method, Surrogate, fit, method_named
from mflno.problems import Problem
from mflno.processes import function_named
from mflno.shapes import Float

LOOK = 256
"""Most cases over the box at which the error is judged."""


def method_of(value: Named) -> Method | None:
    """The method that a plan names; None for the default."""
    name, options = named(value)
    if name == "auto" and not options:
        return None
    if ":" not in name:
        return method_named(name, **options)
    found = function_named(name, called=False)
    return found(**options) if isinstance(found, type) or options else found


def learned(
    problem: Problem,
    data: Sequence[Trajectories],
    plan: Plan,
    *,
    warm: Surrogate | None = None,
    show: bool,
) -> Surrogate:
    """A surrogate of all that is known, from where the one before ended if the method can."""
    method = method_of(plan.method)
    if plan.buys:
        method = thrifty(method or method_named(DEFAULT))
    return fit(problem, data, method, seed=plan.seed, warm=warm, show=show)


@dataclass(frozen=True)
class Forecast:
    """What a surrogate says of some cases, kept until their runs come back.

    Attributes:
        mean: Predicted trajectories.
        spread: Predicted relative error: |σ| / |mean| of each.
    """

    mean: Float[ndarray, "N O T"]
    spread: Float[ndarray, " N"]

    @classmethod
    def made(cls, surrogate: Surrogate, cases: Float[ndarray, "N P"]) -> "Forecast":
        """Ask the surrogate."""
        found = surrogate.predict(cases)
        norm = np.maximum(length(found.mean), 1e-300)
        return cls(found.mean, length(found.std) / norm)

    def error(self, index: int, values: Float[ndarray, "O T"]) -> float:
        """Relative L2 error of one mean, now that the run is back."""
        missed = np.linalg.norm(self.mean[index] - values)
        return float(missed / max(float(np.linalg.norm(values)), 1e-300))


def length(values: Float[ndarray, "N O T"]) -> Float[ndarray, " N"]:
    """L2 norm of each trajectory, outputs and times."""
    return np.sqrt(np.square(values).sum((1, 2)))


def left_out(surrogate: Surrogate) -> Evidence | None:
    """Spread and error of each run as a fit without it would have had them."""
    record = surrogate.left_out
    if record is None:
        return None
    amplitude = np.sqrt(np.square(record.scaled).mean((1, 2))) / surrogate.bands.scale
    return Evidence(record.errors / np.maximum(amplitude, 1e-12), record.errors)


def grouped(returned: Sequence[Mapping[str, Any]]) -> list[Evidence]:
    """What came back, round by round."""
    rounds = sorted({each["round"] for each in returned})
    pick = lambda k, name: np.array([e[name] for e in returned if e["round"] == k])
    return [Evidence(pick(k, "spread"), pick(k, "error")) for k in rounds]


def judged(
    surrogate: Surrogate,
    plan: Plan,
    pool: Float[ndarray, "N P"],
    evidence: Sequence[Evidence],
) -> Verdict:
    """The error to expect over the box, and whether the goal is met where there is one."""
    if plan.goal is not None:
        cases = pool[:: -(-len(pool) // LOOK)]
        spread = Forecast.made(surrogate, cases).spread
        return ErrorGoal(plan.goal, plan.quantile).judge(spread, evidence)
    found = surrogate.expected_error
    text = f"mean error expected {found.mean:.3g} ({found.low:.2g} to {found.high:.2g})"
    return Verdict(False, text, found.most)
