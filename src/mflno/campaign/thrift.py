"""A problem whose lower levels are bought, and methods held to what was bought.

A surrogate may solve a lower level wherever it likes as long as that costs nothing. Where runs
of it are paid for, neither a fit nor an answer may do so: a method that tries is refused.
"""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.multifidelity import Auto, Data, Law, Method, Predictor, left_out_law
from mflno.problems import Wrapped
from mflno.seeds import numpy_stream
from mflno.shapes import Float

NEEDY = "line", "mflno-networks", "mf-deeponet-residual"
"""Methods known to solve lower levels to answer; any other that does is refused at its fit."""


class Bought(Wrapped):
    """A problem as its surrogate sees it: no level can be solved at will."""

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """Refuse."""
        rule = f"level {self.levels[level].name!r} is bought run by run, not solved at will"
        remedy = "use a method that answers without it: auto, pod-gp, mf-gp, nargp"
        raise ArgumentError("method", rule, "a solve to answer", remedy)


@dataclass(frozen=True)
class Thrifty:
    """A method held to the runs that were bought: refused if it solves more to answer.

    Args:
        inner: The method.
    """

    inner: Method

    @property
    def name(self) -> str:
        """That of the method."""
        return self.inner.name

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> Predictor:
        """Learn, then ask about a case of which nothing is known."""
        fitted = self.inner.fit(data, seed=seed, device=device, warm=warm, show=show)
        low, high = np.array([(p.low, p.high) for p in data.problem.parameters]).T
        case = low + (high - low) * numpy_stream(seed, "unknown case").random(len(low))
        fitted.law(data.query(case[None]))
        return fitted

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """The method's own."""
        return left_out_law(self.inner, data, predictor, seed=seed, device="cpu", show=False)


def thrifty(method: Method) -> Method:
    """The method held to what was bought; of a method that tries several, each."""
    if isinstance(method, Auto):
        return replace(method, methods={k: thrifty(m) for k, m in method.methods.items()})
    return cast(Method, Thrifty(method))
