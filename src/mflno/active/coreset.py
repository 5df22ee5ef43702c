"""Core-set: the candidate farthest from all known cases in the space of deviations.

Two cases are far apart where the draws of one say little about the other (Sener, Savarese
2018; here on posterior deviations of trajectories).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.maximin import farthest
from mflno.active.view import View, allowed, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class CoreSet:
    """Greedy farthest points in feature space.

    Args:
        relative: Deviations per |u|.
    """

    relative: bool = True
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices, farthest first."""
        count, number = demand(view, batch), len(view.candidates)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        places, centres = beliefs.features[:number], beliefs.features[number:]
        if len(centres) == 0:
            # Without a known case the prior mean, zero deviation, is what is known.
            centres = np.zeros((1, places.shape[1]))
        return farthest(view, count, allowed(view), places, centres)
