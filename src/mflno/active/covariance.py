"""Conditioning a posterior on a run that is not there yet, in feature space.

With K = Φ Φᵀ and an observation of case j with noise n,

    K' = K - k_j k_jᵀ / (K_jj + n),        k_j = Φ φ_j

and the features that give K' are  φ_i' = φ_i - a (φ_i · φ_j) φ_j,
a = (1 - √(n / (K_jj + n))) / K_jj.  K is the trace of the covariance over outputs and times,
so this takes a whole trajectory for one observation: a scalar stand-in for exact Bayes.
"""

import numpy as np
from numpy import ndarray

from mflno.shapes import Float


def conditioned_features(
    features: Float[ndarray, "N D"], pivot: Float[ndarray, " D"], noise: float
) -> Float[ndarray, "N D"]:
    """The features once a case with features `pivot` has been observed."""
    own = float(pivot @ pivot)
    if own == 0.0:
        return features
    gain = (1.0 - np.sqrt(noise / (own + noise))) / own
    return features - gain * np.outer(features @ pivot, pivot)


def after_pending(
    features: Float[ndarray, "N D"], pending: Float[ndarray, "Q D"], noise: float
) -> Float[ndarray, "N D"]:
    """The features once all pending cases have been observed."""
    both = np.concatenate([features, pending])
    for row in range(len(features), len(both)):
        both = conditioned_features(both, both[row], noise)
    return both[: len(features)]


def noise_floor(features: Float[ndarray, "N D"], share: float) -> float:
    """A share of the mean variance: what one run leaves unsaid, and the sketch's own error."""
    return share * float(np.square(features).sum(1).mean())
