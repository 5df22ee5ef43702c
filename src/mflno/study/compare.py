"""Every method on the same runs: budgets, seeds, one design; scored on cases held out.

A *trial* is one method, budget and seed. Expensive runs of a seed are nested: a smaller budget
is the beginning of a larger. The cheapest level is known at 100 candidates: on a 10 x 10 grid
at all of them, on a finer one at 100 drawn by a fixed stream. Levels between are known at the
expensive runs' cases and as many more of the same design.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import Maximin, View, scaled
from mflno.bayes import calibration
from mflno.data import Trajectories
from mflno.errors import ArgumentError, MflnoError, SolveFailed, StoreError
from mflno.multifidelity import METHODS, Surrogate, fit, method_named
from mflno.problems import Problem, load_problem, study_cases
from mflno.processes import answers
from mflno.sampling import sample
from mflno.seeds import numpy_stream
from mflno.shapes import Float, Int

DESIGNS = "maximin", "random"
CHEAP = 100
"""Cases at which the cheapest level is known."""
FIGURES = "mean", "max", "coverage", "crps", "spearman", "fit_seconds", "predict_seconds"
Row = dict[str, Any]


@dataclass(frozen=True)
class Trial:
    """One cell of the comparison."""

    problem: str
    design: str
    budget: int
    seed: int
    method: str
    device: str = "cpu"


@dataclass(frozen=True)
class Grounds:
    """What all trials of a problem share.

    Attributes:
        problem: The problem.
        candidates: Where runs are picked.
        low: The cheapest level.
        tests: What judges, on the highest level.
    """

    problem: Problem
    candidates: Float[ndarray, "N P"]
    low: Trajectories
    tests: Trajectories


def trials(
    problem: str, design: str, *, budgets: Sequence[int], seeds: Sequence[int],
    methods: Sequence[str] = (), device: str = "cpu",
) -> list[Trial]:  # fmt: skip
    """All cells of a comparison; by default with every method there is.

    Example:
        >>> len(trials("lorenz", "maximin", budgets=(3, 5), seeds=(0, 1), methods=("line",)))
        4
    """
    if design not in DESIGNS:
        rule, remedy = f"must be one of {', '.join(DESIGNS)}", "pass 'maximin'"
        raise ArgumentError("compare.design", rule, repr(design), remedy)
    if not budgets or min(budgets) < 2:
        rule, remedy = "must be 2 or more runs each", "pass 3,5,7,9"
        raise ArgumentError("compare.budgets", rule, list(budgets), remedy)
    for method in methods:
        method_named(method)
    return [
        Trial(problem, design, budget, seed, method, device)
        for method in (methods or METHODS)
        for budget in budgets
        for seed in seeds
    ]


@lru_cache(maxsize=2)
def grounds(name: str) -> Grounds:
    """Solve what all trials of a problem share, by way of the cache."""
    problem = load_problem(name)
    split = study_cases(problem)
    cheap = split.candidates
    if len(cheap) > CHEAP:
        order = numpy_stream(0, "compare", "cheap", problem.name).permutation(len(cheap))
        cheap = cheap[np.sort(order[:CHEAP])]
    low = sample(problem, cheap, 0)
    tests = sample(problem, split.tests, len(problem.levels) - 1)
    return Grounds(problem, split.candidates, low, tests)


def picks(shared: Grounds, design: str, seed: int, count: int) -> Int[ndarray, " N"]:
    """The first so many candidates of a seed's design; a longer one begins with a shorter."""
    generator = numpy_stream(seed, "compare", design, shared.problem.name)
    if design == "random":
        return generator.permutation(len(shared.candidates))[:count]
    first = generator.integers(len(shared.candidates))
    rows = scaled(shared.candidates, shared.problem.parameters)
    if count == 1:
        return np.array([first])
    view = View(candidates=rows, done=rows[[first]])
    return np.concatenate([[first], Maximin().choose(view, count - 1, generator)])


def runs_of(shared: Grounds, trial: Trial) -> list[Trajectories]:
    """What the method is given: every level's runs, cheapest first."""
    top = len(shared.problem.levels) - 1
    found = [shared.low]
    for level in range(1, top + 1):
        count = trial.budget if level == top else 2 * trial.budget
        cases = shared.candidates[picks(shared, trial.design, trial.seed, count)]
        found.append(sample(shared.problem, cases, level, show=False))
    return found


def tried(trial: Trial) -> Row:
    """The row of one trial; a method that fails leaves the reason in place of figures."""
    shared = grounds(trial.problem)
    row: Row = {**asdict(trial), "settings": settings(trial)}
    begin = time.perf_counter()
    try:
        surrogate = fit(
            shared.problem, runs_of(shared, trial), trial.method,
            seed=trial.seed, device=trial.device, show=False,
        )  # fmt: skip
        fitted = time.perf_counter()
        return {**row, "fit_seconds": fitted - begin, **judged(surrogate, shared, fitted)}
    except MflnoError as error:
        return {**row, "failed": str(error)}


def judged(surrogate: Surrogate, shared: Grounds, begin: float) -> Row:
    """The figures on the cases held out."""
    tests = shared.tests
    prediction = surrogate.predict(tests.cases)
    seconds = time.perf_counter() - begin
    generator = numpy_stream(0, "compare", "bootstrap")
    law = prediction.distribution
    report = calibration(law, tests.values, generator, levels=(0.95,), resamples=20)
    told = surrogate.expected_error
    return {
        "predict_seconds": seconds,
        "mean": float(report.error.mean()),
        "max": float(report.error.max()),
        "coverage": report.levels[0].coverage.value,
        "crps": report.crps.value,
        "spearman": report.spearman.value,
        "expected": told.mean,
        "expected_most": told.most,
    }


def settings(trial: Trial) -> str:
    """What tells a method from the same one with other settings."""
    return repr(method_named(trial.method))


def compared(
    listed: Sequence[Trial], *, path: Path | None = None, jobs: int = 1
) -> Iterator[Row]:
    """The rows of all trials: those in the file first, then the others as they are computed.

    Each new row is a line of the file at once, so the same call goes on where it was stopped.
    """
    known = {key_of(row): row for row in (rows_in(path) if path else [])}
    wanted = [
        (trial, key_of({**asdict(trial), "settings": settings(trial)})) for trial in listed
    ]
    yield from (known[key] for _, key in wanted if key in known)
    missing = [trial for trial, key in wanted if key not in known]
    for name in {trial.problem for trial in missing}:
        # Solved here once, so that processes find it in the cache instead of solving it each.
        grounds(name)
    for row in worked(missing, jobs):
        if path:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        yield row


def worked(missing: Sequence[Trial], jobs: int) -> Iterator[Row]:
    """New rows, here or in other processes."""
    if jobs == 1:
        yield from map(tried, missing)
        return
    for place, row in answers(tried, missing, jobs=jobs):
        if isinstance(row, SolveFailed):
            trial = missing[place]
            row = {**asdict(trial), "settings": settings(trial), "failed": str(row)}
        yield row


def key_of(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What makes a row that of a trial."""
    return tuple(row[name] for name in (*Trial.__dataclass_fields__, "settings"))


def rows_in(path: Path) -> list[Row]:
    """The rows of a file; a last line that was cut short is cut off."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole, _, torn = text.rpartition("\n")
    if torn:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    try:
        return [json.loads(line) for line in whole.splitlines() if line]
    except ValueError as error:
        raise StoreError(f"{path}: not a file of rows: {error}") from error


def table(rows: Sequence[Row]) -> str:
    """Means over seeds, one line a method and budget, the best mean error first."""
    head = ["runs", "method", "seeds", *FIGURES]
    lines = ["  ".join(f"{name:>15}" for name in head)]
    budgets = sorted({row["budget"] for row in rows})
    for budget in budgets:
        of_budget = [row for row in rows if row["budget"] == budget]
        groups = {name: own(of_budget, name) for name in {row["method"] for row in of_budget}}
        order = sorted(
            groups, key=lambda name: (not groups[name], averaged(groups[name], "mean"))
        )
        for name in order:
            group = groups[name]
            cells = [f"{averaged(group, figure):.4g}" for figure in FIGURES]
            cells = cells if group else ["failed", *[""] * (len(FIGURES) - 1)]
            words = [str(budget), name, str(len(group)), *cells]
            lines.append("  ".join(f"{word:>15}" for word in words))
    return "\n".join(lines)


def own(rows: Sequence[Row], method: str) -> list[Row]:
    """The rows of one method that did not fail."""
    return [row for row in rows if row["method"] == method and "failed" not in row]


def averaged(rows: Sequence[Row], figure: str) -> float:
    """Mean over seeds; a rank correlation that does not exist counts as none."""
    return float(np.mean([row[figure] for row in rows])) if rows else float("nan")
