"""How honest a predictive law is: coverage, proper scores, sharpness, spread against error.

Points of one trajectory are dependent, so a trajectory is the unit of everything here: each
figure is a function of one row of sums for each trajectory, and its interval comes from drawing
whole rows again (percentile bootstrap). With few trajectories the intervals are wide, as they
must be; below about ten they are themselves too short and serve as a hint only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy.stats import rankdata

from mflno.bayes.laws import Law
from mflno.bayes.scores import check_level, interval_score, relative_error
from mflno.errors import ArgumentError
from mflno.shapes import Float, Int

QUANTILES = np.arange(0.05, 0.96, 0.05)
_CHUNK = 2**14


@dataclass(frozen=True)
class Estimate:
    """A figure, and the 95 % bootstrap interval over trajectories."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class LevelReport:
    """How one central band did.

    Attributes:
        level: The probability promised.
        coverage: Share of points inside, mean over trajectories.
        whole: Share of trajectories that lie inside at every point.
        width: Mean width.
        score: Mean interval score, smaller is better.
    """

    level: float
    coverage: Estimate
    whole: Estimate
    width: Estimate
    score: Estimate


@dataclass(frozen=True)
class Calibration:
    """Report on a predictive law against the truth.

    Attributes:
        trajectories: How many there were.
        levels: One report for each level.
        crps: Mean continuous ranked probability score.
        spread_skill: Root mean square of the predicted deviation over that of the error; 1 is
            right, below 1 the law is too sure.
        quantile_error: Mean of |share of truth below the p-quantile - p| over `QUANTILES`.
        pearson: Correlation over trajectories of mean deviation with relative L2 error.
        spearman: The same by ranks.
        shares: Share of truth below each of `QUANTILES`, for a reliability plot.
        error: Relative L2 error of the mean of each trajectory.
        deviation: Mean predicted deviation of each trajectory.
    """

    trajectories: int
    levels: tuple[LevelReport, ...]
    crps: Estimate
    spread_skill: Estimate
    quantile_error: Estimate
    pearson: Estimate
    spearman: Estimate
    shares: Float[ndarray, " Q"]
    error: Float[ndarray, " N"]
    deviation: Float[ndarray, " N"]


def calibration(
    law: Law,
    truth: Float[ndarray, "N O T"],
    generator: np.random.Generator,
    *,
    levels: Sequence[float] = (0.5, 0.8, 0.9, 0.95),
    resamples: int = 1000,
) -> Calibration:
    """Score a predictive law on trajectories that took no part in fitting it.

    Args:
        law: Predictive law of the same trajectories.
        truth: What the expensive solver gave.
        generator: Draws the bootstrap.
        levels: Probabilities of the central bands to check.
        resamples: Bootstrap samples.

    Example:
        >>> from mflno.bayes.laws import StudentLaw
        >>> generator = np.random.default_rng(0)
        >>> truth = generator.standard_normal((40, 1, 50))
        >>> law = StudentLaw(np.zeros_like(truth), np.ones_like(truth))
        >>> report = calibration(law, truth, generator)
        >>> report.levels[-1].coverage.low < 0.95 < report.levels[-1].coverage.high
        True
    """
    _check(law, truth, levels)
    parts = [_columns(law.take(part), truth[part], levels) for part in _parts(law, truth)]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    sampled = resampled(len(truth), resamples, generator)
    index = np.concatenate([np.arange(len(truth))[None], sampled])
    means = {name: _shares(index) @ column for name, column in columns.items()}
    names = ("coverage", "whole", "width", "score")
    reports = (
        LevelReport(level, *(_interval(means[name][:, k]) for name in names))
        for k, level in enumerate(levels)
    )
    error, deviation = columns["error"], columns["deviation"]
    ranked = lambda column: rankdata(column[index], axis=1)
    return Calibration(
        trajectories=len(truth),
        levels=tuple(reports),
        crps=_interval(means["crps"]),
        spread_skill=_interval(np.sqrt(means["variance"] / means["square"])),
        quantile_error=_interval(_quantile_gap(means["below"])),
        pearson=_interval(_correlation(deviation[index], error[index])),
        spearman=_interval(_correlation(ranked(deviation), ranked(error))),
        shares=columns["below"].mean(0),
        error=error,
        deviation=deviation,
    )


def resampled(
    count: int, resamples: int, generator: np.random.Generator
) -> Int[ndarray, "B N"]:
    """Bootstrap samples of whole trajectories: each row draws N of N with replacement."""
    if count < 2:
        rule, remedy = "needs two or more trajectories", "hold out more cases"
        raise ArgumentError("calibration.truth", rule, count, remedy)
    return generator.integers(count, size=(resamples, count))


def _check(law: Law, truth: ndarray, levels: Sequence[float]) -> None:
    for level in levels:
        check_level("calibration.levels", level)
    if truth.ndim != 3 or law.mean.shape != truth.shape:
        came, remedy = f"{law.mean.shape} and {truth.shape}", "check the axes N, O, T"
        raise ArgumentError("calibration.truth", "must be shaped as the law", came, remedy)
    if not np.all(np.isfinite(truth)):
        rule, remedy = "must be finite", "drop the failed cases first"
        raise ArgumentError("calibration.truth", rule, "NaN or infinity", remedy)
    if not np.all(np.isfinite(law.mean)):
        rule, remedy = "must predict finite values", "drop the diverged draws"
        raise ArgumentError("calibration.law", rule, "NaN or infinity", remedy)


def _parts(law: Law, truth: ndarray) -> list[slice]:
    """Slices of cases small enough that the intermediate arrays stay in the cache."""
    points = truth[0].size
    step = max(1, _CHUNK // points)
    return [slice(start, start + step) for start in range(0, len(truth), step)]


def _columns(law: Law, truth: ndarray, levels: Sequence[float]) -> dict[str, ndarray]:
    """Everything the report needs of each trajectory, averaged over outputs and time."""
    rows = lambda values: values.reshape(len(truth), -1).mean(1)
    mean, std = law.mean, law.std
    below = law.below(truth).reshape(len(truth), -1)
    columns = {
        "crps": rows(law.crps(truth)),
        "variance": rows(std**2),
        "square": rows((truth - mean) ** 2),
        "error": relative_error(mean, truth),
        "deviation": rows(std),
        "below": np.stack([(below <= p).mean(1) for p in QUANTILES], 1),
    }
    bands: dict[str, list[ndarray]] = {"coverage": [], "whole": [], "width": [], "score": []}
    for level in levels:
        low, high = law.quantile(0.5 - level / 2), law.quantile(0.5 + level / 2)
        inside = (low <= truth) & (truth <= high)
        bands["coverage"].append(rows(inside))
        bands["whole"].append(inside.all((1, 2)).astype(float))
        bands["width"].append(rows(high - low))
        bands["score"].append(rows(interval_score(low, high, truth, level)))
    return columns | {name: np.stack(values, 1) for name, values in bands.items()}


def _shares(index: ndarray) -> ndarray:
    """How much of each bootstrap sample is which trajectory; rows sum to one."""
    resamples, count = index.shape
    flat = (index + count * np.arange(resamples)[:, None]).ravel()
    return np.bincount(flat, minlength=resamples * count).reshape(resamples, count) / count


def _interval(values: ndarray) -> Estimate:
    """The first value is the estimate itself, the others are its bootstrap."""
    samples = values[1:][np.isfinite(values[1:])]
    low, high = np.quantile(samples, (0.025, 0.975)) if len(samples) else (np.nan, np.nan)
    return Estimate(float(values[0]), float(low), float(high))


def _quantile_gap(shares: ndarray) -> ndarray:
    return np.abs(shares - QUANTILES).mean(-1)


def _correlation(x: ndarray, y: ndarray) -> ndarray:
    x, y = (v - v.mean(-1, keepdims=True) for v in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (x * y).sum(-1) / np.sqrt((x**2).sum(-1) * (y**2).sum(-1))
