"""Runs made elsewhere, as files: a table, arrays, or trajectories.

A table has a header; a column `time`, a column for each output, and, where it holds several
cases, a column for each parameter. Times other than the level's are interpolated.
"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy import ndarray
from scipy.interpolate import CubicSpline

from mflno.errors import ArgumentError, MflnoError
from mflno.exchange import read_trajectories
from mflno.problems import Problem, checked_level
from mflno.shapes import Float

TIMES = "time", "t"
FAULTS = OSError, ValueError, KeyError, IndexError, TypeError, BadZipFile, csv.Error
Case = Sequence[float] | None


class Table(NamedTuple):
    """Cases and their outputs on the level's grid."""

    cases: Float[ndarray, "N P"]
    values: Float[ndarray, "N O T"]


def read_told(
    path: Path | str, problem: Problem, level: int = -1, *, case: Case = None
) -> Table:
    """Read runs from `.csv`, `.npz` or `.nc`.

    Args:
        path: Which file.
        problem: Whose runs they are.
        level: Which level they belong to.
        case: The case of a file that holds none.
    """
    path = Path(path)
    number = checked_level(problem, level + len(problem.levels) if level < 0 else level)
    readers = {".csv": from_csv, ".npz": from_arrays, ".nc": from_trajectories}
    if path.suffix not in readers:
        rule, remedy = f"must end in {', '.join(readers)}", "change the ending"
        raise ArgumentError(str(path), rule, path.name, remedy)
    try:
        return readers[path.suffix](path, problem, number, case)
    except MflnoError:
        raise
    except (
        OSError,
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        BadZipFile,
        csv.Error,
    ) as error:
        remedy = "see 'Runs made elsewhere' in docs/campaigns.md"
        came = f"{type(error).__name__}: {error}"
        raise ArgumentError(str(path), "must hold runs", came, remedy) from error


def from_trajectories(path: Path, problem: Problem, level: int, case: Case) -> Table:
    """What `mflno sample` or `write_trajectories` wrote."""
    found = read_trajectories(path)
    names = [each.name for each in found.parameters]
    wanted = [each.name for each in problem.parameters]
    if names != wanted or found.outputs != tuple(problem.outputs):
        rule, came = f"parameters {', '.join(wanted)}", ", ".join(names)
        raise ArgumentError(str(path), rule, came, "write it in that order")
    del case
    return Table(found.cases, resampled(path, problem, level, found.grid, found.values))


def from_arrays(path: Path, problem: Problem, level: int, case: Case) -> Table:
    """Trajectories, or plain arrays `values`, `cases` and perhaps `time`."""
    with np.load(path, allow_pickle=False) as file:
        found = dict(file)
    if "about" in found:
        return from_trajectories(path, problem, level, case)
    values = np.asarray(found["values"], dtype=float)
    cases = given_case(path, problem, case) if "cases" not in found else found["cases"]
    if values.ndim == 2 and len(cases) == 1:
        values = values[None]
    elif values.ndim == 2 and len(problem.outputs) == 1:
        values = values[:, None]
    names = [name for name in (*TIMES, "grid") if name in found]
    grid = found[names[0]] if names else problem.levels[level].grid
    return Table(np.asarray(cases, float), resampled(path, problem, level, grid, values))


def from_csv(path: Path, problem: Problem, level: int, case: Case) -> Table:
    """A table; rows of one case need not stand together."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        rows = list(csv.reader(lines))
    head = [name.strip() for name in rows[0]]
    numbers = np.array([[float(cell) for cell in row] for row in rows[1:]])
    column = {name: numbers[:, place] for place, name in enumerate(head)}
    times = column["time" if "time" in column else "t"]
    outputs = np.stack([column[name] for name in problem.outputs])
    names = [each.name for each in problem.parameters]
    if case is None and all(name in column for name in names):
        each = np.stack([column[name] for name in names], axis=1)
        _, first, owner = np.unique(each, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        parts = [np.flatnonzero(owner.ravel() == place) for place in order]
        cases = each[first[order]]
    else:
        cases, parts = given_case(path, problem, case), [np.arange(len(times))]
    values = [
        resampled(path, problem, level, times[part], outputs[None, :, part])[0]
        for part in parts
    ]
    return Table(cases, np.stack(values))


def given_case(path: Path, problem: Problem, case: Case) -> ndarray:
    """The case named beside the file."""
    if case is None:
        names = ", ".join(each.name for each in problem.parameters)
        rule, remedy = f"its case must be known ({names})", "pass --run, --set, or add columns"
        raise ArgumentError(str(path), rule, "a file without cases", remedy)
    return np.array([case], dtype=float)


def resampled(
    path: Path, problem: Problem, level: int, times: ndarray, values: Float[ndarray, "N O t"]
) -> Float[ndarray, "N O T"]:
    """The values on the level's grid; they must reach from its begin to its end."""
    grid = problem.levels[level].grid
    step = grid[1] - grid[0]
    if values.ndim != 3 or values.shape[-1] != len(times):
        rule, came = f"{len(times)} times", f"values of shape {values.shape}"
        raise ArgumentError(str(path), rule, came, "order the axes as case, output, time")
    if len(times) == len(grid) and np.abs(times - grid).max() <= 0.01 * step:
        return values
    own = np.diff(times)
    if len(times) < 4 or not np.all(own > 0):
        raise ArgumentError(str(path), "4 or more rising times", len(times), "sort them")
    if times[0] > grid[0] + 0.01 * step or times[-1] < grid[-1] - 0.01 * step:
        rule = f"must reach from {grid[0]:g} to {grid[-1]:g}"
        came = f"{times[0]:g} to {times[-1]:g}"
        raise ArgumentError(str(path), rule, came, "measure longer, or change the level's grid")
    return np.asarray(CubicSpline(times, values, axis=-1)(grid))
