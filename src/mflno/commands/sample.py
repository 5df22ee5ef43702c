"""Solve many cases of one level into a file."""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import numpy as np
from numpy import ndarray

from mflno.data import Trajectories
from mflno.errors import SolveFailed
from mflno.exchange import check_target, write_trajectories
from mflno.problems import (
    Problem,
    candidate_cases,
    grid_cases,
    load_problem,
    random_cases,
    test_cases,
)
from mflno.sampling import sample
from mflno.seeds import numpy_stream
from mflno.shapes import Float


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", help="a built-in name, plan.toml, or file.py:name")
    parser.add_argument("--level", type=int, default=0, help="0 is the cheapest (default)")
    cases = parser.add_mutually_exclusive_group(required=True)
    cases.add_argument("--grid", type=int, metavar="N", help="N points along each parameter")
    cases.add_argument("--count", type=int, metavar="N", help="N cases drawn uniformly")
    cases.add_argument(
        "--split", choices=["candidates", "tests"], help="the cases every study of it shares"
    )
    parser.add_argument("--seed", type=int, default=0, help="of --count (default 0)")
    parser.add_argument("--out", required=True, metavar="FILE", help="FILE.npz or FILE.nc")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--cache", metavar="DIR", help="in place of $MFLNO_CACHE or ~/.cache/mflno"
    )
    parser.add_argument(
        "--drop-failed", action="store_true", help="write the others when some cases fail"
    )
    parser.add_argument("--json", action="store_true", help="print what was done as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Solve what is not in the cache yet, write the file, say what was done."""
    check_target("--out", arguments.out)
    with chatter_aside():
        problem = load_problem(arguments.problem)
    failures: dict[int, SolveFailed] | None = {} if arguments.drop_failed else None
    begin = time.perf_counter()
    with chatter_aside():
        solved = sample(
            problem,
            chosen_cases(problem, arguments),
            arguments.level,
            jobs=arguments.jobs,
            cache=arguments.cache or True,
            failures=failures,
        )
    write_trajectories(solved, arguments.out)
    seconds = time.perf_counter() - begin
    print(summary(arguments, solved, failures or {}, seconds))
    return 0


@contextmanager
def chatter_aside() -> Iterator[None]:
    """Send what solvers print to stderr, from C too: stdout is for the answer."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def chosen_cases(problem: Problem, arguments: argparse.Namespace) -> Float[ndarray, "N P"]:
    """The cases that the arguments name."""
    if arguments.split:
        return {"candidates": candidate_cases, "tests": test_cases}[arguments.split](problem)
    if arguments.grid is not None:
        return grid_cases(problem, arguments.grid)
    generator = numpy_stream(arguments.seed, "sample", problem.name)
    return random_cases(problem, arguments.count, generator)


def summary(
    arguments: argparse.Namespace,
    solved: Trajectories,
    failures: dict[int, SolveFailed],
    seconds: float,
) -> str:
    """What was done, as one line or as JSON."""
    rms = float(np.sqrt(np.mean(solved.values**2))) if len(solved) else None
    told = {
        "problem": solved.problem,
        "level": solved.level,
        "cases": len(solved),
        "shape": list(solved.values.shape),
        "root_mean_square": rms,
        "failed": [
            {"row": row, "kind": each.kind, "detail": each.detail}
            for row, each in failures.items()
        ],
        "seconds": seconds,
        "file": str(arguments.out),
    }
    if arguments.json:
        return json.dumps(told, indent=1)
    lost = f", {len(failures)} failed" if failures else ""
    return f"{len(solved)} cases in {arguments.out}{lost} ({seconds:.1f} s)"
