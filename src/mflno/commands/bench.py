"""`mflno bench`: speed, side by side with the published formulation."""

import argparse
import json
from collections.abc import Iterable, Mapping


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("what", choices=["layer", "growth"], help="what to measure")
    parser.add_argument("--repeats", type=int, default=15, help="timed passes of each row")
    parser.add_argument("--json", action="store_true", help="print JSON lines")


def run(arguments: argparse.Namespace) -> int:
    """Measure on one thread and print a row as soon as it is known."""
    import torch

    from mflno.study.bench_layer import comparison, growth, paper_sizes

    torch.set_num_threads(1)
    if arguments.what == "layer":
        show(comparison(paper_sizes(), arguments.repeats), as_json=arguments.json)
    else:
        show(growth(arguments.repeats), as_json=arguments.json)
    return 0


def show(rows: Iterable[Mapping[str, float | int | str]], *, as_json: bool) -> None:
    """Print each row as JSON or as aligned columns."""
    head: tuple[str, ...] = ()
    for row in rows:
        if as_json:
            print(json.dumps(row), flush=True)
            continue
        if tuple(row) != head:
            head = tuple(row)
            print("  ".join(f"{name:>13}" for name in head))
        cells = (f"{v:13.4g}" if isinstance(v, float) else f"{v:>13}" for v in row.values())
        print("  ".join(cells), flush=True)
