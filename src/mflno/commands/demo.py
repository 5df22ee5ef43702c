"""`mflno demo`: an LNO learns a damped oscillator; a picture shows how well."""

import argparse
import json
import time
from pathlib import Path

from mflno.errors import ArgumentError
from mflno.progress import progress


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument(
        "--out", default="demo-out", metavar="DIR", help="where the picture goes"
    )
    parser.add_argument("--steps", type=int, default=1000, help="of training (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of forcings and start (default 0)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Train, tell the error on held-out cases, write the picture."""
    if arguments.steps < 1:
        raise ArgumentError("--steps", "must be positive", arguments.steps, "try 1000")
    import torch

    from mflno.study.demo import Examples, draw, fresh_operator, held_out, training

    # One net of this size is faster on one thread than on several.
    torch.set_num_threads(1)
    begin = time.perf_counter()
    examples = Examples.drawn(arguments.seed)
    operator = fresh_operator(examples, arguments.seed)
    losses: list[float] = []
    with progress("training", arguments.steps) as line:
        for loss in training(operator, examples, arguments.steps):
            losses.append(loss)
            line.note(f"error {loss:.4f}")
            line.advance()
    errors = held_out(operator, examples)[1]
    path = Path(arguments.out) / "oscillator.png"
    draw(path, operator, examples, losses)
    told = {
        "parameters": sum(each.numel() for each in operator.parameters()),
        "steps": arguments.steps,
        "mean_error": float(errors.mean()),
        "worst_error": float(errors.max()),
        "seconds": time.perf_counter() - begin,
        "picture": str(path),
    }
    print(json.dumps(told, indent=1) if arguments.json else summary(told, len(errors)))
    return 0


def summary(told: dict[str, int | float | str], cases: int) -> str:
    """The result as two lines."""
    return (
        f"relative error on {cases} held-out cases: mean {told['mean_error']:.2%}, "
        f"worst {told['worst_error']:.2%}  ({told['seconds']:.0f} s)\n"
        f"picture: {told['picture']}"
    )
