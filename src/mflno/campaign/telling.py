"""Runs that were solved elsewhere, taken into a campaign's books."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mflno.active import scaled
from mflno.campaign.history import RUNS
from mflno.campaign.loop import Driver, job_of
from mflno.campaign.state import Run
from mflno.data import Trajectories
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems import checked_cases, checked_level, checked_values
from mflno.shapes import Float
from mflno.store import finish_run, start_run

SAME = 1e-6
"""Told cases this near to one asked for, in the scaled box, are that case: tables round."""


class Told(NamedTuple):
    """What became of a told run: `taken` or `known` already."""

    run: str
    state: str


def tell_runs(
    driver: Driver,
    cases: Float[ndarray, "N P"],
    trajectories: Trajectories | Float[ndarray, "_ O T"],
    level: int,
) -> list[Told]:
    """Check everything, then take one run after the other."""
    problem = driver.books.problem
    cases = checked_cases(problem, cases)
    number = checked_level(problem, level + len(problem.levels) if level < 0 else level)
    values = trajectories.values if isinstance(trajectories, Trajectories) else trajectories
    if len(values) != len(cases):
        rule, came = f"one trajectory a case, {len(cases)}", len(values)
        raise ArgumentError("tell.trajectories", rule, came, "give as many of both")
    sound = []
    for row, each in enumerate(values):
        try:
            sound.append(checked_values(problem, number, each))
        except SolveFailed as error:
            rule, remedy = "must be usable", "correct it, or tell that the run failed"
            place = f"tell.trajectories[{row}]"
            raise ArgumentError(place, rule, error.detail, remedy) from error
    driver.recover()
    return [take(driver, case, each, number) for case, each in zip(cases, sound, strict=True)]


def take(driver: Driver, case: ndarray, values: Float[ndarray, "O T"], level: int) -> Told:
    """Put one run into its folder and into the journal."""
    run = asked_for(driver, case, level)
    if run and run.state in ("done", "working"):
        driver.log(f"run {run.name} is {run.state} already: not taken again")
        return Told(run.name, "known")
    run = run or Run(driver.state.name(), tuple(case.tolist()), level, round=-1)
    if run.state == "failed":
        run = Run(run.name, run.case, level, run.round, attempt=run.attempt + 1)
    problem = driver.books.problem
    job = job_of(driver.books, run)
    grid = problem.levels[level].grid
    inputs = np.asarray(problem.inputs(np.array(run.case), level), dtype=float)
    arrays = {"values": values, "inputs": inputs, "grid": grid}
    work = start_run(driver.books.root / RUNS, job.name, {**job.spec, "told": True})
    finish_run(work, arrays, seconds=0.0, cost=job.spec["cost"])
    driver.record(
        "told", run=run.name, case=list(run.case), level=level,
        attempt=run.attempt, cost=job.spec["cost"],
    )  # fmt: skip
    driver.log(f"run {run.name} was told")
    return Told(run.name, "taken")


def asked_for(driver: Driver, case: ndarray, level: int) -> Run | None:
    """The run of this case and level, if there is one."""
    axes = driver.books.problem.parameters
    for run in driver.state.runs.values():
        away = scaled(np.array([run.case]), axes) - scaled(case[None], axes)
        if run.level == level and np.abs(away).max() <= SAME:
            return run
    return None


def tell_failed(driver: Driver, name: str, reason: str) -> None:
    """Write down that a run asked for elsewhere gave nothing."""
    run = driver.state.runs.get(name)
    if run is None or run.state != "asked":
        asked = ", ".join(each.name for each in driver.state.named("asked")) or "none"
        remedy = "see 'mflno status'"
        raise ArgumentError("tell.run", f"must be one asked for ({asked})", name, remedy)
    driver.record(
        "failed", run=name, kind="refused", detail=reason, retryable=False, again=False,
        attempt=run.attempt, seconds=0.0, cost=0.0,
    )  # fmt: skip
    driver.log(f"run {name} failed ({reason}): given up")
