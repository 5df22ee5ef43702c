"""Describe problems, the built-in ones or one's own, and check that they keep the contract."""

import argparse
import json
from typing import Any

from mflno.commands.sample import chatter_aside
from mflno.errors import MflnoError, MissingExtra
from mflno.problems import PROBLEMS, Problem, load_problem


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "problem",
        nargs="*",
        help="built-in names, plan.toml or file.py:name (default: built-in)",
    )
    parser.add_argument(
        "--check", action="store_true", help="solve a few cases of each level and judge them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Print each problem with its parameters, levels and costs."""
    found = [described(name) for name in arguments.problem or PROBLEMS]
    if arguments.check:
        found = [{**each, "fault": fault_of(each["named"])} for each in found]
    print(json.dumps(found, indent=1) if arguments.json else "\n\n".join(map(paragraph, found)))
    return 1 if any(each.get("fault") for each in found) else 0


def fault_of(name: str) -> str | None:
    """What is wrong with a problem, seen in a few solutions; nothing where it is sound."""
    from mflno.testing import check_problem

    try:
        with chatter_aside():
            check_problem(load_problem(name))
    except (AssertionError, MflnoError) as error:
        return str(error)
    return None


def described(name: str) -> dict[str, Any]:
    """What JSON says of a problem; `missing` in place of the rest when an extra is missing."""
    try:
        problem = load_problem(name)
    except MissingExtra as error:
        return {"name": name, "named": name, "missing": str(error)}
    return {
        "name": problem.name,
        "named": name,
        "version": problem.version,
        "about": (type(problem).__doc__ or "").strip().partition("\n")[0],
        "parameters": [
            {"name": each.name, "low": each.low, "high": each.high, "unit": each.unit}
            for each in problem.parameters
        ],
        "outputs": list(problem.outputs),
        "levels": levels_of(problem),
    }


def levels_of(problem: Problem) -> list[dict[str, Any]]:
    """What JSON says of a problem's levels."""
    return [
        {
            "level": number,
            "name": each.name,
            "points": each.points,
            "end": float(each.grid[-1]),
            "cost": each.cost,
        }
        for number, each in enumerate(problem.levels)
    ]


def paragraph(found: dict[str, Any]) -> str:
    """One problem as text."""
    if "missing" in found:
        return f"{found['name']}: {found['missing']}"
    lines = [f"{found['name']}: {found['about']}"]
    lines += [
        f"  {each['name']} in [{each['low']:g}, {each['high']:g}] {each['unit']}".rstrip()
        for each in found["parameters"]
    ]
    lines += [f"  gives {', '.join(found['outputs'])}"]
    lines += [
        f"  level {each['level']}: {each['name']}, {each['points']} times to {each['end']:g}, "
        f"cost {each['cost']:.3g}"
        for each in found["levels"]
    ]
    if "fault" in found:
        lines += [f"  FAULT: {found['fault']}" if found["fault"] else "  keeps the contract"]
    return "\n".join(lines)
