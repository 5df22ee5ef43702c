"""`mflno ask`: the next cases, for runs that are made elsewhere."""

import argparse
import csv
import io
import json
from pathlib import Path
from typing import Any

from mflno.campaign import History
from mflno.commands.planning import add_plan_options, campaign_of
from mflno.errors import ArgumentError
from mflno.store import write_text_atomic


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("out", metavar="DIR", help="the campaign's directory")
    parser.add_argument("-n", type=int, default=1, metavar="N", help="cases (default 1)")
    text = "to begin a campaign: a built-in name, plan.toml, or file.py:name"
    parser.add_argument("--problem", metavar="PROBLEM", help=text)
    parser.add_argument("--to", metavar="FILE.csv", help="also write the cases to a file")
    add_plan_options(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Choose, write the choice down, print it."""
    if arguments.to and not Path(arguments.to).parent.is_dir():
        # Before anything is asked for: what is asked for counts.
        place = Path(arguments.to).parent
        raise ArgumentError("--to", "its folder must exist", place, "make it first")
    campaign = campaign_of(arguments)
    campaign.ask(arguments.n, show=not arguments.quiet)
    asked = rows(campaign.history)
    if arguments.to:
        write_text_atomic(Path(arguments.to), as_csv(asked))
    print(json.dumps(asked, indent=1) if arguments.json else as_csv(asked), end="")
    if arguments.json:
        print()
    return 0


def rows(history: History) -> list[dict[str, Any]]:
    """Every run that is asked for and not told yet."""
    names = [parameter.name for parameter in history.parameters]
    levels = [level["name"] for level in history.about["levels"]]
    return [
        {
            "run": run.name,
            **({"level": levels[run.level]} if history.plan.buys else {}),
            **dict(zip(names, run.case, strict=True)),
        }
        for run in history.state.named("asked")
    ]


def as_csv(asked: list[dict[str, Any]]) -> str:
    """A table with all digits."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, fieldnames=list(asked[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(asked)
    return buffer.getvalue()
