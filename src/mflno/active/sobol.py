"""The next points of one Sobol sequence, each moved to the nearest free candidate."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray
from scipy.stats import qmc

from mflno.active.view import View, best, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class Sobol:
    """A scrambled Sobol sequence that goes on where the known cases end.

    Args:
        scramble: Seed of the scrambling; the same in every round, or the points of
            different rounds would not belong to one sequence.
    """

    scramble: int = 0
    reads_posterior: ClassVar[bool] = False

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices in the sequence's order."""
        count, width = demand(view, batch), view.candidates.shape[1]
        sequence = qmc.Sobol(width, scramble=True, rng=np.random.default_rng(self.scramble))
        # Whole powers of two: SciPy warns about anything else, and skipping nothing overflows.
        start = len(view.known)
        points = sequence.random_base2(int(start + count - 1).bit_length())
        free, picks = view.free, []
        for point in 2.0 * points[start : start + count] - 1.0:
            cases = view.candidates[free]
            place = best(-np.linalg.norm(cases - point, axis=1), cases)
            picks.append(free[place])
            free = np.delete(free, place)
        return np.array(picks)
