"""Largest cluster, maximum distance: diverse like a core-set, dense where much is unknown.

Known cases are centres; every candidate belongs to its nearest centre. Take the cluster with
the largest sum of squared distances, and of it the farthest member, which becomes a centre
itself (Holzmüller, Zaverkin, Kästner, Steinwart 2023).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.view import View, allowed, best, demand
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class LargestCluster:
    """LCMD on posterior deviations.

    Args:
        relative: Deviations per |u|.
    """

    relative: bool = True
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices in the order picked."""
        count, mask, number = demand(view, batch), allowed(view), len(view.candidates)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        places = beliefs.features[:number]
        centres = beliefs.features[number:]
        if len(centres) == 0:
            centres = np.zeros((1, places.shape[1]))
        owner, least = clusters(places, centres)
        picks = []
        for _ in range(count):
            weight = least * view.chance
            sums = np.bincount(owner[mask], weight[mask], minlength=len(centres) + count)
            member = mask & (owner == owner_of_largest(sums, owner, mask, view.candidates))
            pick = best(np.where(member, weight, -np.inf), view.candidates)
            distance = np.square(places - places[pick]).sum(1)
            owner = np.where(distance < least, len(centres) + len(picks), owner)
            least = np.minimum(distance, least)
            mask[pick] = False
            picks.append(pick)
        return np.array(picks)


def clusters(
    places: Float[ndarray, "N D"], centres: Float[ndarray, "M D"]
) -> tuple[Int[ndarray, " N"], Float[ndarray, " N"]]:
    """The nearest centre of every candidate, and its squared distance."""
    owner = np.zeros(len(places), dtype=int)
    least = np.full(len(places), np.inf)
    for number, centre in enumerate(centres):
        distance = np.square(places - centre).sum(1)
        owner = np.where(distance < least, number, owner)
        least = np.minimum(distance, least)
    return owner, least


def owner_of_largest(
    sums: ndarray, owner: ndarray, mask: ndarray, cases: Float[ndarray, "N P"]
) -> int:
    """The cluster of the largest sum that still has a free member."""
    scores = np.where(mask, sums[owner], -np.inf)
    return int(owner[best(scores, cases)])
