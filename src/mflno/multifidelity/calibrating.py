"""How far to trust a fitted method: every high run left out once, and what that says of bands.

A method's own standard deviation is scaled so that it fits the errors at runs the method has
not seen. Runs of a design that fills the box are harder to leave out than new cases are to
predict; a method that knows its deviation there to be larger is not misled, because residuals
are counted in units of it.

Few runs say little about a scale: N runs give N amplitudes. So a method's own scale is worth
some runs too (`Predictor.worth`), and so is a usual spread of amplitudes: the geometric mean a
of N amplitudes counts as a^(N / (N + worth)), and three runs that happen to agree do not make
bands narrow. Nor do three runs know at which times errors are small: a share of each
trajectory's mean variance is given to all its points.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray
from scipy import stats

from mflno.bayes import amplitude_scale, relative_error, scaled_residuals
from mflno.multifidelity.law import Data, Law, LeavesOut, Method, Predictor, joined
from mflno.multifidelity.query import Query
from mflno.progress import progress
from mflno.seeds import numpy_stream
from mflno.shapes import Float

LEVELS = 0.5, 0.6827, 0.8, 0.9, 0.95, 0.99
LEAST = 3
"""High runs from which leaving one out still leaves something to learn from."""
WORTH, SPREAD = 2.0, 0.4
"""Runs that a method's own scale is worth, and the usual relative spread of amplitudes."""
EVEN = 0.1
"""Weight of a trajectory's mean variance beside the variance at each point."""
FLOOR = 0.02
"""Share of the usual deviation that is the least anywhere: no band closes altogether."""
PLACES = 64
"""Most cases at which the usual deviation is looked at."""


@dataclass(frozen=True)
class LeftOut:
    """Each high run as a fit without it would have had it.

    Attributes:
        cases: The runs' cases, in physical units.
        errors: Relative L2 error of each.
        scaled: Error over the method's own deviation, at each point.
    """

    cases: Float[ndarray, "N P"]
    errors: Float[ndarray, " N"]
    scaled: Float[ndarray, "N O T"] = field(repr=False)


@dataclass(frozen=True)
class Bands:
    """What turns a method's deviation into honest bands.

    Attributes:
        floor: Least deviation of each output, before scaling.
        scale: What the method's deviation is multiplied by.
        radius: Level and half-width in units of the scaled deviation.
        worth: Runs left out that the method's own scale is worth.
        usual: Expected relative L2 error at each of some cases over the box, after scaling.
        amplitudes: Root mean square scaled residual of each run left out, after scaling.
        left_out: Where the scale comes from; none with too few runs.
    """

    floor: Float[ndarray, " O"]
    scale: float
    radius: tuple[tuple[float, float], ...]
    worth: float
    usual: Float[ndarray, " M"] = field(repr=False)
    amplitudes: Float[ndarray, " N"] = field(repr=False)
    left_out: LeftOut | None = None

    def std(self, raw: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """The honest deviation."""
        return self.scale * evened(raw, self.floor)


@dataclass(frozen=True)
class ExpectedError:
    """Relative L2 error to expect of new cases, drawn evenly from the box.

    Attributes:
        mean: Mean over the box.
        low: End of the 90 % interval of that mean: few runs tell a scale badly.
        high: The other end.
        most: What 95 % of cases stay below.
    """

    mean: float
    low: float
    high: float
    most: float


def evened(raw: Float[ndarray, "N O T"], floor: Float[ndarray, " O"]) -> ndarray:
    """A deviation that is evened out a little over time and nowhere below a floor."""
    square = np.square(raw)
    even = (square + EVEN * square.mean(2, keepdims=True)) / (1.0 + EVEN)
    return np.sqrt(even + np.square(floor)[:, None])


def left_out_law(
    method: Method, data: Data, predictor: Predictor, *, seed: int, device: str, show: bool
) -> Law:
    """For each high run, the answer of a fit that has not seen it."""
    if isinstance(method, LeavesOut):
        return method.left_out(data, predictor, seed=seed)
    laws = []
    with progress("leaving out", len(data.high), show=show) as bar:
        for index in range(len(data.high)):
            fewer = data.without(index)
            left = method.fit(fewer, seed=seed, device=device, show=False)
            laws.append(left.law(data.at_high(index)))
            bar.advance()
    return joined(laws)


def places(data: Data, seed: int) -> Query:
    """Cases over the box whose cheap trajectories are known, or some drawn where none are."""
    common = {case.tobytes(): case for case in data.high.cases[:0]}
    if data.lower:
        common = {case.tobytes(): case for case in data.lower[0].cases}
        for level in data.lower[1:]:
            known = {case.tobytes() for case in level.cases}
            common = {key: case for key, case in common.items() if key in known}
    cases = np.array([*common.values()])
    generator = numpy_stream(seed, "places")
    if len(cases) < PLACES // 4:
        low, high = np.array([(p.low, p.high) for p in data.problem.parameters]).T
        cases = low + (high - low) * generator.random((PLACES // 2, len(low)))
    elif len(cases) > PLACES:
        cases = cases[np.sort(generator.permutation(len(cases))[:PLACES])]
    return data.query(cases)


def bands_of(data: Data, predictor: Predictor, law: Law | None, seed: int) -> Bands:
    """Bands from what was left out, or wide ones from a prior alone when nothing could be."""
    there = predictor.law(places(data, seed))
    everything = there.std if law is None else np.concatenate([there.std, law.std])
    rough = np.sqrt(np.square(everything).mean((0, 2)))
    size = np.sqrt(np.square(data.high.values).mean((0, 2)))
    floor = np.maximum(FLOOR * rough, 1e-12 * size + 1e-300)
    record, scaled = None, None
    if law is not None:
        scaled = scaled_residuals(data.high.values, law.mean, evened(law.std, floor))
        errors = relative_error(law.mean, data.high.values)
        record = LeftOut(data.high.cases, errors, scaled)
    worth = float(getattr(predictor, "worth", WORTH))
    scale, radius, amplitudes = spread_of(scaled, worth)
    std = scale * evened(there.std, floor)
    usual = np.sqrt(np.square(std).sum((1, 2)) / np.square(there.mean).sum((1, 2)))
    return Bands(floor, scale, radius, worth, usual, amplitudes, record)


def spread_of(
    scaled: Float[ndarray, "N O T"] | None, worth: float
) -> tuple[float, tuple[tuple[float, float], ...], ndarray]:
    """Scale of the deviation, widths of the bands in units of it, amplitudes in units of it."""
    if scaled is None:
        # Nothing was left out: the method's own scale, with tails as wide as that is unsure.
        widths = [float(stats.t(worth + 1.0).ppf(0.5 + level / 2)) for level in LEVELS]
        amplitudes = np.ones(1)
    else:
        # An exact method leaves nothing; the least that can be scaled stands for it.
        safe = np.where(np.abs(scaled) < 1e-12, 1e-12, scaled)
        amplitudes = np.sqrt(np.square(safe).mean((1, 2)))
        shrunk = np.exp(-worth / (worth + len(safe)) * np.log(amplitudes).mean())
        law = amplitude_scale(shrunk * safe, prior_count=worth, prior_spread=SPREAD)
        widths = [law.radius(level) for level in LEVELS]
        amplitudes = shrunk * amplitudes
    scale = widths[LEVELS.index(0.6827)]
    table = tuple((level, width / scale) for level, width in zip(LEVELS, widths, strict=True))
    return scale, table, amplitudes / scale


def expected(bands: Bands) -> ExpectedError:
    """What the bands say of the box as a whole."""
    logs = np.log(bands.amplitudes)
    dof = len(logs) - 1 + bands.worth
    squares = np.square(logs - logs.mean()).sum() + bands.worth * SPREAD**2
    spread = float(np.sqrt(squares / dof))
    reach = float(np.exp(stats.t(dof).ppf(0.95) * spread / np.sqrt(len(logs) + bands.worth)))
    mean = float(np.exp(logs.mean()) * bands.usual.mean())
    # Places differ, and so do amplitudes at one place: the 95 % point of both together.
    later = np.exp(logs.mean() + spread * stats.t(dof).ppf((np.arange(50) + 0.5) / 50))
    most = float(np.quantile(np.outer(bands.usual, later), 0.95))
    return ExpectedError(mean, mean / reach, mean * reach, max(most, mean))
