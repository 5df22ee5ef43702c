"""`mflno bench`: speed beside the published formulation, choices, what a campaign costs."""

import argparse
import json
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from mflno.errors import ArgumentError

if TYPE_CHECKING:
    from mflno.study.choices import Cell


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("what", choices=["layer", "growth", "choices", "campaign"], help="what")
    parser.add_argument("--repeats", type=int, default=15, help="timed passes of each row")
    words = {
        "problem": "lorenz duffing", "choice": "auto topb random maximin", "method": "auto",
        "start": "random",
    }  # fmt: skip
    for name, default in words.items():
        text = f"of choices, one or more (default {default})"
        parser.add_argument(f"--{name}", nargs="+", default=default.split(), help=text)
    for name, number in {"seeds": 5, "budget": 9, "batch": 2}.items():
        text = f"of choices (default {number})"
        parser.add_argument(f"--{name}", type=int, default=number, help=text)
    parser.add_argument("--pool", default="study", help="of choices (default study)")
    parser.add_argument("--out", metavar="FILE", help="of choices: JSON lines, resumable")
    parser.add_argument("--json", action="store_true", help="print JSON lines")


def run(arguments: argparse.Namespace) -> int:
    """Measure on one thread and print a row as soon as it is known."""
    import torch

    from mflno.study.bench_layer import comparison, growth, paper_sizes

    torch.set_num_threads(1)
    if arguments.what == "choices":
        return compare_choices(arguments)
    if arguments.what == "campaign":
        from mflno.study.bench_campaign import choosing, overhead

        show(chain([overhead()], choosing()), as_json=arguments.json)
        return 0
    if arguments.what == "layer":
        show(comparison(paper_sizes(), arguments.repeats), as_json=arguments.json)
    else:
        show(growth(arguments.repeats), as_json=arguments.json)
    return 0


def cells_of(arguments: argparse.Namespace) -> "list[Cell]":
    """The campaigns to compare; those that share fits stand together."""
    from mflno.study.choices import Cell

    words = {"budget": arguments.budget, "batch": arguments.batch, "pool": arguments.pool}
    return [
        Cell(problem, choice, seed, method, design=design, **words)
        for problem in arguments.problem
        for design in arguments.start
        for method in arguments.method
        for seed in range(arguments.seeds)
        for choice in arguments.choice
    ]


def compare_choices(arguments: argparse.Namespace) -> int:
    """Run what is not in the file yet, then print the table of all that is."""
    from mflno.study.choices import compare, read_rows, table

    if arguments.out is None:
        raise ArgumentError("--out", "must be named", "nothing", "as --out choices.jsonl")
    path = Path(arguments.out)
    if not path.parent.is_dir():
        raise ArgumentError("--out", "its folder must exist", path.parent, "make it first")
    if arguments.seeds < 1:
        raise ArgumentError("--seeds", "must be 1 or more", arguments.seeds, "pass 5")
    for row in compare(cells_of(arguments), path):
        names = "problem", "method", "choice", "seed", "runs", "mean", "max"
        if not arguments.json:
            print(" ".join(f"{row[name]:.3g}" if name in names[5:] else f"{row[name]}"
                           for name in names), flush=True)  # fmt: skip
    show(table(read_rows(path)), as_json=arguments.json)
    return 0


def show(rows: Iterable[Mapping[str, float | int | str | None]], *, as_json: bool) -> None:
    """Print each row as JSON or as aligned columns."""
    head: tuple[str, ...] = ()
    for row in rows:
        if as_json:
            print(json.dumps(row), flush=True)
            continue
        wide = {name: max(13, len(name)) for name in row}
        if tuple(row) != head:
            head = tuple(row)
            print("  ".join(f"{name:>{wide[name]}}" for name in head))
        cells = (f"{cell_of(value):>{wide[name]}}" for name, value in row.items())
        print("  ".join(cells), flush=True)


def cell_of(value: float | int | str | None) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
