"""`mflno middle`: what a middle level is worth, the same money with it and without it."""

import argparse
import json

import numpy as np

from mflno.commands.compare import numbers


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("problem", choices=["chain", "burgers"], help="of three levels")
    parser.add_argument("--budgets", default="6,9", help="money, in dearest runs (6,9)")
    parser.add_argument("--seeds", type=int, default=3, help="how many, from 0 (default 3)")
    parser.add_argument("--method", default="mf-gp", help="mf-gp (default) or nargp")
    parser.add_argument("--json", action="store_true", help="print one JSON line a fit")


def run(arguments: argparse.Namespace) -> int:
    """Print the mean error of each way to spend each budget."""
    from mflno.study.middle import equal_cost

    rows = list(
        equal_cost(
            arguments.problem,
            numbers(arguments.budgets),
            shares=(0.0, 1 / 3),
            seeds=range(arguments.seeds),
            method=arguments.method,
        )
    )
    if arguments.json:
        print("\n".join(map(json.dumps, rows)))
        return 0
    print("  ".join(f"{name:>8}" for name in ("budget", "dear", "middle", "mean", "max")))
    for ways in sorted({(row["budget"], row["dear"], row["middle"]) for row in rows}):
        own = [r for r in rows if (r["budget"], r["dear"], r["middle"]) == ways]
        figures = (np.mean([row[name] for row in own]) for name in ("mean", "max"))
        words = [*map(str, ways), *(f"{figure:.4g}" for figure in figures)]
        print("  ".join(f"{word:>8}" for word in words))
    return 0
