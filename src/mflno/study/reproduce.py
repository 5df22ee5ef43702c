"""The paper's study: all contenders, budgets and seeds, then the appendix; cells on disk.

Computing and drawing are apart: `compute` needs torch, NumPy and SciPy alone and may run on
another machine; tables and figures are made from its cells.
"""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from mflno.study.ablations import Effort, ablations, known_ablations
from mflno.study.cells import Cell, Row, Shelf
from mflno.study.contenders import Contender, contenders
from mflno.study.lockstep import Course, asked_of, cells
from mflno.study.material import NAMES, Material, material

BUDGETS = {"lorenz": (3, 5, 7, 9), "duffing": (3, 5, 7, 9), "beam": (3, 5, 7, 9, 11)}
QUICK_SHARE = 0.01
"""Of the paper's epochs: enough to see every part at work, not to judge any method."""


@dataclass(frozen=True)
class Scope:
    """How much of the study, and where.

    Attributes:
        out: Folder of material, cells, tables and figures.
        seeds: How many.
        quick: A small version of everything.
        device: Where networks are trained.
        only: Keys of contenders to compute; all when empty.
    """

    out: Path
    seeds: int = 5
    quick: bool = False
    device: str = "cpu"
    only: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of the paper's epochs."""
        return QUICK_SHARE if self.quick else 1.0

    @property
    def shelf(self) -> Shelf:
        """Where the cells lie."""
        return Shelf(self.out / "cells")

    def material(self, name: str) -> Material:
        """The solved cases of a problem."""
        return material(name, self.out / "material")

    def course(self, name: str) -> Course:
        """Seeds and budgets of a problem."""
        budgets = BUDGETS[name][:2] if self.quick else BUDGETS[name]
        return Course(tuple(range(self.seeds)), budgets, self.device, self.share)

    @property
    def effort(self) -> Effort:
        """Of the appendix."""
        if self.quick:
            return Effort(2, 1, QUICK_SHARE / 2, 2, self.device)
        return Effort(seeds=self.seeds, device=self.device)

    def contenders(self) -> list[Contender]:
        """Who takes part."""
        found = contenders(self.share)
        return [each for each in found if not self.only or each.key in self.only]


def compute(what: str, scope: Scope, *, jobs: int = 1) -> None:
    """Compute every cell that is not there yet.

    Args:
        what: A problem, `ablations`, or `all`.
        scope: How much, and where.
        jobs: Processes. The paper's contenders of a problem share one, since they share their
            phase 1; each of ours has its own.
    """
    names = [*NAMES, "ablations"] if what == "all" else [what]
    for name in NAMES if what in ("all", "ablations") else names:
        scope.material(name)
    if jobs == 1:
        for name in names:
            work(name, scope)
        return
    # CUDA and threads of torch do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        parts = [(name, part) for name in names for part in shares(name, scope)]
        for done in [pool.submit(work, *each) for each in parts]:
            done.result()


def shares(task: str, scope: Scope) -> list[Scope]:
    """A task in parts that need nothing of each other."""
    if task == "ablations":
        return [scope]
    everybody = scope.contenders()
    together = tuple(each.key for each in everybody if not each.banded)
    groups = [together, *((each.key,) for each in everybody if each.banded)]
    return [replace(scope, only=keys) for keys in groups if keys]


def work(task: str, scope: Scope) -> None:
    """One problem, or the appendix, with a line for each cell."""
    import torch

    # Networks of this size are faster on one thread than on several; beside a GPU a few serve
    # predictions, and leave room for other processes.
    torch.set_num_threads(1 if scope.device == "cpu" else 4)
    begin = time.perf_counter()
    found = appendix(scope) if task == "ablations" else problem_cells(task, scope)
    for cell in found:
        say(f"{time.perf_counter() - begin:7.1f} s  {line_of(cell)}")


def problem_cells(name: str, scope: Scope) -> Iterator[Cell]:
    """The cells of one problem, contender after contender."""
    data = scope.material(name)
    for contender in scope.contenders():
        yield from cells(data, contender, scope.course(name), scope.shelf)


def appendix(scope: Scope) -> Iterator[Cell]:
    """The cells of the appendix."""
    return ablations(scope.out / "material", scope.shelf, scope.effort)


def appendix_cells(scope: Scope) -> list[Cell]:
    """The cells of the appendix that are there."""
    return known_ablations(scope.shelf, scope.effort)


def line_of(cell: Cell) -> str:
    """A cell in one line."""
    asked, found = cell.asked, cell.found
    seconds = f"{found['seconds']:.1f} s of its own"
    if asked["kind"] != "errors":
        return f"{asked.get('problem', ''):8s} {asked['kind']}, {seconds}"
    means = [float(np.mean(row["errors"])) for row in found["rows"]]
    worst = [float(np.max(row["errors"])) for row in found["rows"]]
    return (
        f"{asked['problem']:8s} {asked['contender']:14s} {asked['budget']:2d} runs  "
        f"mean {np.mean(means):.4f}  max {np.mean(worst):.4f}  {seconds}"
    )


def say(text: str) -> None:
    """A line on standard error."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


@dataclass(frozen=True)
class Outcome:
    """The cells of one problem that are there.

    Attributes:
        name: The problem's.
        material: Its solved cases.
        contenders: Who took part, in order.
        cells: By contender and budget.
    """

    name: str
    material: Material
    contenders: tuple[Contender, ...]
    cells: dict[tuple[str, int], Cell]

    @property
    def budgets(self) -> list[int]:
        """Budgets that some cell has."""
        return sorted({budget for _, budget in self.cells})

    def at(self, key: str, budget: int) -> Cell | None:
        """A contender's cell; one that reads no expensive run is the same at every budget."""
        found = self.cells.get((key, budget))
        if found is None and any(c.key == key and c.alone for c in self.contenders):
            own = [cell for (each, _), cell in self.cells.items() if each == key]
            return own[0] if own else None
        return found


def nearest(shelf: Shelf, asked: Row) -> Cell | None:
    """The very cell; else the latest of that name, made by another state of the code."""
    exact = shelf.find(asked)
    if exact is not None:
        return exact
    names = ("kind", "problem", "contender", "rule", "seeds", "budget", "share")
    found = shelf.all(**{name: asked[name] for name in names})
    return max(found, key=lambda cell: shelf.path(cell.asked).stat().st_mtime, default=None)


def outcome(name: str, scope: Scope) -> Outcome:
    """What there is of one problem."""
    data, course = scope.material(name), scope.course(name)
    found: dict[tuple[str, int], Cell] = {}
    for contender in scope.contenders():
        own = replace(course, budgets=course.budgets[-1:]) if contender.alone else course
        for budget in own.budgets:
            cell = nearest(scope.shelf, asked_of(data, contender, own, budget))
            if cell is not None:
                found[contender.key, budget] = cell
    here = tuple(c for c in scope.contenders() if any(key == c.key for key, _ in found))
    return Outcome(name, data, here, found)
