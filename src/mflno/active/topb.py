"""The paper's rule: the B candidates with the largest mean standard deviation, Eq. (18).

The picks of one batch are neighbours more often than not: with B > 1 it can be worse than
random. It is here to reproduce the paper; `conditioned` is the same idea without that fault.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.view import View, allowed, best, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class TopB:
    """The B largest A(μ) = (1 / N_t) Σ_j σ(t_j; μ).

    Args:
        relative: Score by A(μ) / |u(μ)|.
    """

    relative: bool = False
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices of the largest scores, largest first."""
        count = demand(view, batch)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        scores = beliefs.spread[: len(view.candidates)] * view.chance
        scores = np.where(allowed(view), scores, -np.inf)
        picks = []
        for _ in range(count):
            picks.append(best(scores, view.candidates))
            scores[picks[-1]] = -np.inf
        return np.array(picks)
