"""What a middle level is worth: the same money spent with it and without it.

A budget is counted in runs of the highest level. Without the middle level all of it buys such
runs; with it a share buys runs of the level below, at its own cost. The cheapest level is known
at all candidates either way and costs nothing here. Designs are nested: the first runs of a
seed are the same, and the middle level is run at them and at more of the same design.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import Maximin, View, scaled
from mflno.bayes import relative_error
from mflno.data import Level, Trajectories
from mflno.errors import ArgumentError
from mflno.multifidelity import Data, Method, Query, method_named
from mflno.problems import Problem, Wrapped, problem_named, study_cases
from mflno.sampling import sample
from mflno.seeds import numpy_stream
from mflno.shapes import Float, Int

Row = dict[str, Any]


class Ends(Wrapped):
    """A problem of three levels without the one between."""

    @property
    def levels(self) -> tuple[Level, ...]:
        """The first and the last."""
        return self.whole.levels[0], self.whole.levels[-1]

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing."""
        return self.whole.inputs(case, level * (len(self.whole.levels) - 1))

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One run."""
        return self.whole.solve(case, level * (len(self.whole.levels) - 1))


def split_budget(problem: Problem, budget: int, share: float) -> tuple[int, int]:
    """Dear runs, and middle runs for the rest of the money, never more than paid for.

    Example:
        >>> from mflno.problems import Chain
        >>> split_budget(Chain(), 6, 1 / 3)
        (4, 32)
    """
    dear = budget - round(share * budget)
    if not 0.0 <= share < 1.0 or dear < 2:
        rule, remedy = "must leave 2 or more dear runs", "pass a share below 0.5"
        raise ArgumentError("middle.share", rule, (budget, share), remedy)
    ratio = problem.levels[2].cost / problem.levels[1].cost
    return dear, int((budget - dear) * ratio + 1e-9)


def equal_cost(
    name: str, budgets: Sequence[int], *, shares: Sequence[float], seeds: Sequence[int],
    method: str = "mf-gp",
) -> Iterator[Row]:  # fmt: skip
    """Errors on cases held out, for each way to spend each budget."""
    problem = problem_named(name)
    if len(problem.levels) != 3:
        rule, remedy = "must have three levels", "pass chain or burgers"
        raise ArgumentError("middle.problem", rule, name, remedy)
    split, used = study_cases(problem), method_named(method)
    tests = sample(problem, split.tests, 2, show=False)
    low = sample(problem, split.candidates, 0, show=False)
    for budget in budgets:
        for share in shares:
            dear, middle = split_budget(problem, budget, share)
            for seed in seeds:
                order = design(problem, split.candidates, max(dear, middle), seed)
                data = data_of(problem, low, split.candidates[order], (dear, middle))
                errors = errors_of(used, data, tests, seed)
                figures = {"mean": float(errors.mean()), "max": float(errors.max())}
                row = {"budget": budget, "dear": dear, "middle": middle, "seed": seed}
                yield {"problem": name, "method": method, **row, **figures}


def design(
    problem: Problem, candidates: Float[ndarray, "N P"], count: int, seed: int
) -> Int[ndarray, " B"]:
    """A maximin design from a first case that the seed draws."""
    generator = numpy_stream(seed, "compare", "maximin", problem.name)
    first = generator.integers(len(candidates))
    rows = scaled(candidates, problem.parameters)
    rest = Maximin().choose(View(candidates=rows, done=rows[[first]]), count - 1, generator)
    return np.concatenate([[first], rest])


def data_of(
    problem: Problem, low: Trajectories, cases: Float[ndarray, "N P"], counts: tuple[int, int]
) -> Data:
    """What the method learns from: two levels where no middle run is paid for."""
    dear, middle = counts
    high = sample(problem, cases[:dear], 2, show=False)
    if not middle:
        return Data(Ends(problem), (low,), replace(high, level=1))
    return Data(problem, (low, sample(problem, cases[:middle], 1, show=False)), high)


def errors_of(
    method: Method, data: Data, tests: Trajectories, seed: int
) -> Float[ndarray, " N"]:
    """Relative L2 errors at the cases held out."""
    predictor = method.fit(data, seed=seed, show=False)
    law = predictor.law(Query(data.problem, tests.cases, data.lower))
    return relative_error(law.mean, tests.values)
