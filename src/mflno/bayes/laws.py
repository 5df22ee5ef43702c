"""Predictive laws of trajectories: draws, a Student or Gaussian band, a table of atoms.

A `Law` answers for each point of each trajectory: mean, standard deviation, quantile,
distribution function, CRPS. Calibration needs nothing else, so a new law needs no new report.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, sqrt
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray
from scipy import special, stats

from mflno.bayes.scores import ensemble_crps, student_crps
from mflno.errors import ArgumentError
from mflno.shapes import Float


@runtime_checkable
class Law(Protocol):
    """What one predicts for N trajectories, each point with a law of its own."""

    @property
    def mean(self) -> Float[ndarray, "N O T"]:
        """Expected value."""
        ...

    @property
    def std(self) -> Float[ndarray, "N O T"]:
        """Expected root mean square error of the mean, if the law is true."""
        ...

    def quantile(self, probability: float) -> Float[ndarray, "N O T"]:
        """Value below which the truth lies with this probability."""
        ...

    def below(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Probability of a value below the truth."""
        ...

    def crps(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Continuous ranked probability score."""
        ...

    def take(self, cases: slice) -> "Law":
        """The law of some of the trajectories."""
        ...


@dataclass(frozen=True)
class DrawLaw:
    """The law that S draws stand for, without any assumption about its form.

    Quantiles interpolate the order statistics at p (S + 1), which is unbiased when truth and
    draws come from one law; beyond 1/(S + 1) and S/(S + 1) the outermost draw is returned, so
    ten draws cannot give more than an 82 % interval.

    Example:
        >>> law = DrawLaw(np.arange(1.0, 4.0).reshape(3, 1, 1, 1))
        >>> law.quantile(0.25).item(), law.mean.item()
        (1.0, 2.0)
    """

    draws: Float[ndarray, "S N O T"]

    def __post_init__(self) -> None:
        """Refuse a single draw: it says nothing about spread."""
        if len(self.draws) < 2:
            raise ArgumentError("DrawLaw.draws", "two or more", len(self.draws), "draw more")

    @cached_property
    def ranked(self) -> Float[ndarray, "S N O T"]:
        """The draws in rising order at each point."""
        return np.sort(self.draws, axis=0)

    @cached_property
    def moments(self) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
        """Mean and unbiased variance of the draws."""
        return self.draws.mean(0), self.draws.var(0, ddof=1)

    @property
    def mean(self) -> Float[ndarray, "N O T"]:
        """Mean of the draws."""
        return self.moments[0]

    @property
    def std(self) -> Float[ndarray, "N O T"]:
        """Unbiased deviation of the draws, widened by 1 + 1/S for the error of their mean."""
        return np.sqrt((1 + 1 / len(self.draws)) * self.moments[1])

    def quantile(self, probability: float) -> Float[ndarray, "N O T"]:
        """Interpolated order statistic."""
        size = len(self.draws)
        rank = min(max(probability * (size + 1) - 1, 0.0), size - 1.0)
        low = min(int(rank), size - 2)
        part = rank - low
        return (1 - part) * self.ranked[low] + part * self.ranked[low + 1]

    def below(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Mid-rank of the truth among the draws: (draws below + 1/2) / (S + 1)."""
        count = np.zeros_like(truth)
        for draw in self.draws:
            count += 0.5 * (draw < truth) + 0.5 * (draw <= truth)
        return (count + 0.5) / (len(self.draws) + 1)

    def crps(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Fair score of the draws."""
        return ensemble_crps(self.ranked, truth)

    def take(self, cases: slice) -> "DrawLaw":
        """Draws of some of the trajectories."""
        return DrawLaw(self.draws[:, cases])


@dataclass(frozen=True)
class StudentLaw:
    """A Student law at each point, with one number of degrees of freedom; Gaussian at inf.

    Example:
        >>> law = StudentLaw(np.zeros((1, 1, 1)), np.ones((1, 1, 1)))
        >>> round(law.quantile(0.975).item(), 2)
        1.96
    """

    mean: Float[ndarray, "N O T"]
    scale: Float[ndarray, "N O T"]
    dof: float = inf

    def __post_init__(self) -> None:
        """Refuse scales that are not positive: the score divides by them."""
        if not np.all(self.scale > 0):
            rule, remedy = "must be positive everywhere", "add a floor: widened(std, 1e-3)"
            raise ArgumentError("StudentLaw.scale", rule, float(self.scale.min()), remedy)
        if not self.dof > 2:
            rule = "must exceed 2 for a finite variance"
            raise ArgumentError("StudentLaw.dof", rule, self.dof, "use more trajectories")

    @property
    def std(self) -> Float[ndarray, "N O T"]:
        """Scale times sqrt(n / (n - 2))."""
        return self.scale * (1.0 if self.dof == inf else sqrt(self.dof / (self.dof - 2)))

    def quantile(self, probability: float) -> Float[ndarray, "N O T"]:
        """Mean plus scale times the standard quantile."""
        return self.mean + self.scale * stats.t(self.dof).ppf(probability)

    def below(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Standard distribution function at the standardised truth."""
        deviation = (truth - self.mean) / self.scale
        if self.dof == inf:
            return special.ndtr(deviation)
        return special.stdtr(self.dof, deviation)

    def crps(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Closed form."""
        return self.scale * student_crps((truth - self.mean) / self.scale, self.dof)

    def take(self, cases: slice) -> "StudentLaw":
        """The law of some of the trajectories."""
        return replace(self, mean=self.mean[cases], scale=self.scale[cases])


@dataclass(frozen=True)
class AtomLaw:
    """Mean + scale * z at each point, z uniform on a table of atoms in rising order.

    The empirical counterpart of `StudentLaw`: the atoms are quantiles of measured scaled
    residuals, so tails are as heavy as those seen.

    Example:
        >>> law = AtomLaw(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), np.array([-1.0, 0.0, 1.0]))
        >>> law.quantile(0.75).item()
        1.0
    """

    mean: Float[ndarray, "N O T"]
    scale: Float[ndarray, "N O T"]
    atoms: Float[ndarray, " A"]

    def __post_init__(self) -> None:
        """Refuse unsorted atoms and scales that are not positive."""
        if len(self.atoms) < 2 or not np.all(np.diff(self.atoms) >= 0):
            rule = "two or more, rising"
            raise ArgumentError("AtomLaw.atoms", rule, self.atoms.shape, "sort them")
        if not np.all(self.scale > 0):
            rule, remedy = "must be positive everywhere", "add a floor: widened(std, 1e-3)"
            raise ArgumentError("AtomLaw.scale", rule, float(self.scale.min()), remedy)

    @property
    def std(self) -> Float[ndarray, "N O T"]:
        """Scale times the root mean square of the atoms."""
        return self.scale * float(np.sqrt(np.mean(self.atoms**2)))

    def quantile(self, probability: float) -> Float[ndarray, "N O T"]:
        """Interpolated atom at p (A + 1)."""
        size = len(self.atoms)
        place = np.clip(probability * (size + 1) - 1, 0, size - 1)
        return self.mean + self.scale * float(np.interp(place, np.arange(size), self.atoms))

    def below(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Interpolated place of the standardised truth among the atoms."""
        size = len(self.atoms)
        table = (np.arange(size) + 1.0) / (size + 1.0)
        deviation = (truth - self.mean) / self.scale
        # a truth beyond the last atom lies half-way into the probability left there
        edge = 0.5 / (size + 1.0)
        return np.interp(deviation, self.atoms, table, left=edge, right=1.0 - edge)

    def crps(self, truth: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """Score of the atoms taken as the whole law, by prefix sums."""
        size, atoms = len(self.atoms), self.atoms
        deviation = (truth - self.mean) / self.scale
        count = np.searchsorted(atoms, deviation)
        prefix = np.concatenate([[0.0], np.cumsum(atoms)])
        distance = (2 * count - size) * deviation + prefix[-1] - 2 * prefix[count]
        spread = (2.0 * np.arange(size) - (size - 1)) @ atoms / size**2
        return self.scale * (distance / size - spread)

    def take(self, cases: slice) -> "AtomLaw":
        """The law of some of the trajectories."""
        return replace(self, mean=self.mean[cases], scale=self.scale[cases])


def widened(std: Float[ndarray, "N O T"], floor: float) -> Float[ndarray, "N O T"]:
    """A standard deviation that nowhere falls below a share of its own root mean square.

    sqrt(std^2 + floor^2 mean(std^2)), the mean over everything given. A band that closes to
    nothing, as at a fixed initial state, cannot be scaled to cover a small miss there.

    Example:
        >>> widened(np.array([[[0.0, 1.0]]]), 1.0).round(2).tolist()
        [[[0.71, 1.22]]]
    """
    return np.sqrt(std**2 + floor**2 * np.mean(std**2))
