"""A problem as its surrogate remembers it: everything but the solver."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, MissingExtra
from mflno.problems import PROBLEMS, Problem, problem_named
from mflno.shapes import Float


@dataclass(frozen=True)
class Remembered:
    """A problem without solver and forcing: enough for a surrogate that needs neither."""

    name: str
    version: str
    parameters: tuple[Parameter, ...]
    levels: tuple[Level, ...]
    outputs: tuple[str, ...]

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """Refuse: a file holds no forcing."""
        self.refuse("forcing")

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """Refuse: a file holds no solver."""
        self.refuse("cheap solver")

    def refuse(self, what: str) -> NoReturn:
        """Say what is missing and how to hand it in."""
        rule = f"this surrogate needs the {what} of {self.name!r}"
        remedy = "pass the problem: mflno.load(path, problem)"
        raise ArgumentError("load.problem", rule, "a file alone", remedy)


def described(problem: Problem) -> tuple[dict[str, ndarray], dict[str, Any]]:
    """What a file says of a problem."""
    grids = {f"grid.{k}": level.grid for k, level in enumerate(problem.levels)}
    about = {
        "name": problem.name,
        "version": problem.version,
        "parameters": [[p.name, p.low, p.high, p.unit] for p in problem.parameters],
        "levels": [[level.name, level.cost] for level in problem.levels],
        "outputs": list(problem.outputs),
    }
    return grids, about


def remembered(arrays: Mapping[str, ndarray], about: Mapping[str, Any]) -> Remembered:
    """The problem a file tells of."""
    levels = (Level(n, arrays[f"grid.{k}"], c) for k, (n, c) in enumerate(about["levels"]))
    axes = (Parameter(*each) for each in about["parameters"])
    outputs = tuple(about["outputs"])
    return Remembered(about["name"], about["version"], tuple(axes), tuple(levels), outputs)


def resolved(told: Remembered, problem: Problem | None) -> Problem:
    """The problem handed in if it fits, else the built-in one of that name, else the memory."""
    if problem is not None:
        off = difference(told, problem)
        if off:
            rule = "must be the problem the surrogate was fitted to"
            raise ArgumentError("load.problem", rule, off, "pass that problem, or none")
        return problem
    if told.name in PROBLEMS:
        try:
            builtin = problem_named(told.name)
        except MissingExtra:
            return told
        if not difference(told, builtin):
            return builtin
    return told


def difference(told: Problem, other: Problem) -> str:
    """The first thing in which two problems differ, or nothing."""
    for part in ("name", "version", "parameters", "outputs"):
        mine, theirs = getattr(told, part), getattr(other, part)
        if mine != theirs and tuple(mine) != tuple(theirs):
            return f"{part} {theirs} in place of {mine}"
    grids = [(a.grid, b.grid) for a, b in zip(told.levels, other.levels, strict=False)]
    same = len(told.levels) == len(other.levels) and all(np.array_equal(*g) for g in grids)
    return "" if same else "other time grids"
