"""What a campaign keeps on the disk beside its journal: trajectories, fits, forecasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.campaign.history import FITS, LOWER, PICKS, ROUNDS, RUNS, SURROGATE
from mflno.campaign.learning import Forecast
from mflno.campaign.plan import Plan
from mflno.campaign.pools import candidates, lower_cases
from mflno.campaign.state import Run, State
from mflno.campaign.thrift import Bought
from mflno.data import Trajectories
from mflno.errors import ArgumentError, SolveFailed
from mflno.exchange import read_trajectories, write_trajectories
from mflno.multifidelity import Surrogate, load
from mflno.problems import Problem
from mflno.sampling import sample
from mflno.shapes import Float
from mflno.store import load_output, read_arrays, write_arrays


@dataclass
class Books:
    """The files of one campaign.

    Args:
        root: The campaign's directory.
        problem: What is studied.
        plan: What it shall do.
        show: Show progress.
    """

    root: Path
    problem: Problem
    plan: Plan
    show: bool = True

    @cached_property
    def pool(self) -> Float[ndarray, "N P"]:
        """Candidates in physical units."""
        plan = self.plan
        return candidates(self.problem, plan.pool, seed=plan.seed, folder=plan.folder)

    @cached_property
    def seen(self) -> Problem:
        """The problem as surrogates may see it: what is bought is not solved at will."""
        return Bought(self.problem) if self.plan.buys else self.problem

    @cached_property
    def lower(self) -> list[Trajectories]:
        """What the lower levels gave; solved once, at first need; nothing where bought."""
        lower = range(len(self.problem.levels) - 1)
        if self.plan.buys:
            return [self.trajectories([], level) for level in lower]
        return [self._lower(level) for level in lower]

    def _lower(self, level: int) -> Trajectories:
        path = self.root / LOWER / f"level-{level}.npz"
        if path.exists():
            return read_trajectories(path)
        plan, failures = self.plan, dict[int, SolveFailed]()
        cases = lower_cases(self.problem, plan.lower, seed=plan.seed, folder=plan.folder)
        jobs = plan.jobs or 1
        solved = sampled(
            self.problem, cases, level, jobs=jobs, failures=failures, show=self.show
        )
        if len(solved) < len(cases) / 2:
            raise failures[min(failures)]
        path.parent.mkdir(exist_ok=True)
        write_trajectories(solved, path)
        return solved

    def data(self, state: State, names: Sequence[str]) -> list[Trajectories]:
        """Runs by name, with what was solved of the lower levels, cheapest level first."""
        runs = [state.runs[name] for name in names]
        bought = [
            [run for run in runs if run.level == level]
            for level in range(len(self.problem.levels))
        ]
        found = [
            joined(base, self.trajectories(more, level))
            for level, (base, more) in enumerate(zip(self.lower, bought, strict=False))
        ]
        return [*found, self.trajectories(bought[-1], len(bought) - 1)]

    def trajectories(self, runs: Sequence[Run], level: int) -> Trajectories:
        """The outputs of runs of one level."""
        outputs = [load_output(self.root / RUNS, run.folder) for run in runs]
        grid = self.problem.levels[level].grid
        stacked = lambda name: np.stack([each[name] for each in outputs])
        empty = np.zeros((0, len(self.problem.outputs), len(grid)))
        width = len(self.problem.parameters)
        return Trajectories(
            cases=np.array([run.case for run in runs]).reshape(len(runs), width),
            grid=grid,
            inputs=stacked("inputs") if runs else empty[:, :0],
            values=stacked("values") if runs else empty,
            level=level,
            problem=self.problem.name,
            parameters=tuple(self.problem.parameters),
            outputs=tuple(self.problem.outputs),
        )

    def surrogate_path(self, number: int) -> Path:
        """Where a fit is kept."""
        return self.root / FITS / str(number) / SURROGATE

    def keep_surrogate(self, number: int, surrogate: Surrogate) -> Surrogate:
        """Put a fit on the disk, and read it back: a resumed campaign has just what is read."""
        path = self.surrogate_path(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        surrogate.save(path)
        return load(path, self.seen)

    def keep_forecast(self, number: int, cases: Float[ndarray, "N P"], made: Forecast) -> None:
        """Put on the disk what a round predicted for its picks."""
        path = self.root / ROUNDS / str(number) / PICKS
        path.parent.mkdir(parents=True, exist_ok=True)
        write_arrays(path, {"cases": cases, "mean": made.mean, "spread": made.spread})

    def forecast(self, number: int) -> Forecast | None:
        """What a round predicted for its picks; nothing where there was no fit."""
        path = self.root / ROUNDS / str(number) / PICKS
        if not path.exists():
            return None
        found = read_arrays(path).arrays
        return Forecast(found["mean"], found["spread"])


def joined(given: Trajectories, bought: Trajectories) -> Trajectories:
    """What a lower level gave and its runs; either may be nothing."""
    if not len(given):
        return bought
    return given.join(bought) if len(bought) else given


def sampled(
    problem: Problem,
    cases: Float[ndarray, "N P"],
    level: int,
    *,
    jobs: int,
    failures: dict[int, SolveFailed],
    show: bool,
) -> Trajectories:
    """The cases solved side by side; right here where the problem cannot travel."""
    words: dict[str, Any] = {"failures": failures, "show": show}
    try:
        return sample(problem, cases, level, jobs=jobs, **words)
    except ArgumentError as error:
        if error.place != "answers.task":
            raise
        return sample(problem, cases, level, **words)
