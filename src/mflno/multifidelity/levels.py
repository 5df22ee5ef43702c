"""Gaussian processes for one level after another, each fed with the level below.

```
z_0 = g_0(x),    z_k = g_k(x, z_{k-1}),    u = g_K(x, z_{K-1})
```

z_k are the principal coefficients of level k, each level's own, divided by the size of the
largest; g_k is a Gaussian process through the runs of level k. Nothing is solved to answer: the
cheapest level, too, is a process through its runs. What level k adds to the uncertainty of the
next goes through by differences along the principal directions of its covariance.

A run of level k is shown the coefficients of level k - 1 at its case if that was run there,
and what the processes below say of it if not.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.data import Trajectories
from mflno.multifidelity.blend import Blend, best_of, blended
from mflno.multifidelity.gaussian_process import GaussianProcess, Prior, conditioned
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, joined
from mflno.multifidelity.query import Query, interpolated
from mflno.seeds import stream_seed
from mflno.shapes import Float

ENERGY = 1e-6
"""Share of a level's energy that its coefficients may leave out."""
ROWS = 256
"""Rows that are moved along principal directions at once."""


Kernels = Callable[[int, int], list[Kernel]]
"""Covariances to try on so many columns of the case and coefficients of the level below."""


@dataclass(frozen=True)
class Coder:
    """Trajectories of one level as a few coefficients."""

    mean: Float[ndarray, " F"] = field(repr=False)
    basis: Float[ndarray, "F q"] = field(repr=False)
    decoded: Float[ndarray, "q F"] = field(repr=False)

    def on(self, grid: ndarray, finer: ndarray) -> Float[ndarray, "q G"]:
        """The trajectory that each coefficient stands for, from its own grid on another."""
        shaped = self.decoded.reshape(len(self.decoded), -1, len(grid))
        return interpolated(grid, shaped, finer).reshape(len(shaped), -1)

    def __call__(self, values: Float[ndarray, "N O t"]) -> Float[ndarray, "N q"]:
        """The coefficients."""
        return (values.reshape(len(values), -1) - self.mean) @ self.basis

    @classmethod
    def of(cls, values: Float[ndarray, "N O t"]) -> "Coder":
        """The components that hold all but a millionth of the energy, the largest first."""
        rows = values.reshape(len(values), -1)
        mean = rows.mean(0)
        _, sizes, vectors = np.linalg.svd(rows - mean, full_matrices=False)
        left = 1.0 - np.cumsum(sizes**2) / max(float(np.sum(sizes**2)), 1e-300)
        count = int(np.sum(left > ENERGY)) + 1
        size = max(float(sizes[0]) / np.sqrt(len(rows)), 1e-300)
        basis = np.ascontiguousarray(vectors[:count].T)
        return cls(mean, basis / size, vectors[:count] * size)


@dataclass(frozen=True)
class Coded:
    """What is known of z at some cases: expected, and rows that span its uncertainty."""

    mean: Float[ndarray, "Q q"]
    roots: tuple[Float[ndarray, "Q q"], ...] = ()

    def moved(
        self, cases: Float[ndarray, "Q P"], mean: Callable[[ndarray], ndarray]
    ) -> Iterator[Float[ndarray, "Q F"]]:
        """The mean of the level above with z moved along each root."""
        # Many roots of few cases are answered at once: one product in place of many.
        size = max(1, ROWS // max(len(cases), 1))
        for first in range(0, len(self.roots), size):
            roots = self.roots[first : first + size]
            rows = [np.concatenate([cases, self.mean + root], axis=1) for root in roots]
            yield from np.split(mean(np.concatenate(rows)), len(roots))


@dataclass(frozen=True)
class Link:
    """The process of one lower level."""

    process: GaussianProcess

    def coded(self, cases: Float[ndarray, "Q P"], below: Coded) -> Coded:
        """The z of this level from that of the level below."""
        rows = np.concatenate([cases, below.mean], axis=1)
        mean = self.process.mean(rows)
        deviation = np.sqrt(self.process.variance(rows))[:, None]
        own = np.linalg.qr(self.process.whitened, mode="r")
        moved = (each - mean for each in below.moved(cases, self.process.mean))
        return Coded(mean, (*moved, *(deviation * row for row in own)))

    def drawn(self, center: ndarray, cases: ndarray, below: ndarray, seed: int) -> ndarray:
        """Draws of z; row s of `below` is what draw s has of the level below."""
        off = self.process.draws(center, range(len(below)), seed)
        means = [self.process.mean(np.concatenate([cases, each], axis=1)) for each in below]
        return off + np.stack(means)


@dataclass(frozen=True)
class LevelsPredictor:
    """Links for the lower levels, a blend for the highest."""

    kind: ClassVar[str] = "levels"
    worth: ClassVar[float] = 10.0

    links: tuple[Link, ...]
    top: Blend
    mean: Float[ndarray, "O T"] = field(repr=False)
    seed: int

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Mean, deviation and draws, everything below taken into account."""
        cases = query.scaled
        shape = (len(cases), *self.mean.shape)
        below = self.coded(cases)
        coded = below[-1]
        mean, variance = self.top.law(np.concatenate([cases, coded.mean], axis=1))
        for moved in coded.moved(cases, self.top.mean):
            variance += np.square(moved - mean)
        middle = self.mean + mean.reshape(shape)
        drawn = None
        if draws:
            drawn = self.mean + self.drawn(cases, below, draws).reshape(draws, *shape)
        return Law(middle, np.sqrt(variance).reshape(shape), drawn)

    def coded(self, cases: Float[ndarray, "Q P"]) -> list[Coded]:
        """What is known of each lower level's z, nothing first of all."""
        found = [Coded(np.zeros((len(cases), 0)))]
        for link in self.links:
            found.append(link.coded(cases, found[-1]))
        return found

    def drawn(
        self, cases: Float[ndarray, "Q P"], coded: list[Coded], count: int
    ) -> Float[ndarray, "S Q F"]:
        """Draws through all levels, draw s of each from draw s of the one below."""
        below = np.zeros((count, len(cases), 0))
        # Deviations are looked up at the expected z: a draw then is the same among any others.
        centers = [np.concatenate([cases, each.mean], axis=1) for each in coded]
        for number, link in enumerate(self.links):
            seed = stream_seed(self.seed, "level", number)
            below = link.drawn(centers[number], cases, below, seed)
        off = self.top.draws(centers[-1], count, stream_seed(self.seed, "level", "top"))
        means = [self.top.mean(np.concatenate([cases, each], axis=1)) for each in below]
        return off + np.stack(means)

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """All processes, the mean and the seed of the draws."""
        arrays, top = self.top.arrays("top")
        links = []
        for number, link in enumerate(self.links):
            own, told = link.process.arrays(f"link.{number}")
            arrays |= own
            links.append(told)
        return {**arrays, "mean": self.mean}, {"top": top, "links": links, "seed": self.seed}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "LevelsPredictor":
        """The same predictor again."""
        links = (
            Link(GaussianProcess.from_arrays(arrays, told, f"link.{number}"))
            for number, told in enumerate(about["links"])
        )
        top = Blend.from_arrays(arrays, about["top"], "top")
        return cls(tuple(links), top, arrays["mean"], int(about["seed"]))


@dataclass(frozen=True)
class Below:
    """What is learnt of the lower levels: links, and cases and coefficients of their runs."""

    links: tuple[Link, ...] = ()
    runs: tuple[tuple[ndarray, ndarray], ...] = ()
    last: tuple[Coder, ndarray] | None = None

    def drift(
        self, rows: Float[ndarray, "N D"], grid: ndarray, values: Float[ndarray, "N F"],
        coder: Coder | None = None,
    ) -> Float[ndarray, "D F"] | None:  # fmt: skip
        """Slopes ρ of this level on the trajectory of the level below, ρ by least squares."""
        if self.last is None:
            return None
        below, coarse = self.last
        shown = below.on(coarse, grid)
        shown = shown if coder is None else shown @ coder.basis
        base = rows[:, -len(shown) :] @ shown
        base, rise = base - base.mean(0), values - values.mean(0)
        share = float((base * rise).sum() / max(float(np.square(base).sum()), 1e-300))
        return np.concatenate(
            [np.zeros((rows.shape[1] - len(shown), shown.shape[1])), share * shown]
        )

    def rows(self, cases: Float[ndarray, "Q P"]) -> Float[ndarray, "Q D"]:
        """Cases with the coefficients of the level below: its runs' own where there are any."""
        coded = Coded(np.zeros((len(cases), 0)))
        for link in self.links:
            coded = link.coded(cases, coded)
        found = np.array(coded.mean)
        if self.runs:
            known = {case.tobytes(): own for case, own in zip(*self.runs[-1], strict=True)}
            for row, case in enumerate(cases):
                found[row] = known.get(case.tobytes(), found[row])
        return np.concatenate([cases, found], axis=1)

    def above(
        self, link: Link, run: tuple[ndarray, ndarray], last: tuple[Coder, ndarray]
    ) -> "Below":
        """The same with one level more: cases and coefficients of its runs, coder and grid."""
        return Below((*self.links, link), (*self.runs, run), last)


def learnt_below(data: Data, kernels: Kernels, prior: Prior) -> tuple[Below, list[Coder]]:
    """Processes of all lower levels, and what codes their trajectories."""
    below, coders = Below(), []
    for runs in data.lower:
        coder = Coder.of(runs.values)
        cases, coded = data.query(runs.cases).scaled, coder(runs.values)
        rows = below.rows(cases)
        tried = kernels(cases.shape[1], rows.shape[1] - cases.shape[1])
        drift = below.drift(rows, runs.grid, coded, coder)
        process = best_of(tried, rows, coded, prior, drift)
        below = below.above(Link(process), (cases, coded), (coder, runs.grid))
        coders.append(coder)
    return below, coders


def fitted_top(
    data: Data, below: Below, kernels: Kernels, prior: Prior, seed: int
) -> LevelsPredictor:
    """The highest level learnt on what is known below."""
    cases = data.query().scaled
    rows = below.rows(cases)
    mean = data.high.values.mean(0)
    values = (data.high.values - mean).reshape(len(rows), -1)
    tried = kernels(cases.shape[1], rows.shape[1] - cases.shape[1])
    drift = below.drift(rows, data.high.grid, values)
    return LevelsPredictor(below.links, blended(tried, rows, values, prior, drift), mean, seed)


def fitted_levels(data: Data, kernels: Kernels, prior: Prior, seed: int) -> LevelsPredictor:
    """All levels learnt, from the cheapest up."""
    below, _ = learnt_below(data, kernels, prior)
    return fitted_top(data, below, kernels, prior, seed)


def left_out_levels(data: Data, kernels: Kernels, prior: Prior, seed: int) -> Law:
    """Each high run predicted by a fit that has not seen its case at any level.

    The highest level is learnt again. The processes below keep their θ and their coefficients
    and lose the values at that case: a new case has not been run at the lower levels either.
    """
    full, coders = learnt_below(data, kernels, prior)
    laws = []
    for index in range(len(data.high)):
        case = data.high.cases[index]
        below = Below()
        for link, coder, runs in zip(full.links, coders, data.lower, strict=True):
            kept = without_case(runs, case)
            cases, coded = data.query(kept.cases).scaled, coder(kept.values)
            rows, old = below.rows(cases), link.process
            process = conditioned(old.kernel, old.theta, rows, coded, old.drift)
            below = below.above(Link(process), (cases, coded), (coder, runs.grid))
        left = fitted_top(data.without(index), below, kernels, prior, seed)
        laws.append(left.law(data.at_high(index)))
    return joined(laws)


def without_case(runs: Trajectories, case: Float[ndarray, " P"]) -> Trajectories:
    """The runs of all other cases."""
    return runs.take(np.flatnonzero(~np.all(runs.cases == case, axis=1)))
