"""What every method of a study is given and judged by: solved cases, the same for all.

They are kept in one file a problem, so that a machine without the beam's finite elements can
compute the study of the beam all the same.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.data import Trajectories
from mflno.errors import StoreError
from mflno.multifidelity import Data
from mflno.problems import Problem, inputs_of, problem_named, study_cases
from mflno.sampling import sample
from mflno.seeds import numpy_stream
from mflno.shapes import Float, Int
from mflno.store import read_arrays, write_arrays

NAMES = ("lorenz", "duffing", "beam")
START = 3
"""Expensive runs that every method of a seed begins with."""


@cache
def paper_tables() -> dict[str, Any]:
    """The figures that the paper prints, by problem."""
    text = (files("mflno.study") / "paper_tables.json").read_text(encoding="utf-8")
    return json.loads(text)


def shown_cases(problem: Problem) -> Float[ndarray, "N P"]:
    """The five cases whose trajectories the paper shows."""
    names = [each.name for each in problem.parameters]
    rows = paper_tables()[problem.name]["trajectories"]
    return np.array([[row["parameters"][name] for name in names] for row in rows])


@dataclass(frozen=True)
class Material:
    """The solved cases of one problem.

    Attributes:
        problem: The problem; its highest level is never solved again.
        candidates: What can be chosen, at the highest level.
        tests: What judges the outcome.
        shown: The paper's five trajectories.
        lower: The candidates at each lower level.
    """

    problem: Problem
    candidates: Trajectories
    tests: Trajectories
    shown: Trajectories
    lower: tuple[Trajectories, ...]

    def data(self, picks: Int[ndarray, " N"] | list[int]) -> Data:
        """What a method learns from."""
        return Data(self.problem, self.lower, self.candidates.take(picks))

    def order(self, seed: int) -> list[int]:
        """The candidates in this seed's random order; the first three are everybody's start."""
        generator = numpy_stream(seed, "random design", self.problem.name)
        return generator.permutation(len(self.candidates)).tolist()


def material(name: str, folder: Path) -> Material:
    """The solved cases of a problem: read where the file is, else solved and written."""
    problem = problem_named(name)
    path = folder / f"{name}.safetensors"
    if not path.exists():
        write_material(problem, path)
    found = read_arrays(path)
    if found.metadata.get("version") != problem.version:
        text = f"holds version {found.metadata.get('version')} of {name}"
        raise StoreError(f"{path}: {text}, wanted {problem.version}; delete it")
    split, top = study_cases(problem), len(problem.levels) - 1
    parts = {
        "candidates": split.candidates,
        "tests": split.tests,
        "shown": shown_cases(problem),
    }
    solved = {
        part: given(problem, cases, top, found.arrays[part]) for part, cases in parts.items()
    }
    lower = tuple(
        given(problem, split.candidates, level, found.arrays[f"lower{level}"])
        for level in range(top)
    )
    return Material(problem, solved["candidates"], solved["tests"], solved["shown"], lower)


def write_material(problem: Problem, path: Path) -> None:
    """Solve all cases of a study and write them down."""
    path.parent.mkdir(parents=True, exist_ok=True)
    split, top = study_cases(problem), len(problem.levels) - 1
    parts = {
        "candidates": split.candidates,
        "tests": split.tests,
        "shown": shown_cases(problem),
    }
    arrays = {part: sample(problem, cases, top).values for part, cases in parts.items()}
    for level in range(top):
        arrays[f"lower{level}"] = sample(problem, split.candidates, level).values
    write_arrays(path, arrays, {"version": problem.version})


def given(
    problem: Problem, cases: Float[ndarray, "N P"], level: int, values: Float[ndarray, "N O T"]
) -> Trajectories:
    """Solved cases as trajectories."""
    return Trajectories(
        cases, problem.levels[level].grid, inputs_of(problem, cases, level), values, level,
        problem.name, tuple(problem.parameters), tuple(problem.outputs),
    )  # fmt: skip
