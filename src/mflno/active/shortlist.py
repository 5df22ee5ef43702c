"""Uncertain, then maximin: the most uncertain fifth, and of it the farthest in the box."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.maximin import farthest
from mflno.active.view import View, allowed, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class Shortlist:
    """Greedy maximin among the candidates with the largest A(μ).

    Args:
        share: How many of the free candidates are looked at.
        relative: Rank by A(μ) / |u(μ)|.
    """

    share: float = 0.2
    relative: bool = True
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices, farthest first."""
        count, mask = demand(view, batch), allowed(view)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        spread = np.where(mask, beliefs.spread[: len(view.candidates)], -np.inf)
        kept = max(count, int(np.ceil(self.share * len(view.free))))
        # The whole tie at the edge is kept, so that the candidates' order does not matter.
        edge = np.sort(spread)[-kept]
        short = mask & (spread >= edge * (1.0 - 1e-12))
        return farthest(view, count, short, view.candidates, view.known)
