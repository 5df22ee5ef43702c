"""Choices against each other: whole campaigns in this process, judged on cases never picked.

Every choice of one problem and seed begins with the same runs and learns with the same method,
so differences are paired by seed. The decisions are those of a real campaign, made by the same
functions; only the solver's answers are looked up instead of being waited for.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.bayes import relative_error
from mflno.campaign import Plan
from mflno.campaign.choosing import Known, Question, choose, design
from mflno.campaign.learning import Forecast, grouped, learned
from mflno.campaign.pools import candidates, lower_cases
from mflno.data import Trajectories
from mflno.multifidelity import Surrogate
from mflno.problems import Problem, load_problem, study_cases
from mflno.sampling import sample
from mflno.shapes import Float

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One campaign of the comparison.

    Attributes:
        problem: What is solved.
        choice: Rule for the runs after the start; `auto` is the default of a plan.
        seed: Of the start, the fits and the choice.
        method: What is fitted.
        budget: Runs in all.
        batch: Runs a round.
        start: Runs before the first fit.
        design: How those are chosen.
        pool: Candidates.
        lower: Cases of the lower levels.
    """

    problem: str
    choice: str
    seed: int
    method: str = "auto"
    budget: int = 9
    batch: int = 2
    start: int = 3
    design: str = "random"
    pool: str = "study"
    lower: str = "study"

    def plan(self) -> Plan:
        """The plan of a campaign that does this."""
        return Plan(**asdict(self))


@dataclass
class Laboratory:
    """Everything that is the same for all cells of one problem: solved cases, and fits.

    Args:
        problem: What is studied.
        plan: For the pool and the lower levels.
        show: Show progress.
    """

    problem: Problem
    plan: Plan
    show: bool = False
    fits: dict[tuple[Any, ...], tuple[Surrogate, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Solve the pool and the tests at the highest level, and the lower levels."""
        plan, top = self.plan, len(self.problem.levels) - 1
        words = {"seed": plan.seed, "folder": plan.folder}
        self.pool = candidates(self.problem, plan.pool, **words)
        lower = lower_cases(self.problem, plan.lower, **words)
        self.high = sample(self.problem, self.pool, top, show=self.show)
        self.tests = sample(self.problem, study_cases(self.problem).tests, top, show=self.show)
        self.lower = [sample(self.problem, lower, k, show=self.show) for k in range(top)]

    def data(self, picks: Sequence[int]) -> list[Trajectories]:
        """What a campaign with these runs would know."""
        return [*self.lower, self.high.take(sorted(picks))]

    def fit(
        self, plan: Plan, picks: Sequence[int], warm: Surrogate | None = None
    ) -> tuple[Surrogate, float]:
        """The surrogate of these runs and its seconds; the first one made for all choices.

        It begins where the round before ended, as in a campaign.
        """
        before = warm.cases.tobytes() if warm else b""
        key = (json.dumps(plan.method), plan.seed, tuple(sorted(picks)), before)
        if key not in self.fits:
            begin = time.perf_counter()
            data = self.data(picks)
            made = learned(self.problem, data, plan, warm=warm, show=self.show)
            self.fits = {key: (made, time.perf_counter() - begin)} | {
                old: fit for old, fit in self.fits.items() if len(old[2]) == plan.start
            }
        return self.fits[key]

    def judged(self, surrogate: Surrogate) -> Row:
        """Errors on the test cases, and how many of their points the 95 % band holds."""
        found = surrogate.predict(self.tests.cases)
        errors = relative_error(found.mean, self.tests.values)
        low, high = found.interval(0.95)
        inside = (low <= self.tests.values) & (self.tests.values <= high)
        return {
            "mean": float(errors.mean()),
            "max": float(errors.max()),
            "median": float(np.median(errors)),
            "coverage": float(inside.mean()),
            "expected": asdict(surrogate.expected_error),
        }


def campaign(laboratory: Laboratory, cell: Cell) -> Iterator[Row]:
    """A row at every budget: what was picked and how good the surrogate is."""
    plan, problem = cell.plan(), laboratory.problem
    empty = np.zeros((0, len(problem.parameters)))
    question = Question(
        problem, plan, laboratory.pool, Known(empty, empty, empty), 0, cell.budget
    )
    chosen = design(question, cell.start)
    picks = places(laboratory.pool, chosen.cases)
    returned: list[Row] = []
    rounds, forecast, surrogate = 0, None, None
    while True:
        surrogate, seconds = laboratory.fit(plan, picks, surrogate)
        if forecast:
            fresh = picks[-len(forecast.spread) :]
            returned += came(laboratory, forecast, fresh, rounds)
        row = {**asdict(cell), "runs": len(picks), **laboratory.judged(surrogate)}
        row |= {"fit_seconds": seconds, "rule": chosen.choice, "sentence": chosen.sentence}
        yield row | {"picks": laboratory.pool[picks].tolist()}
        if len(picks) >= cell.budget:
            return
        rounds += 1
        chosen = choose(
            replace(
                question,
                known=Known(laboratory.pool[sorted(picks)], empty, empty),
                round=rounds,
                remaining=cell.budget - len(picks),
                surrogate=surrogate,
                evidence=grouped(returned),
            ),
            min(cell.batch, cell.budget - len(picks)),
        )
        forecast = Forecast.made(surrogate, chosen.cases)
        picks = [*picks, *places(laboratory.pool, chosen.cases)]


def places(pool: Float[ndarray, "N P"], cases: Float[ndarray, "B P"]) -> list[int]:
    """Where in the pool these cases are."""
    index = {case.tobytes(): place for place, case in enumerate(pool)}
    return [index[case.tobytes()] for case in cases]


def came(
    laboratory: Laboratory, forecast: Forecast, fresh: Sequence[int], rounds: int
) -> list[Row]:
    """Predicted spread and found error of the runs of one round."""
    values = laboratory.high.values[list(fresh)]
    return [
        {"round": rounds, "spread": float(forecast.spread[k]), "error": forecast.error(k, each)}
        for k, each in enumerate(values)
    ]


def identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells one cell from another."""
    return tuple(row[name] for name in Cell.__dataclass_fields__)


def read_rows(path: Path) -> list[Row]:
    """Rows of a file of JSON lines; a torn last line is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def compare(cells: Sequence[Cell], path: Path, *, show: bool = False) -> Iterator[Row]:
    """Run every cell that the file does not hold yet; each cell's rows are written together.

    Args:
        cells: What to run, best sorted by problem and seed: fits are shared.
        path: A file of JSON lines; the same call again goes on where it was killed.
        show: Show progress of sampling and fitting.
    """
    finished = {identity(row) for row in read_rows(path) if row["runs"] >= row["budget"]}
    laboratory, last = None, None
    for cell in cells:
        if identity(asdict(cell)) in finished:
            continue
        about = (cell.problem, cell.pool, cell.lower)
        if laboratory is None or about != last:
            laboratory = Laboratory(load_problem(cell.problem), cell.plan(), show)
            last = about
        rows = list(campaign(laboratory, cell))
        append(path, rows)
        yield from rows


def append(path: Path, rows: Sequence[Row]) -> None:
    """Add rows to a file; a torn line at its end is cut off first."""
    before = path.read_bytes() if path.exists() else b""
    whole = before[: before.rfind(b"\n") + 1]
    if whole != before:
        path.write_bytes(whole)
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(row) + "\n" for row in rows))


def table(rows: Sequence[Row], against: Sequence[str] = ("random", "maximin")) -> list[Row]:
    """Means over seeds for every problem, method, batch, number of runs and choice.

    Beside them, for each rule in `against`, the ratio of the errors (geometric mean over the
    seeds that both have) and in how many of these seeds the choice was better.
    """
    groups: dict[tuple[Any, ...], dict[str, dict[int, Row]]] = {}
    names = "problem", "method", "batch", "design", "runs"
    for row in rows:
        key = tuple(row[name] for name in names)
        groups.setdefault(key, {}).setdefault(row["choice"], {})[row["seed"]] = row
    found = []
    for key in sorted(groups, key=str):
        for choice, seeds in sorted(groups[key].items()):
            told: Row = {**dict(zip(names, key, strict=True)), "choice": choice}
            told |= {"seeds": len(seeds)}
            for measure in ("mean", "max", "coverage"):
                told[measure] = float(np.mean([row[measure] for row in seeds.values()]))
            for other in against:
                told |= paired(seeds, groups[key].get(other, {}), other)
            found.append(told)
    return found


def paired(seeds: Mapping[int, Row], others: Mapping[int, Row], name: str) -> Row:
    """Ratio of the errors to another choice's, and seeds won, over the seeds both have."""
    both = sorted(seeds.keys() & others.keys())
    told: Row = {}
    for measure in ("mean", "max"):
        logs = [np.log(seeds[k][measure] / others[k][measure]) for k in both]
        told[f"{measure}/{name}"] = float(np.exp(np.mean(logs))) if logs else None
        told[f"{measure} wins/{name}"] = int(sum(log < 0 for log in logs))
    return told
