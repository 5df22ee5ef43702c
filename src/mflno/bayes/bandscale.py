"""How far to widen a band, learnt from a few held-out trajectories.

A surrogate predicts `mean` and `std`; leave-one-out (or k-fold) models give scaled residuals
z = (truth - mean) / std at cases they have not seen. Here z becomes the law of the next
trajectory's z, and so a band mean -+ radius * std that holds the promised share of points.

Points of one trajectory rise and fall together: N trajectories of T points carry little more
than N numbers about scale. The quantile of all |z| pooled (`pooled_scale`) solves
    mean over the N of (share of points inside) = level,
so it takes the amplitudes seen for those to come and is too narrow on average by a term of
order 1/N. `amplitude_scale` writes z = a u, an amplitude a of the trajectory times a shape u
common to all, and predicts the next a by the Student law that N amplitudes allow:
    c(a) ~ mean(c(a_i)) + s sqrt(1 + 1/N) t_{N-1},    a_i^2 = mean of z_i^2,  c(a) = a^(1/3).
`student_scale` matches logarithms of amplitudes to those of a Student variable instead.

The cube root lies between the transforms that make two likely laws normal, the logarithm for
log-normal amplitudes and a^(2/3) for the chi law of a few Gaussian modes. The logarithm takes
small amplitudes, which such modes often give, for a sign of large ones to come.

What this promises: if trajectories are exchangeable, the share of points inside, averaged over
new trajectories and over training sets of 5 to 9, comes within two percentage points of 95 %
over both families of amplitudes (the tests hold this). What it does not promise: one training
set's share scatters around that average, the more so the more unevenly std tracks the error
(`checked_radius` estimates it); a single trajectory may lie outside altogether; and the runs
have to be exchangeable with the cases to come. Runs picked far apart are harder to leave out
than new cases are to predict: where std does not know it, the bands are then too wide.
Bands free of an assumption on amplitudes are in `conformal`, where the counts allow them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy import ndarray
from scipy import optimize, special

from mflno.bayes.laws import AtomLaw, Law, StudentLaw
from mflno.bayes.scores import check_level
from mflno.errors import ArgumentError
from mflno.shapes import Float

# midpoints in probability at which amplitudes, shapes and atoms are tabulated
_AMPLITUDES = (np.arange(400) + 0.5) / 400
_SHAPES = (np.arange(250) + 0.5) / 250
_ATOMS = np.arange(1, 400) / 400


class BandScale(Protocol):
    """The law of the next trajectory's scaled residuals."""

    def radius(self, level: float) -> float:
        """Half-width, in predicted deviations, of the band of this level."""
        ...

    def law(self, mean: Float[ndarray, "N O T"], std: Float[ndarray, "N O T"]) -> Law:
        """Predictive law of new trajectories from a surrogate's mean and deviation."""
        ...


def scaled_residuals(
    truth: Float[ndarray, "N O T"], mean: Float[ndarray, "N O T"], std: Float[ndarray, "N O T"]
) -> Float[ndarray, "N O T"]:
    """(truth - mean) / std of held-out trajectories; 0 where both are exactly 0.

    An exact initial state has no error and no deviation, and any band holds it. An error where
    no deviation was predicted cannot be scaled: such a std needs a floor.

    Example:
        >>> zero = np.zeros((1, 1, 2))
        >>> scaled_residuals(np.array([[[0.0, 3.0]]]), zero, np.array([[[0.0, 2.0]]])).tolist()
        [[[0.0, 1.5]]]
    """
    residual = truth - mean
    if not (np.all(np.isfinite(residual)) and np.all(np.isfinite(std)) and np.all(std >= 0)):
        rule, remedy = "all finite, std not negative", "drop the failed cases first"
        raise ArgumentError("scaled_residuals", rule, "they are not", remedy)
    closed = std == 0
    if np.any(closed & (residual != 0)):
        count = int((closed & (residual != 0)).sum())
        rule, came = "positive wherever there is an error", f"{count} points without"
        remedy = "give it a floor: widened(std, 1e-3)"
        raise ArgumentError("scaled_residuals.std", rule, came, remedy)
    return np.where(closed, 0.0, residual / np.where(closed, 1.0, std))


@dataclass(frozen=True)
class TableScale:
    """A table of |z| in rising order, each entry equally likely."""

    ranked: Float[ndarray, " A"]

    def radius(self, level: float) -> float:
        """Quantile of |z|."""
        check_level("TableScale.radius", level)
        return float(np.quantile(self.ranked, level))

    def law(self, mean: Float[ndarray, "N O T"], std: Float[ndarray, "N O T"]) -> AtomLaw:
        """Symmetric law whose central bands have these radii."""
        reach = np.quantile(self.ranked, np.abs(2 * _ATOMS - 1))
        return AtomLaw(mean, std, np.sign(_ATOMS - 0.5) * reach)


@dataclass(frozen=True)
class StudentScale:
    """z is `scale` times a Student variable with `dof` degrees of freedom."""

    scale: float
    dof: float

    def radius(self, level: float) -> float:
        """Scale times the Student quantile."""
        check_level("StudentScale.radius", level)
        return self.scale * float(special.stdtrit(self.dof, 0.5 + 0.5 * level))

    def law(self, mean: Float[ndarray, "N O T"], std: Float[ndarray, "N O T"]) -> StudentLaw:
        """Student law in closed form; refused where its variance is infinite."""
        return StudentLaw(mean, self.scale * std, self.dof)


def pooled_scale(scaled: Float[ndarray, "N O T"]) -> TableScale:
    """The |z| of all points and trajectories, taken for the law to come.

    Too narrow on average for few trajectories; use it with some thirty or more.

    Example:
        >>> pooled_scale(np.arange(-50.0, 51.0).reshape(1, 1, -1)).radius(0.8)
        40.0
    """
    _check("pooled_scale", scaled, least=1)
    return TableScale(np.sort(np.abs(scaled), axis=None))


def amplitude_scale(
    scaled: Float[ndarray, "N O T"],
    *,
    power: float = 1 / 3,
    prior_count: float = 0.0,
    prior_spread: float = 0.5,
) -> TableScale:
    """The law of |a u|, with the next trajectory's amplitude a predicted from those seen.

    c = a^power, or log a for power 0
    s^2 = (sum (c_i - mean)^2 + prior_count * spread^2) / (N - 1 + prior_count)
    c ~ mean + s sqrt(1 + 1/N) t_{N - 1 + prior_count} >= 0,    u from all z_i / a_i

    The prior shrinks the spread of amplitudes towards one thought likely beforehand, and is
    worth `prior_count` trajectories; without it nothing is assumed about the spread.

    Args:
        scaled: Held-out scaled residuals of two or more trajectories.
        power: Which transform of amplitudes is taken for normal.
        prior_count: How many trajectories the prior is worth.
        prior_spread: Relative standard deviation of a expected before seeing any.

    Example:
        >>> shape = np.sqrt(2) * np.sin(np.linspace(0, 20 * np.pi, 2001))
        >>> scaled = np.array([1.0, 1.0, 1.0])[:, None, None] * shape
        >>> round(amplitude_scale(scaled).radius(0.95), 2)   # equal amplitudes: nothing added
        1.41
    """
    logs = _log_amplitudes("amplitude_scale", scaled)
    if not 0 <= power <= 1:
        rule, remedy = "in [0, 1]", "pass 0 for log-normal amplitudes"
        raise ArgumentError("amplitude_scale.power", rule, power, remedy)
    seen = np.exp(power * logs) if power else logs
    # to first order a^p spreads by p a^p times the relative spread of a
    spread = power * seen.mean() * prior_spread if power else prior_spread
    deviation, dof = _predictive(seen, prior_count, spread)
    later = seen.mean() + deviation * special.stdtrit(dof, _AMPLITUDES)
    amplitudes = np.maximum(later, 0.0) ** (1 / power) if power else np.exp(later)
    shapes = np.abs(scaled) / np.exp(logs)[:, None, None]
    # each trajectory has as many points, so the pooled quantiles weigh them alike
    table = np.outer(amplitudes, np.quantile(shapes, _SHAPES))
    return TableScale(np.sort(table, axis=None))


def student_scale(
    scaled: Float[ndarray, "N O T"], *, prior_count: float = 0.0, prior_spread: float = 0.5
) -> StudentScale:
    """The Student law of z = a u with Gaussian u, matched to the logarithms of a.

    A Student variable is Gaussian with amplitude scale sqrt(n / chi^2_n), for which
        E log a = log scale + (log(n/2) - digamma(n/2)) / 2,  var log a = trigamma(n/2) / 4;
    n and scale are those at which the two equal mean(log a_i) and s^2 (1 + 1/N).

    Args:
        scaled: Held-out scaled residuals of two or more trajectories.
        prior_count: As of `amplitude_scale`.
        prior_spread: Standard deviation of log a expected before seeing any.

    Example:
        >>> equal = student_scale(np.ones((4, 1, 8)))
        >>> round(equal.radius(0.95), 2)
        1.96
    """
    logs = _log_amplitudes("student_scale", scaled)
    deviation, _ = _predictive(logs, prior_count, prior_spread)
    # beyond a million degrees of freedom the law is Gaussian to six digits
    gap = lambda log_dof: special.polygamma(1, np.exp(log_dof) / 2) / 4 - deviation**2
    low, high = np.log(1e-2), np.log(1e6)
    root: Any = optimize.brentq(gap, low, high) if gap(high) < 0 else high
    dof = float(np.exp(root))
    shift = 0.5 * (np.log(dof / 2) - special.digamma(dof / 2))
    return StudentScale(float(np.exp(logs.mean() - shift)), dof)


@dataclass(frozen=True)
class CheckedRadius:
    """A radius and how far to trust it, by leaving out one trajectory at a time.

    Attributes:
        value: From all trajectories.
        low: End of its 90 % jackknife interval (on the logarithm).
        high: The other end.
        coverage: Share of points inside, each trajectory judged by a radius from the others.
        coverage_error: Standard error of that share; trajectories are the unit.
        worst: Smallest share inside of any one trajectory so judged.
    """

    value: float
    low: float
    high: float
    coverage: float
    coverage_error: float
    worst: float


def checked_radius(
    fit: Callable[[Float[ndarray, "N O T"]], BandScale],
    scaled: Float[ndarray, "N O T"],
    level: float = 0.95,
) -> CheckedRadius:
    """The radius a fit gives, its uncertainty, and the coverage it shows on cases left out.

    The radii left over come from N - 1 trajectories, so `coverage` judges a slightly wider
    rule than the one in use; read it together with its standard error.

    Example:
        >>> scaled = np.random.default_rng(0).standard_normal((9, 1, 100))
        >>> report = checked_radius(amplitude_scale, scaled)
        >>> report.low < report.value < report.high and report.coverage > 0.9
        True
    """
    _check("checked_radius", scaled, least=3)
    count = len(scaled)
    value = fit(scaled).radius(level)
    others = [fit(np.delete(scaled, case, axis=0)).radius(level) for case in range(count)]
    logs = np.log(np.maximum(others, 1e-300))
    error = np.sqrt((count - 1) / count * ((logs - logs.mean()) ** 2).sum())
    reach = np.exp(special.stdtrit(count - 1, 0.95) * error)
    inside = np.abs(scaled) <= np.asarray(others)[:, None, None]
    shares = inside.reshape(count, -1).mean(1)
    return CheckedRadius(
        value=value,
        low=value / float(reach),
        high=value * float(reach),
        coverage=float(shares.mean()),
        coverage_error=float(shares.std(ddof=1) / np.sqrt(count)),
        worst=float(shares.min()),
    )


def _predictive(seen: ndarray, prior_count: float, prior_spread: float) -> tuple[float, float]:
    """Deviation and degrees of freedom of the next of N normal numbers."""
    if prior_count < 0 or prior_spread <= 0:
        rule, came = "count >= 0 and spread > 0", (prior_count, prior_spread)
        raise ArgumentError("amplitude_scale.prior", rule, came, "pass 0 for no prior")
    count = len(seen)
    dof = count - 1 + prior_count
    squares = ((seen - seen.mean()) ** 2).sum() + prior_count * prior_spread**2
    return float(np.sqrt(squares / dof * (1 + 1 / count))), float(dof)


def _log_amplitudes(place: str, scaled: ndarray) -> ndarray:
    _check(place, scaled, least=2)
    squares = (scaled**2).mean((1, 2))
    if not np.all(squares > 0):
        rule = "every trajectory must show some error"
        came, remedy = f"case {int(np.argmin(squares))} has none", "leave exact cases out"
        raise ArgumentError(f"{place}.scaled", rule, came, remedy)
    return 0.5 * np.log(squares)


def _check(place: str, scaled: ndarray, least: int) -> None:
    if len(scaled) < least:
        rule = f"needs {least} or more held-out trajectories"
        raise ArgumentError(f"{place}.scaled", rule, len(scaled), "leave more cases out")
    if not np.all(np.isfinite(scaled)):
        rule, remedy = "must be finite", "give std a floor: widened(std, 1e-3)"
        raise ArgumentError(f"{place}.scaled", rule, "NaN or infinity", remedy)
