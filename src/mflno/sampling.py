"""Solve many cases of one level: in parallel, cached on disk, resumable."""

import time
from collections.abc import Generator, Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from mflno.cache import Cache, cache_folder
from mflno.data import Trajectories
from mflno.errors import ArgumentError, MflnoError, SolveFailed
from mflno.problems import (
    Problem,
    checked_cases,
    checked_level,
    checked_values,
    inputs_of,
)
from mflno.processes import answers, failure_of
from mflno.progress import progress
from mflno.shapes import Float

FIRST, TOGETHER, SHARED = 16, 128, 32
"""Cases that a problem with `solve_many` is given at first, at most, and in other processes."""
PACE = 2.0
"""Seconds that such a group should take: what a kill costs at most, and a step of the bar."""


def sample(
    problem: Problem,
    cases: Float[ndarray, "N P"] | Sequence[Sequence[float] | Float[ndarray, " P"]],
    level: int,
    *,
    jobs: int = 1,
    cache: Path | str | bool = True,
    failures: MutableMapping[int, SolveFailed] | None = None,
    show: bool = True,
) -> Trajectories:
    """Solve every case at one level.

    A case that was solved before, by this process or another, is read from the cache. So an
    interrupted call that is made again goes on where it stopped. The cache knows a problem by
    its name, version, box and grids; it does not see a change in the code of a solver: change
    the version then.

    When some cases fail the others are still finished and cached.

    Args:
        problem: What to solve.
        cases: One row a case.
        level: Which level, 0 the cheapest.
        jobs: Processes to solve in; 1 solves in this one. With more, a solver that crashes
            costs its own case alone.
        cache: True for `cache_folder()`, a directory of your own, or False for none.
        failures: Takes up what failed, by row, and the answer has the other rows only; without
            it one `SolveFailed` speaks for all that failed.
        show: Show progress.

    Example:
        >>> from mflno.problems import Chain
        >>> sample(Chain(), [[3.0, 0.2], [4.0, 0.3]], level=0, cache=False).values.shape
        (2, 1, 128)
    """
    cases, level = checked_cases(problem, cases), checked_level(problem, level)
    if jobs < 1:
        raise ArgumentError("sample.jobs", "must be 1 or more", jobs, "1 solves right here")
    if not len(cases):
        raise ArgumentError("sample.cases", "must not be empty", "no rows", "pass some cases")
    solver = Solver(problem, level, opened(cache, problem, level))
    # A case that stands in several rows is solved once.
    first: dict[bytes, int] = {}
    twin = [first.setdefault(case.tobytes(), row) for row, case in enumerate(cases)]
    answered: dict[int, ndarray | SolveFailed] = {}
    title = f"{problem.name}, {problem.levels[level].name}"
    with progress(title, len(first), show=show) as bar:
        for rows, answer in solved(solver, cases, list(first.values()), jobs):
            one = isinstance(answer, SolveFailed)
            answered.update(zip(rows, [answer] if one else answer, strict=True))
            bar.advance(len(rows))
    outcome = [answered[row] for row in twin]
    failed = {row: each for row, each in enumerate(outcome) if isinstance(each, SolveFailed)}
    if failed and failures is None:
        raise spoken_for(problem, cases, failed)
    if failures is not None:
        failures.update(failed)
    values = {row: each for row, each in enumerate(outcome) if isinstance(each, ndarray)}
    return gathered(problem, level, cases, values)


@dataclass(frozen=True)
class Solver:
    """Cases to solutions, by way of the cache."""

    problem: Problem
    level: int
    cache: Cache | None

    def __call__(self, cases: Float[ndarray, "N P"]) -> Float[ndarray, "N O T"]:
        """Look each case up, solve the others together, keep what is new."""
        found = {row: self.found(case) for row, case in enumerate(cases)}
        todo = [row for row, values in found.items() if values is None]
        for row, answer in zip(todo, self.fresh(cases[todo]), strict=True):
            found[row] = values = checked_values(self.problem, self.level, answer)
            if self.cache:
                self.cache.keep(cases[row], values)
        return np.stack([values for values in found.values() if values is not None])

    def found(self, case: Float[ndarray, " P"]) -> Float[ndarray, "O T"] | None:
        """The solution of a case that was solved before."""
        return self.cache.find(case) if self.cache else None

    def fresh(self, cases: Float[ndarray, "N P"]) -> Sequence[ndarray] | ndarray:
        """Solve, together where the problem can."""
        together = getattr(self.problem, "solve_many", None)
        if together is None or len(cases) < 2:
            return [self.problem.solve(case, self.level) for case in cases]
        return together(cases, self.level)


def solved(
    solver: Solver, cases: Float[ndarray, "N P"], wanted: list[int], jobs: int
) -> Generator[tuple[list[int], ndarray | SolveFailed], None, None]:
    """The wanted rows and their solutions, or what went wrong with one of them, as they come.

    Cases that were solved together and failed are tried one by one: the others are sound.
    """
    rows = []
    for row in wanted:
        values = solver.found(cases[row])
        if values is None:
            rows.append(row)
        else:
            yield [row], values[None]
    groups: Iterable[list[int]] = [[row] for row in rows]
    if hasattr(solver.problem, "solve_many"):
        groups = paced(rows) if jobs == 1 else grouped(rows, jobs)
    again: list[list[int]] = []
    for group, answer in tried(solver, cases, groups, jobs):
        if isinstance(answer, SolveFailed) and len(group) > 1:
            again += [[row] for row in group]
        else:
            yield group, answer
    yield from tried(solver, cases, again, jobs)


def grouped(rows: list[int], jobs: int) -> list[list[int]]:
    """Rows in groups for `solve_many`, a few for every process."""
    size = max(1, min(SHARED, -(-len(rows) // (4 * jobs))))
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def paced(rows: list[int]) -> Iterator[list[int]]:
    """Rows in groups, each as large as the one before was quick."""
    first, size = 0, FIRST
    while first < len(rows):
        begin = time.monotonic()
        yield rows[first : first + size]
        first += size
        wanted = int(size * PACE / max(time.monotonic() - begin, 1e-9))
        size = max(1, min(wanted, 8 * size, TOGETHER))


def tried(
    solver: Solver, cases: Float[ndarray, "N P"], groups: Iterable[list[int]], jobs: int
) -> Generator[tuple[list[int], ndarray | SolveFailed], None, None]:
    """Each group's solutions or failure, from other processes or from this one."""
    if jobs > 1:
        listed = list(groups)
        batches = [cases[group] for group in listed]
        with closing(answers(solver, batches, jobs=jobs)) as found:
            for place, answer in found:
                yield listed[place], answer
        return
    for group in groups:
        try:
            yield group, solver(cases[group])
        except SolveFailed as error:
            yield group, error
        except MflnoError:
            # A wrong argument or a missing package fails every case alike: say so at once.
            raise
        except (Exception, SystemExit) as error:
            yield group, failure_of(error)


def opened(cache: Path | str | bool, problem: Problem, level: int) -> Cache | None:
    """The cache that was asked for."""
    if cache is False:
        return None
    root = cache_folder() if cache is True else Path(cache)
    return Cache.opened(root, problem, level)


def spoken_for(
    problem: Problem, cases: Float[ndarray, "N P"], failed: dict[int, SolveFailed]
) -> SolveFailed:
    """One error for all that failed, with the first of them in full."""
    row, first = min(failed.items())
    names = (parameter.name for parameter in problem.parameters)
    case = ", ".join(f"{name} = {x:.6g}" for name, x in zip(names, cases[row], strict=True))
    count = f"{len(failed)} of {len(cases)} cases of {problem.name} failed"
    text = f"{count}, the first in row {row} ({case}): {first.detail}"
    return SolveFailed(first.kind, text, first.log)


def gathered(
    problem: Problem, level: int, cases: Float[ndarray, "N P"], found: dict[int, ndarray]
) -> Trajectories:
    """The solutions in the order of their cases."""
    rows = list(found)
    asked = problem.levels[level]
    shape = len(problem.outputs), asked.points
    values = [found[row] for row in rows]
    return Trajectories(
        cases=cases[rows],
        grid=asked.grid,
        inputs=inputs_of(problem, cases[rows], level),
        values=np.stack(values) if rows else np.empty((0, *shape)),
        level=level,
        problem=problem.name,
        parameters=problem.parameters,
        outputs=problem.outputs,
    )
