"""The door: data of several levels in, a surrogate that answers with bands out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy import ndarray

from mflno.data import Trajectories
from mflno.errors import ArgumentError
from mflno.multifidelity.calibrating import (
    LEAST,
    Bands,
    ExpectedError,
    LeftOut,
    bands_of,
    expected,
    left_out_law,
)
from mflno.multifidelity.law import Data, Law, Method, Prediction, Predictor
from mflno.multifidelity.names import DEFAULT, method_named
from mflno.multifidelity.query import Query
from mflno.problems import Problem, checked_cases
from mflno.shapes import Float

CHUNK_BYTES = 2**26
"""What the trajectories of one chunk may take; a method's own work takes some times as much."""


@dataclass(frozen=True)
class Surrogate:
    """A fitted method with honest bands; `fit` makes it, `load` reads it.

    Attributes:
        problem: What it stands for.
        method: Name of the method.
        predictor: The fitted method, numbers alone.
        bands: How its deviation becomes bands.
        seed: Of the fit, and of the draws.
        cases: Cases of the high runs it has learnt from.
        known: Cheap trajectories that need not be solved again.
    """

    problem: Problem
    method: str
    predictor: Predictor = field(repr=False)
    bands: Bands = field(repr=False)
    seed: int
    cases: Float[ndarray, "N P"] = field(repr=False)
    known: tuple[Trajectories, ...] = field(default=(), repr=False)

    def predict(
        self,
        cases: Float[ndarray, "N P"] | Sequence[Sequence[float]],
        *,
        draws: int = 0,
        chunk: int | None = None,
    ) -> Prediction:
        """Trajectories of new cases on the highest level's grid, with bands.

        Args:
            cases: One row a case, in physical units, inside the box.
            draws: Joint draws of each trajectory; draw s is one function over the whole box,
                the same in every call.
            chunk: Cases worked on at once; by default as many as fit into 64 MiB.

        Example:
            >>> import mflno
            >>> from mflno.problems import Chain
            >>> cases = [[2.0, 0.1], [6.0, 0.1], [4.0, 0.5]]
            >>> low, high = (mflno.sample(Chain(), cases, k, cache=False) for k in (0, 2))
            >>> middle = mflno.sample(Chain(), cases, 1, cache=False)
            >>> surrogate = mflno.fit(Chain(), [low, middle, high], "pod-gp")
            >>> surrogate.predict([[3.0, 0.3]], draws=4).draws.shape
            (4, 1, 1, 512)
        """
        cases = checked_cases(self.problem, cases)
        if draws < 0 or (chunk is not None and chunk < 1):
            rule, came = "must not be negative, a chunk at least 1", (draws, chunk)
            raise ArgumentError("predict.draws", rule, came, "pass draws=0 for none")
        laws = [self._law(part, draws) for part in self._parts(cases, draws, chunk)]
        drawn = [law.draws for law in laws if law.draws is not None]
        return Prediction(
            cases=cases,
            grid=self.problem.levels[-1].grid,
            mean=np.concatenate([law.mean for law in laws]),
            std=np.concatenate([law.std for law in laws]),
            draws=np.concatenate(drawn, axis=1) if draws else None,
            radius=self.bands.radius,
        )

    @property
    def left_out(self) -> LeftOut | None:
        """Each high run as a fit without it would have had it; none with too few runs."""
        return self.bands.left_out

    @cached_property
    def expected_error(self) -> ExpectedError:
        """The error to expect of new cases, before any of them is solved."""
        return expected(self.bands)

    def save(self, path: Path | str) -> None:
        """Write one self-contained file; `load` reads it."""
        from mflno.multifidelity.files import write_surrogate

        write_surrogate(self, path)

    def _parts(self, cases: ndarray, draws: int, chunk: int | None) -> Iterator[ndarray]:
        grid, outputs = self.problem.levels[-1].grid, self.problem.outputs
        each = 8 * len(grid) * len(outputs) * (4 + draws)
        size = chunk or max(1, CHUNK_BYTES // each)
        # No case at all is one empty part: the answer then still has its shapes.
        for first in range(0, max(len(cases), 1), size):
            yield cases[first : first + size]

    def _law(self, cases: ndarray, draws: int) -> Law:
        law = self.predictor.law(Query(self.problem, cases, self.known), draws=draws)
        mean = np.asarray(law.mean, dtype=float)
        std = self.bands.std(np.asarray(law.std, dtype=float))
        drawn = law.draws
        if draws and drawn is None:
            rule, remedy = "must offer draws to be asked for them", "use another method"
            raise ArgumentError(f"method {self.method!r}", rule, "none", remedy)
        if drawn is not None:
            drawn = mean + self.bands.scale * (np.asarray(drawn, dtype=float) - mean)
        return Law(mean, std, drawn if draws else None)


def fit(
    problem: Problem,
    data: Sequence[Trajectories],
    method: Method | str | None = None,
    *,
    seed: int = 0,
    device: str = "auto",
    warm: Surrogate | None = None,
    show: bool = True,
) -> Surrogate:
    """Learn a surrogate of the highest level from runs of all levels.

    Args:
        problem: Whose runs these are. Its cheap levels may be solved for more cases.
        data: Runs of each level, cheapest first, the highest level last.
        method: A method, or its name in `METHODS`; by default the best known.
        seed: Root of all randomness.
        device: "auto" takes a GPU where there is one.
        warm: A surrogate fitted to fewer runs, to go on from where the method can.
        show: Show progress.

    Example:
        >>> import mflno
        >>> from mflno.problems import Lorenz
        >>> cases = [[0.1, 5.5], [0.9, 5.5], [0.5, 7.5]]
        >>> runs = [mflno.sample(Lorenz(), cases, level, cache=False) for level in (0, 1)]
        >>> surrogate = mflno.fit(Lorenz(), runs, "pod-gp")
        >>> low, high = surrogate.predict([[0.5, 6.0]]).interval(0.95)
        >>> bool((low < high).all())
        True
    """
    checked = checked_data(problem, data)
    chosen = method_named(method or DEFAULT) if isinstance(method, str | None) else method
    if not isinstance(chosen, Method):
        rule, remedy = "must be a method or its name", "pass 'pod-gp', say"
        raise ArgumentError("fit.method", rule, type(chosen).__name__, remedy)
    device = checked_device(device)
    before = None if warm is None or warm.method != chosen.name else warm.predictor
    predictor = chosen.fit(checked, seed=seed, device=device, warm=before, show=show)
    law = None
    if len(checked.high) >= LEAST:
        law = left_out_law(chosen, checked, predictor, seed=seed, device=device, show=show)
    bands = bands_of(checked, predictor, law, seed)
    return Surrogate(
        problem, chosen.name, predictor, bands, seed, checked.high.cases, checked.lower
    )


def checked_data(problem: Problem, data: Sequence[Trajectories]) -> Data:
    """The runs as what a method learns from, or an `ArgumentError` that names the fault."""
    wanted = len(problem.levels)
    if len(data) != wanted:
        names = ", ".join(level.name for level in problem.levels)
        rule, remedy = f"one entry a level ({names})", "sample every level, cheapest first"
        raise ArgumentError("fit.data", rule, f"{len(data)} entries", remedy)
    for level, runs in enumerate(data):
        place = f"fit.data[{level}]"
        if runs.problem != problem.name or runs.outputs != tuple(problem.outputs):
            rule, remedy = f"must be runs of {problem.name!r}", "sample this problem"
            raise ArgumentError(place, rule, repr(runs.problem), remedy)
        if runs.level != level:
            rule, remedy = f"must be runs of level {level}", "put the cheapest level first"
            raise ArgumentError(place, rule, f"level {runs.level}", remedy)
        if not np.array_equal(runs.grid, problem.levels[level].grid):
            rule, remedy = "must be on the level's grid", "interpolate it to that grid"
            raise ArgumentError(place, rule, f"{len(runs.grid)} other times", remedy)
        checked_cases(problem, runs.cases)
        if len(np.unique(runs.cases, axis=0)) != len(runs):
            rule, remedy = "must be cases that differ", "drop the repeated ones"
            raise ArgumentError(place, rule, "a case twice", remedy)
    if len(data[-1]) < 2:
        rule, remedy = "must be 2 or more high runs", "solve more cases at the highest level"
        raise ArgumentError("fit.data", rule, len(data[-1]), remedy)
    return Data(problem, tuple(data[:-1]), data[-1])


def checked_device(device: str) -> str:
    """The device by name; "auto" is a GPU where there is one."""
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.device(device)
    except RuntimeError as error:
        rule, remedy = "must name a device", "pass 'auto', 'cpu' or 'cuda:0'"
        raise ArgumentError("fit.device", rule, repr(device), remedy) from error
    return device
