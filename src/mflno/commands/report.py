"""`mflno report DIR`: one self-contained HTML page of a campaign or a study."""

import argparse
import json
from pathlib import Path

from mflno.errors import ArgumentError


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("folder", metavar="DIR", help="of a campaign or a study")
    parser.add_argument("--out", metavar="FILE.html", help="by default DIR/report.html")
    parser.add_argument(
        "--nodes", type=int, default=2200, metavar="N",
        help="predictions the page's own copy of the surrogate is made from, at most",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the page and the figures, and say where they are."""
    if arguments.nodes < 125:
        raise ArgumentError("--nodes", "must be 125 or more", arguments.nodes, "try 2200")
    from mflno.report import write_report

    page = Path(arguments.out) if arguments.out else None
    written = write_report(arguments.folder, page=page, most=arguments.nodes)
    size = written.page.stat().st_size
    if arguments.json:
        figures = [str(each) for each in written.figures]
        told = {"page": str(written.page), "bytes": size, "figures": figures,
                "missing": written.missing}  # fmt: skip
        print(json.dumps(told, indent=1))
        return 0
    print(f"{written.page} ({size / 1e6:.2f} MB, self-contained)")
    if written.figures:
        print(f"{len(written.figures)} figures in {written.figures[0].parent}")
    if written.missing:
        print(f"no figure files: {written.missing}")
    return 0
