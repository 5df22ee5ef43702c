"""`mflno compare`: every method on the same runs, judged by the same cases held out."""

import argparse
import os
import sys
from pathlib import Path

from mflno.errors import ArgumentError


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("problem", help="a built-in name, or file.py:name")
    parser.add_argument("--budgets", default="3,5,7,9", help="expensive runs (3,5,7,9)")
    parser.add_argument("--design", default="maximin", help="maximin (default) or random")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 (default 5)")
    parser.add_argument("--methods", default="", help="names with commas; default is all")
    parser.add_argument("--device", default="cpu", help="of the networks (default cpu)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--json", metavar="FILE", help="one line a cell; the same command again resumes it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compute what the file has not yet, print the means over seeds."""
    import torch

    from mflno.study.compare import compared, table, trials

    # One net of this size is faster on one thread than on several.
    torch.set_num_threads(1)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if arguments.seeds < 1 or arguments.jobs < 1:
        came = (arguments.seeds, arguments.jobs)
        raise ArgumentError("compare --seeds, --jobs", "must be 1 or more", came, "pass 1")
    listed = trials(
        arguments.problem,
        arguments.design,
        budgets=numbers(arguments.budgets),
        seeds=range(arguments.seeds),
        methods=[name for name in arguments.methods.split(",") if name],
        device=arguments.device,
    )
    path = Path(arguments.json) if arguments.json else None
    rows = []
    for row in compared(listed, path=path, jobs=arguments.jobs):
        rows.append(row)
        said = row.get("failed") or f"{row['mean']:.4g} mean, {row['max']:.4g} worst"
        cell = f"{row['method']}, {row['budget']} runs, seed {row['seed']}"
        print(f"{len(rows)}/{len(listed)} {cell}: {said}", file=sys.stderr, flush=True)
    print(table(rows))
    return 0 if any("failed" not in row for row in rows) else 1


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between."""
    try:
        return sorted({int(each) for each in text.split(",")})
    except ValueError as error:
        remedy = "pass 3,5,7,9"
        raise ArgumentError("compare --budgets", "must be numbers", text, remedy) from error
