"""`mflno tell`: runs that were made elsewhere, from a file."""

import argparse
import json

from mflno.campaign import Campaign, read_told
from mflno.commands.predict import case_of
from mflno.errors import ArgumentError


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("dir", metavar="DIR", help="the campaign's directory")
    parser.add_argument("file", nargs="?", metavar="FILE", help="FILE.csv, FILE.npz or FILE.nc")
    parser.add_argument("--run", metavar="NAME", help="the run a file without cases belongs to")
    text = "a parameter of the case that a file without cases belongs to; repeat it"
    parser.add_argument("--set", action="append", metavar="NAME=VALUE", help=text)
    text = "which level (default: that of --run, else the highest)"
    parser.add_argument("--level", type=int, metavar="N", help=text)
    parser.add_argument("--failed", metavar="WHY", help="--run gave nothing; do not ask again")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Read, check, take."""
    campaign = Campaign(arguments.dir)
    if arguments.failed is not None:
        if arguments.run is None or arguments.file is not None:
            rule, remedy = "--failed goes with --run alone", "tell DIR --run 0003 --failed WHY"
            raise ArgumentError("--failed", rule, arguments.failed, remedy)
        campaign.give_up(arguments.run, arguments.failed)
        told = [{"run": arguments.run, "state": "failed"}]
    else:
        if arguments.file is None:
            raise ArgumentError("FILE", "must be named", "nothing", "tell DIR FILE")
        case, level = named_case(arguments, campaign)
        found = read_told(arguments.file, campaign.problem, level, case=case)
        taken = campaign.tell(found.cases, found.values, level=level)
        told = [each._asdict() for each in taken]
    lines = [f"run {each['run']}: {each['state']}" for each in told]
    print(json.dumps(told, indent=1) if arguments.json else "\n".join(lines))
    return 0


def named_case(
    arguments: argparse.Namespace, campaign: Campaign
) -> tuple[list[float] | None, int]:
    """Case and level that --run, --set and --level name."""
    level = -1 if arguments.level is None else arguments.level
    if arguments.run is not None:
        runs = campaign.history.state.runs
        if arguments.run not in runs:
            rule, came = f"must be one of {', '.join(runs)}", arguments.run
            raise ArgumentError("--run", rule, came, "see 'mflno status'")
        run = runs[arguments.run]
        return list(run.case), run.level if arguments.level is None else level
    parameters = campaign.problem.parameters
    return (case_of(arguments.set, parameters) if arguments.set else None), level
