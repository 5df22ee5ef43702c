"""How far to trust a fitted method: every high run left out once, and what that says of bands.

A method's own standard deviation is scaled so that it fits the errors at runs the method has
not seen. Runs of a design that fills the box are harder to leave out than new cases are to
predict; a method that knows its deviation there to be larger is not misled, because residuals
are counted in units of it.

Few runs say little about a scale: N runs give N amplitudes. A prior worth `PRIOR_COUNT` runs
keeps the spread of amplitudes from being taken for small when two or three happen to agree.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray
from scipy import stats

from mflno.bayes import amplitude_scale, relative_error, scaled_residuals
from mflno.multifidelity.law import Data, Law, LeavesOut, Method, Predictor
from mflno.multifidelity.query import Query
from mflno.progress import progress
from mflno.seeds import numpy_stream
from mflno.shapes import Float

LEVELS = 0.5, 0.6827, 0.8, 0.9, 0.95, 0.99
LEAST = 3
"""High runs from which leaving one out still leaves something to learn from."""
PRIOR_COUNT, PRIOR_SPREAD = 2.0, 0.5
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
        usual: Expected relative L2 error at each of some cases over the box, after scaling.
        amplitudes: Root mean square scaled residual of each run left out, after scaling.
        left_out: Where the scale comes from; none with too few runs.
    """

    floor: Float[ndarray, " O"]
    scale: float
    radius: tuple[tuple[float, float], ...]
    usual: Float[ndarray, " M"] = field(repr=False)
    amplitudes: Float[ndarray, " N"] = field(repr=False)
    left_out: LeftOut | None = None

    def std(self, raw: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
        """The honest deviation."""
        return self.scale * floored(raw, self.floor)


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


def floored(raw: Float[ndarray, "N O T"], floor: Float[ndarray, " O"]) -> ndarray:
    """A deviation that nowhere is less than a floor; smooth, by squares."""
    return np.sqrt(np.square(raw) + np.square(floor)[:, None])


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
            laws.append(left.law(data.query(data.high.cases[index : index + 1])))
            bar.advance()
    return Law(np.concatenate([l.mean for l in laws]), np.concatenate([l.std for l in laws]))


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
        scaled = scaled_residuals(data.high.values, law.mean, floored(law.std, floor))
        errors = relative_error(law.mean, data.high.values)
        record = LeftOut(data.high.cases, errors, scaled)
    scale, radius, amplitudes = spread_of(scaled)
    std = scale * floored(there.std, floor)
    usual = np.sqrt(np.square(std).sum((1, 2)) / np.square(there.mean).sum((1, 2)))
    return Bands(floor, scale, radius, usual, amplitudes, record)


def spread_of(
    scaled: Float[ndarray, "N O T"] | None,
) -> tuple[float, tuple[tuple[float, float], ...], ndarray]:
    """Scale of the deviation, widths of the bands in units of it, amplitudes in units of it."""
    if scaled is None:
        # Nothing was left out: a law with the tails of two amplitudes known only by a prior.
        widths = [float(stats.t(3).ppf(0.5 + level / 2)) for level in LEVELS]
        amplitudes = np.ones(1)
    else:
        amplitudes = np.sqrt(np.square(scaled).mean((1, 2)))
        # An exact method leaves nothing; the least that can be scaled stands for it.
        amplitudes = np.maximum(amplitudes, 1e-6)
        safe = np.where(np.abs(scaled) < 1e-12, 1e-12, scaled)
        law = amplitude_scale(safe, prior_count=PRIOR_COUNT, prior_spread=PRIOR_SPREAD)
        widths = [law.radius(level) for level in LEVELS]
    scale = widths[LEVELS.index(0.6827)]
    table = tuple((level, width / scale) for level, width in zip(LEVELS, widths, strict=True))
    return scale, table, amplitudes / scale


def expected(bands: Bands) -> ExpectedError:
    """What the bands say of the box as a whole."""
    count = len(bands.amplitudes)
    logs = np.log(bands.amplitudes)
    middle = float(np.exp(logs.mean()))
    spread = np.sqrt(
        (np.square(logs - logs.mean()).sum() + PRIOR_COUNT * PRIOR_SPREAD**2)
        / (count - 1 + PRIOR_COUNT)
    )
    reach = float(np.exp(stats.t(count - 1 + PRIOR_COUNT).ppf(0.95) * spread / np.sqrt(count)))
    mean = middle * float(bands.usual.mean())
    # Amplitudes and places vary together: the 95 % point of their product, table by table.
    table = np.outer(bands.usual, np.exp(logs))
    most = max(float(np.quantile(table, 0.95)), mean)
    return ExpectedError(mean, mean / reach, mean * reach, most)
