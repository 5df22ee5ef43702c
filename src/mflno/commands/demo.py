"""`mflno demo`: a whole campaign on a problem whose truth is cheap, and its report."""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from mflno.errors import ArgumentError


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("--out", default="demo-out", metavar="DIR", help="its directory")
    parser.add_argument("--problem", default="lorenz", help="a built-in one (default lorenz)")
    parser.add_argument("--budget", type=int, default=9, help="expensive runs (default 9)")
    parser.add_argument("--method", default="auto", help="what to fit (default auto)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default 0)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Spend the budget, then hold the surrogate against cases it has never seen."""
    if arguments.budget < 3:
        raise ArgumentError("--budget", "must be 3 or more", arguments.budget, "try 9")
    from mflno.campaign import Campaign, Plan
    from mflno.report import write_report

    begin = time.perf_counter()
    plan = Plan(
        arguments.problem, budget=arguments.budget, method=arguments.method,
        seed=arguments.seed, pool="study", lower="study",
    )  # fmt: skip
    campaign = Campaign(arguments.out, plan=plan)
    campaign.run()
    seconds = time.perf_counter() - begin
    told = judged(campaign) | {"seconds": seconds}
    written = write_report(arguments.out)
    told |= {"page": str(written.page), "figures": [str(each) for each in written.figures]}
    print(json.dumps(told, indent=1) if arguments.json else summary(told))
    return 0


def judged(campaign: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the surrogate expected of itself, and what 100 other cases say."""
    from mflno.bayes import relative_error
    from mflno.problems import study_cases
    from mflno.sampling import sample

    problem, surrogate = campaign.problem, campaign.surrogate
    tests = sample(problem, study_cases(problem).tests, len(problem.levels) - 1)
    found = surrogate.predict(tests.cases)
    errors = relative_error(found.mean, tests.values)
    low, high = found.interval(0.95)
    expected = surrogate.expected_error
    return {
        "problem": problem.name,
        "method": surrogate.method,
        "runs": len(surrogate.cases),
        "expected_error": {"mean": expected.mean, "low": expected.low, "high": expected.high},
        "mean_error": float(errors.mean()),
        "worst_error": float(errors.max()),
        "held_by_95_band": float(np.mean((low <= tests.values) & (tests.values <= high))),
        "cases": len(tests),
    }


def summary(told: dict[str, Any]) -> str:
    """The result as a few lines."""
    expected = told["expected_error"]
    return (
        f"{told['problem']}, {told['runs']} expensive runs, {told['method']}, "
        f"{told['seconds']:.0f} s\n"
        f"relative error the surrogate expects: {expected['mean']:.2g} "
        f"({expected['low']:.2g} to {expected['high']:.2g})\n"
        f"found on {told['cases']} cases it has never seen: mean {told['mean_error']:.2g}, "
        f"worst {told['worst_error']:.2g}; its 95 % bands hold {told['held_by_95_band']:.1%}\n"
        f"open {Path(told['page'])}"
    )
