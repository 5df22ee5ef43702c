"""List the built-in problems."""

import argparse
import json
from typing import Any

from mflno.errors import MissingExtra
from mflno.problems import PROBLEMS, Problem


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def run(arguments: argparse.Namespace) -> int:
    """Print every problem with its parameters, levels and costs."""
    found = [described(name) for name in PROBLEMS]
    print(json.dumps(found, indent=1) if arguments.json else "\n\n".join(map(paragraph, found)))
    return 0


def described(name: str) -> dict[str, Any]:
    """What JSON says of a problem; `missing` in place of the rest when an extra is missing."""
    try:
        problem = PROBLEMS[name]()
    except MissingExtra as error:
        return {"name": name, "missing": str(error)}
    return {
        "name": name,
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
    return "\n".join(lines)
