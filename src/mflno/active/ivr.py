"""Integrated variance reduction: the run that lowers the total variance over the box most.

    gain(j) = Σ_i K_ij² / (K_jj + n)

then K is conditioned on the pick and the next one is found (Cohn 1996; Seo et al. 2000; for
deep features Ash et al. 2021). The candidates stand for the box.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.covariance import after_pending, conditioned_features, noise_floor
from mflno.active.view import View, allowed, best, demand
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class VarianceReduction:
    """The largest fall of the mean variance, again and again.

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
            gain = variance_gain(features, noise) * view.chance
            picks.append(best(np.where(mask, gain, -np.inf), view.candidates))
            features = conditioned_features(features, features[picks[-1]], noise)
            mask[picks[-1]] = False
        return np.array(picks)


def variance_gain(features: Float[ndarray, "N D"], noise: float) -> Float[ndarray, " N"]:
    """By how much the sum of all variances falls when each case is observed."""
    # Σ_i K_ij² = φ_jᵀ (Φᵀ Φ) φ_j: D x D instead of N x N.
    moment = features.T @ features
    variance = np.square(features).sum(1)
    floor = max(noise, 1e-300)
    return np.einsum("nd,de,ne->n", features, moment, features, optimize=True) / (
        variance + floor
    )
