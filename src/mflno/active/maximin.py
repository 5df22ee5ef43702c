"""The candidate farthest from everything known, again and again; no model at all.

In a box of two parameters and with few runs this is very hard to beat (Johnson, Moore,
Ylvisaker 1990 for the criterion; Gonzalez 1985 for the greedy form).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.view import View, allowed, best, demand, nearest
from mflno.shapes import Bool, Float, Int


@dataclass(frozen=True)
class Maximin:
    """Greedy maximin distance in the scaled box."""

    reads_posterior: ClassVar[bool] = False

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices, farthest first; in an empty box the case nearest the middle comes first."""
        return farthest(view, demand(view, batch), allowed(view), view.candidates, view.known)


def farthest(
    view: View,
    count: int,
    mask: Bool[ndarray, " N"],
    places: Float[ndarray, "N D"],
    centres: Float[ndarray, "M D"],
) -> Int[ndarray, " B"]:
    """Greedy farthest points among the masked candidates, in any metric space.

    The distance counts for less where runs fail.

    Args:
        view: For the candidates' own coordinates, which break ties.
        count: How many.
        mask: Which candidates may be picked.
        places: Where the candidates are.
        centres: Where the known cases are.
    """
    least, picks = nearest(places, centres), []
    if len(centres) == 0:
        # Nothing to be far from: begin in the middle, where one run says most.
        least = -np.linalg.norm(view.candidates, axis=1)
    weight = view.chance
    for _ in range(count):
        scores = np.where(mask, least * (weight if least.max() > 0 else 1.0), -np.inf)
        pick = best(scores, view.candidates)
        first = not picks and len(centres) == 0
        least = np.full(len(places), np.inf) if first else least
        least = np.minimum(least, np.linalg.norm(places - places[pick], axis=1))
        mask = mask & (np.arange(len(mask)) != pick)
        picks.append(pick)
    return np.array(picks)
