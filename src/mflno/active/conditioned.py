"""Greedy MaxDet: take the most uncertain candidate, condition the posterior on it, repeat.

The greedy maximum of det(K_BB + n I), K the posterior covariance of trajectories, which is a
pivoted Cholesky factorisation (compare BatchBALD, Kirsch et al. 2019, and MaxDet, Holzmüller
et al. 2023). For a batch of one it is `topb` with the root mean square for the mean.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.covariance import after_pending, conditioned_features, noise_floor
from mflno.active.view import View, allowed, best, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class Conditioned:
    """The largest conditional variance, again and again.

    Args:
        relative: Variances of the relative error, per |u|².
        noise: What a run leaves unsaid, as a share of the mean variance.
    """

    relative: bool = True
    noise: float = 0.01
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices in the order picked."""
        count, mask = demand(view, batch), allowed(view)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        number, known = len(view.candidates), len(view.candidates) + len(view.done)
        noise = noise_floor(beliefs.features[:number], self.noise)
        features = after_pending(beliefs.features[:number], beliefs.features[known:], noise)
        picks = []
        for _ in range(count):
            variance = np.square(features).sum(1) * view.chance**2
            picks.append(best(np.where(mask, variance, -np.inf), view.candidates))
            features = conditioned_features(features, features[picks[-1]], noise)
            mask[picks[-1]] = False
        return np.array(picks)
