"""`mflno middle`: what lower levels are worth, the same money with them and without them."""

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
    text = "pay for every level: bought by gain per cost, by a fixed design, or the top alone"
    parser.add_argument("--buy", action="store_true", help=text)
    parser.add_argument("--json", action="store_true", help="print one JSON line a fit")


def run(arguments: argparse.Namespace) -> int:
    """Print the mean error of each way to spend each budget."""
    if arguments.buy:
        return bought(arguments)
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


def bought(arguments: argparse.Namespace) -> int:
    """Print the mean error of each way to spend money on all levels."""
    from mflno.study.levels import equal_money

    budgets, seeds = numbers(arguments.budgets), range(arguments.seeds)
    rows = []
    for row in equal_money(arguments.problem, budgets, seeds=seeds, method=arguments.method):
        rows.append(row)
        if arguments.json:
            print(json.dumps(row), flush=True)
    if arguments.json:
        return 0
    print("  ".join(f"{name:>8}" for name in ("budget", "way", "mean", "max")) + "  runs")
    for budget, way in dict.fromkeys((row["budget"], row["way"]) for row in rows):
        own = [r for r in rows if (r["budget"], r["way"]) == (budget, way)]
        figures = (f"{np.mean([row[name] for row in own]):.4g}" for name in ("mean", "max"))
        counts = " + ".join(f"{each:.3g}" for each in np.mean([r["runs"] for r in own], 0))
        words = "  ".join(f"{word:>8}" for word in (str(budget), way, *figures))
        print(f"{words}  {counts}")
    return 0
