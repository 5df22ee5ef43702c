"""`mflno run`: the main job; the same line again resumes it."""

import argparse
import sys

from mflno.commands.planning import add_plan_options, campaign_of
from mflno.commands.status import shown


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    text = "a built-in name, plan.toml, a problem's .toml, or file.py:name"
    parser.add_argument("problem", nargs="?", help=text)
    parser.add_argument("--out", required=True, metavar="DIR", help="the campaign's directory")
    add_plan_options(parser)
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Begin or resume, go on to the end, tell how it stands."""
    campaign = campaign_of(arguments)
    try:
        campaign.run(show=not arguments.quiet)
    except KeyboardInterrupt:
        text = f"stopped; finished runs are kept in {arguments.out}; the same line resumes"
        print(f"mflno run: {text}", file=sys.stderr)
        return 1
    history = campaign.history
    print(shown(history, as_json=arguments.json))
    return 0 if history.fits or history.state.named("asked") else 1
