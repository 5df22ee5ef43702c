"""The plan that a command line describes, alone or on top of a file or of an old campaign."""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from mflno.campaign import Campaign, Plan, amended, plan_of, read_campaign, read_plan
from mflno.campaign.history import is_begun
from mflno.campaign.plan import absolute
from mflno.commands.usage import whole_or_money
from mflno.errors import ArgumentError

NUMBERS = {"budget": whole_or_money, "batch": int, "jobs": int, "seed": int, "overlap": int,
           "retries": int, "draws": int, "goal": float, "time-limit": float}  # fmt: skip
WORDS = "method", "choice", "pool", "levels", "lower", "runner"
HELP = {
    "budget": "runs of the highest level in all (default 9); with --levels buy, what all cost",
    "batch": "runs a round (default 2)",
    "jobs": "runs at once (default: as many as a batch)",
    "seed": "of everything random (default 0)",
    "overlap": "runs that may still be at work when the next round is chosen (default 0)",
    "retries": "how often a run is tried again where that can help (default 1)",
    "draws": "draws of the posterior that the choice sees (default 64)",
    "goal": "stop when the relative error expected over the box is below this",
    "time-limit": "seconds a run may take",
    "method": "what to fit (default auto); docs/surrogates.md has the names",
    "choice": "rule for the next runs (default auto); docs/campaigns.md has the names",
    "pool": "candidates: study, grid:20, sobol:1024 or a .csv file",
    "levels": "given (default), or buy: pay for runs of every level, by gain per cost",
    "lower": "cases solved at each lower level, written like --pool",
    "runner": "where runs are solved: local (default), dask, ask",
}


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Options that become fields of a plan; what is not given stays as it is."""
    for name, kind in NUMBERS.items():
        parser.add_argument(f"--{name}", type=kind, metavar="N", help=HELP[name])
    for name in WORDS:
        parser.add_argument(f"--{name}", metavar="WORD", help=HELP[name])
    text = "first runs: planned, maximin, sobol or random, and how many, as random:3"
    parser.add_argument("--start", metavar="DESIGN", help=text)


def campaign_of(arguments: argparse.Namespace) -> Campaign:
    """The campaign of a command line, begun or resumed."""
    out = Path(arguments.out)
    return Campaign(out, plan=plan_from(arguments, out))


def plan_from(arguments: argparse.Namespace, out: Path) -> Plan:
    """The plan: of the file or problem named, or of the old campaign, with what was given."""
    begun = is_begun(out)
    source = arguments.problem
    if source is None and not begun:
        rule, remedy = "a problem or a plan must be named", "'mflno problems' lists some"
        raise ArgumentError("PROBLEM", rule, "nothing", remedy)
    given = fields_of(arguments)
    if source is not None and source.endswith(".toml") and not is_problem(Path(source)):
        return amended(read_plan(source), given)
    if source is not None:
        given["problem"] = absolute(source, Path.cwd())
    if begun:
        return amended(read_campaign(out).plan, given)
    return plan_of({name: new for name, new in given.items() if new is not None}, Path.cwd())


def is_problem(path: Path) -> bool:
    """Whether a TOML file describes a problem rather than a plan."""
    try:
        return "parameters" in tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def fields_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given, as fields of a plan."""
    names = [*NUMBERS, *WORDS]
    found = {
        name.replace("-", "_"): getattr(arguments, name.replace("-", "_")) for name in names
    }
    found["start"], found["design"] = start_of(arguments.start)
    return found


def start_of(text: str | None) -> tuple[int | None, str | None]:
    """Count and design of `random:3`, `random` or `3`.

    Example:
        >>> start_of("random:5")
        (5, 'random')
    """
    if text is None:
        return None, None
    if text.isdecimal():
        return int(text), None
    design, colon, count = text.partition(":")
    if colon and not count.isdecimal():
        remedy = "as random, random:3 or 3"
        raise ArgumentError("--start", "a design and a count", repr(text), remedy)
    return (int(count) if colon else None), design
