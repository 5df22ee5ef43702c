"""Scores of one forecast against one truth, point by point; smaller is better.

Every function is pure and works on NumPy arrays of matching shape. A proper score is the
figure to compare bands by: coverage alone can be right for a wrong reason.
"""

from math import inf

import numpy as np
from numpy import ndarray
from scipy import special, stats

from mflno.errors import ArgumentError
from mflno.shapes import Float


def ensemble_crps(
    ranked: Float[ndarray, "S *shape"], truth: Float[ndarray, "*shape"], *, fair: bool = True
) -> Float[ndarray, "*shape"]:
    """Continuous ranked probability score of draws sorted along their first axis.

    CRPS = mean_s |x_s - y| - sum_{s<r} |x_s - x_r| / (S (S - 1))

    The fair form is unbiased for the score of the law the draws come from; with `fair=False`
    the divisor is S^2, the score of the draws taken as the whole law.
    Reference: Ferro, Fair scores for ensemble forecasts, 2014.

    Example:
        >>> ensemble_crps(np.array([[0.0], [2.0]]), np.array([1.0])).tolist()
        [0.0]
    """
    size = len(ranked)
    if size < 2 and fair:
        raise ArgumentError("ensemble_crps.ranked", "needs two draws", size, "draw more")
    # sum over pairs of |difference| is a weighted sum of the sorted draws
    weights = 2.0 * np.arange(size) - (size - 1)
    spread = np.tensordot(weights, ranked, axes=1)
    distance = np.zeros_like(truth)
    for draw in ranked:
        distance += np.abs(draw - truth)
    return distance / size - spread / (size * (size - 1) if fair else size**2)


def student_crps(
    deviation: Float[ndarray, "*shape"], dof: float = inf
) -> Float[ndarray, "*shape"]:
    """CRPS of a standard Student law (Gaussian when `dof` is infinite) at a deviation z.

    Gaussian: z (2 F(z) - 1) + 2 f(z) - 1 / sqrt(pi)
    Student: z (2 F(z) - 1) + 2 f(z) (n + z^2) / (n - 1)
             - 2 sqrt(n) / (n - 1) * B(1/2, n - 1/2) / B(1/2, n/2)^2

    A law with scale s at mean m scores s times this at z = (y - m) / s.
    Reference: Jordan, Krueger, Lerch, Evaluating probabilistic forecasts, 2019.

    Example:
        >>> student_crps(np.array([0.0])).round(4).tolist()
        [0.2337]
    """
    if not dof > 1:
        rule = "must exceed 1, the score needs a finite mean"
        raise ArgumentError("student_crps.dof", rule, dof, "use more trajectories")
    if dof == inf:
        density = np.exp(-0.5 * deviation**2) / np.sqrt(2 * np.pi)
        return deviation * special.erf(deviation / np.sqrt(2)) + 2 * density - np.pi**-0.5
    ratio = special.beta(0.5, dof - 0.5) / special.beta(0.5, dof / 2) ** 2
    tail = 2 * stats.t.pdf(deviation, dof) * (dof + deviation**2) / (dof - 1)
    centre = 2 * np.sqrt(dof) / (dof - 1) * ratio
    return deviation * (2 * special.stdtr(dof, deviation) - 1) + tail - centre


def interval_score(
    low: Float[ndarray, "*shape"],
    high: Float[ndarray, "*shape"],
    truth: Float[ndarray, "*shape"],
    level: float,
) -> Float[ndarray, "*shape"]:
    """Winkler's score of a central interval: its width, and 2/(1 - level) times any miss.

    Example:
        >>> interval_score(np.zeros(1), np.ones(1), np.array([1.5]), 0.9).round(9).tolist()
        [11.0]
    """
    check_level("interval_score.level", level)
    miss = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return high - low + 2.0 / (1.0 - level) * miss


def relative_error(
    guess: Float[ndarray, "N O T"], truth: Float[ndarray, "N O T"]
) -> Float[ndarray, " N"]:
    """Relative L2 error of each trajectory, |guess - truth| / |truth|, outputs and time."""
    norm = np.sqrt((truth**2).sum((1, 2)))
    if not np.all(norm > 0):
        case = int(np.argmin(norm))
        rule, came = "no trajectory may be zero throughout", f"case {case}"
        raise ArgumentError("relative_error.truth", rule, came, "score absolute errors instead")
    return np.sqrt(((guess - truth) ** 2).sum((1, 2))) / norm


def check_level(place: str, level: float) -> None:
    """Raise unless the level is a probability strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise ArgumentError(place, "must lie strictly between 0 and 1", level, "pass 0.95")
