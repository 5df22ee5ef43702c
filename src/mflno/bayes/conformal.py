"""Bands with a finite-sample guarantee, and a refusal where the counts allow none.

The guarantee assumes that the calibration trajectories and the next one are exchangeable: all
drawn alike from the box, none used to choose a model. Runs picked where a model was unsure, or
spread out evenly, are not; for them the bands are a measured scale, no guarantee.

The unit is the trajectory. `sup` bands hold all of a trajectory at once with the level's
probability; `mean` scores bound its integrated error; neither needs points to be independent.
"""

from math import ceil, floor

import numpy as np
from numpy import ndarray

from mflno.bayes.scores import check_level
from mflno.errors import ArgumentError
from mflno.shapes import Float


def needed(level: float) -> int:
    """How many calibration trajectories a conformal band of this level takes at least.

    Example:
        >>> needed(0.95), needed(0.9), needed(0.8)
        (19, 9, 4)
    """
    check_level("needed.level", level)
    return ceil(level / (1.0 - level) - 1e-9)


def sup_score(scaled: Float[ndarray, "N O T"]) -> Float[ndarray, " N"]:
    """Largest absolute scaled residual of each trajectory."""
    return np.abs(scaled).max((1, 2))


def mean_score(scaled: Float[ndarray, "N O T"]) -> Float[ndarray, " N"]:
    """Root mean square scaled residual of each trajectory: an integrated error."""
    return np.sqrt((scaled**2).mean((1, 2)))


def split_radius(scores: Float[ndarray, " N"], level: float) -> float:
    """Split-conformal radius: the ceil((N + 1) level)-th smallest score.

    The next trajectory's score is at most this with probability of at least `level`, and of
    at most level + 1/(N + 1) where scores have no ties.
    Reference: Vovk, Gammerman, Shafer, Algorithmic Learning in a Random World, 2005.

    Args:
        scores: One number a calibration trajectory, of a model that has not seen it, such as
            `sup_score((truth - mean) / std)`.
        level: Probability to hold.

    Example:
        >>> split_radius(np.arange(19.0), 0.95)
        18.0
        >>> split_radius(np.arange(9.0), 0.95)
        Traceback (most recent call last):
        ...
        mflno.errors.ArgumentError: split_radius.scores: a 95% band takes 19 or more ...
    """
    check_count("split_radius.scores", len(scores), level)
    if not np.all(np.isfinite(scores)):
        rule, remedy = "must be finite", "give std a floor: widened(std, 1e-3)"
        raise ArgumentError("split_radius.scores", rule, "NaN or infinity", remedy)
    rank = ceil((len(scores) + 1) * level - 1e-9)
    return float(np.sort(scores)[rank - 1])


def split_band(
    mean: Float[ndarray, "N O T"], std: Float[ndarray, "N O T"], radius: float
) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
    """The band mean -+ radius * std; with std of ones it has one width everywhere."""
    return mean - radius * std, mean + radius * std


def jackknife_band(
    predictions: Float[ndarray, "K N O T"],
    radii: Float[ndarray, "J O T"],
    level: float,
    *,
    scales: Float[ndarray, "K N O T"] | None = None,
) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
    """Jackknife+ (or CV+) band at each point, from K models that each left one case out.

    low  = floor((K + 1)(1 - level))-th smallest over k of  prediction_k - radius_k
    high = ceil((K + 1) level)-th smallest over k of        prediction_k + radius_k

    It holds each point of an exchangeable trajectory with probability of at least
    2 level - 1, usually with `level`, whatever the model. For CV+ repeat the model of the fold
    for each case of the fold; the bound is then lower by sqrt(2 / K).
    Reference: Barber, Candes, Ramdas, Tibshirani, Predictive inference with the jackknife+,
    2021.

    Args:
        predictions: Of the N new trajectories by the model that left case k out.
        radii: |truth - prediction| of case k by that model; divided by its deviation where
            `scales` are given.
        level: Probability to aim at; K must reach `needed(level)`.
        scales: Predicted deviation of each model at the new trajectories, if radii are scaled.

    Example:
        >>> guess = np.zeros((9, 1, 1, 2))
        >>> radii = np.arange(1.0, 10.0)[:, None, None] * np.ones((9, 1, 2))
        >>> low, high = jackknife_band(guess, radii, 0.9)
        >>> low.tolist(), high.tolist()
        ([[[-9.0, -9.0]]], [[[9.0, 9.0]]])
    """
    count = len(predictions)
    check_count("jackknife_band.predictions", count, level)
    if len(radii) != count:
        rule = "must have one row for each prediction"
        remedy = "repeat a fold's model for each of its cases"
        raise ArgumentError("jackknife_band.radii", rule, len(radii), remedy)
    reach = radii[:, None] if scales is None else scales * radii[:, None]
    high_rank = ceil((count + 1) * level - 1e-9)
    low_rank = floor((count + 1) * (1 - level) + 1e-9)
    low = np.partition(predictions - reach, low_rank - 1, axis=0)[low_rank - 1]
    high = np.partition(predictions + reach, high_rank - 1, axis=0)[high_rank - 1]
    return low, high


def jackknife_minmax_band(
    predictions: Float[ndarray, "K N O T"], radii: Float[ndarray, "K O T"], level: float
) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
    """Jackknife-minmax: widest prediction plus the quantile of radii; holds `level` surely."""
    check_count("jackknife_minmax_band.predictions", len(predictions), level)
    rank = ceil((len(radii) + 1) * level - 1e-9)
    reach = np.partition(radii, rank - 1, axis=0)[rank - 1]
    return predictions.min(0) - reach, predictions.max(0) + reach


def risk_radius(
    scaled: Float[ndarray, "N O T"],
    level: float,
    *,
    worst: float = 1.0,
) -> float:
    """Smallest radius whose expected share of missed points is at most 1 - level.

    (N / (N + 1)) mean_i miss_i(r) + worst / (N + 1) <= 1 - level,
    miss_i(r) = share of points of trajectory i with |scaled residual| > r.

    Then the expected share of points inside is at least `level` over exchangeable
    trajectories, provided that no trajectory misses more than `worst` of its points. With
    worst = 1 nothing is assumed and 95 % takes 19 trajectories; worst = 0.3 says that even an
    unlucky trajectory misses less than a third of its points, and five suffice.
    Reference: Angelopoulos, Bates, Fisch, Lei, Schuster, Conformal risk control, 2024.

    Args:
        scaled: (truth - mean) / std of models that have not seen the case.
        level: Share of points to hold.
        worst: Largest share of points any one trajectory may miss at this radius.

    Example:
        >>> scaled = np.random.default_rng(0).standard_normal((5, 1, 4000))
        >>> round(risk_radius(scaled, 0.8, worst=0.5), 1)
        1.5
    """
    check_level("risk_radius.level", level)
    if not 0.0 < worst <= 1.0:
        raise ArgumentError("risk_radius.worst", "must lie in (0, 1]", worst, "pass 1.0")
    count = len(scaled)
    budget = ((1.0 - level) * (count + 1) - worst) / count
    if budget < -1e-12:
        least = ceil(worst / (1.0 - level) - 1.0 - 1e-9)
        rule = f"a {level:.0%} band with worst={worst:g} takes {least} or more trajectories"
        remedy = "lower the level, bound `worst`, or use amplitude_scale (no guarantee)"
        raise ArgumentError("risk_radius.scaled", rule, count, remedy)
    ranked = np.sort(np.abs(scaled), axis=None)
    # all trajectories have as many points, so the mean miss is a pooled share
    kept = ceil(ranked.size * (1.0 - budget) - 1e-9)
    return float(ranked[kept - 1])


def check_count(place: str, count: int, level: float) -> None:
    """Raise unless so many trajectories can give a conformal band of the level."""
    least = needed(level)
    if count < least:
        rule = f"a {level:.0%} band takes {least} or more trajectories"
        highest = count / (count + 1)
        remedy = f"use a level up to {highest:.3g}, or amplitude_scale (no guarantee)"
        raise ArgumentError(place, rule, count, remedy)
