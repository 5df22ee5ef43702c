"""From cells to the paper's tables and figures."""

import json
import platform
from pathlib import Path
from typing import NamedTuple

import mflno
from mflno.errors import MissingExtra
from mflno.store import write_text_atomic
from mflno.study import tables
from mflno.study.appendix_figures import appendix_figures
from mflno.study.cells import Cell
from mflno.study.material import NAMES
from mflno.study.networks_table import network_rows
from mflno.study.paper_figures import problem_figures
from mflno.study.reading import reading
from mflno.study.reproduce import Outcome, Scope, appendix_cells, outcome


class Results(NamedTuple):
    """What was written, and why something was not."""

    tables: list[Path]
    figures: list[Path]
    missing: str


def write_results(what: str, scope: Scope, *, figures: bool = True) -> Results:
    """Write every table of what was computed, and every figure that can be drawn here."""
    names = [name for name in NAMES if what in (name, "all")]
    outcomes = [found for found in (outcome(name, scope) for name in names) if found.cells]
    written = [path for each in outcomes for path in problem_tables(scope, each)]
    rows = network_rows()
    text = tables.markdown(rows, list(rows[0]))
    written += tables.write_table(scope.out / "tables", "networks", rows, text)
    appendix = appendix_cells(scope) if what in ("ablations", "all") else []
    about = write_about(what, scope, outcomes, appendix)
    drawn, missing = drawings(scope, outcomes, appendix) if figures else ([], "")
    page = scope.out / "results.md"
    told = json.loads(about.read_text(encoding="utf-8"))
    write_text_atomic(page, reading(told, outcomes, appendix, scope.out))
    return Results([*written, about, page], drawn, missing)


def problem_tables(scope: Scope, found: Outcome) -> list[Path]:
    """Errors, trajectories, trust, and the duels of choices."""
    folder, name = scope.out / "tables", found.name
    errors, shown = tables.error_rows(found), tables.trajectory_rows(found)
    trust, duels = tables.trust_rows(found), tables.duel_rows(found)
    written = tables.write_table(folder, f"{name}-errors", errors, tables.wide_errors(errors))
    written += tables.write_table(
        folder, f"{name}-trajectories", shown, tables.wide_trajectories(shown)
    )
    for words, rows in (("trust", trust), ("duels", duels)):
        columns = [key for key in rows[0] if key != "problem"] if rows else []
        text = tables.markdown(rows, columns)
        written += tables.write_table(folder, f"{name}-{words}", rows, text)
    return written


def command(what: str, scope: Scope) -> str:
    """The line that computes all of this again."""
    quick = " --quick" if scope.quick else ""
    return f"mflno reproduce {what} --seeds {scope.seeds}{quick}"


def write_about(what: str, scope: Scope, outcomes: list[Outcome], appendix: list[Cell]) -> Path:
    """What made these results: command, versions, machines, seconds of each part."""
    parts = [("appendix", cell.asked["kind"], cell) for cell in appendix]
    for each in outcomes:
        names = {contender.key: contender.label for contender in each.contenders}
        parts += [(each.name, names[key], cell) for (key, _), cell in each.cells.items()]
    seconds: dict[str, dict[str, float]] = {}
    made: dict[str, list[str]] = {}
    for group, label, cell in parts:
        own = seconds.setdefault(group, {})
        own[label] = round(own.get(label, 0.0) + cell.found["seconds"], 1)
        labels = made.setdefault(cell.found.get("machine", "a machine not noted"), [])
        labels += [label] if label not in labels else []
    told = {
        "command": command(what, scope), "seeds": scope.seeds,
        "quick": scope.quick, "machines": made, "versions": versions(), "seconds": seconds,
    }  # fmt: skip
    path = scope.out / "about.json"
    write_text_atomic(path, json.dumps(told, indent=1) + "\n")
    return path


def versions() -> dict[str, str]:
    """Of what computed."""
    import numpy
    import scipy
    import torch

    return {
        "mflno": mflno.__version__, "python": platform.python_version(),
        "torch": torch.__version__, "numpy": numpy.__version__, "scipy": scipy.__version__,
    }  # fmt: skip


def drawings(
    scope: Scope, outcomes: list[Outcome], appendix: list[Cell]
) -> tuple[list[Path], str]:
    """All figures, or why there are none."""
    folder = scope.out / "figures"
    try:
        found = [path for each in outcomes for path in problem_figures(folder, each)]
        return found + appendix_figures(folder, appendix), ""
    except MissingExtra as error:
        return [], str(error)
