"""`mflno reproduce`: the paper's tables and figures, computed here, beside the paper's own."""

import argparse
import json
from pathlib import Path

from mflno.errors import ArgumentError

KINDS = ("tables", "figures")
WHAT = ("lorenz", "duffing", "beam", "ablations", "all")


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("what", choices=WHAT, help="which part of the paper")
    parser.add_argument("--seeds", type=int, help="how many (default 5; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="a small version of everything")
    parser.add_argument("--out", default="reproduced", metavar="DIR", help="where results go")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:1")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="KEY", help="contenders to compute"
    )
    parser.add_argument(
        "--no-figures", action="store_true", help="compute and tabulate, draw elsewhere"
    )
    parser.add_argument(
        "--no-compute", action="store_true", help="tabulate and draw what was computed before"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Compute what is missing, then write tables, then figures."""
    for name in ("seeds", "jobs"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise ArgumentError(f"--{name}", "must be 1 or more", value, "pass a count")
    from mflno.multifidelity import checked_device
    from mflno.study.contenders import contenders
    from mflno.study.reproduce import Scope, compute
    from mflno.study.results import write_results

    known = [each.key for each in contenders()]
    wrong = [key for key in arguments.only if key not in known]
    if wrong:
        raise ArgumentError(
            "--only", f"must be among {', '.join(known)}", wrong[0], "correct it"
        )
    scope = Scope(
        out=Path(arguments.out),
        seeds=arguments.seeds or (1 if arguments.quick else 5),
        quick=arguments.quick,
        device=checked_device(arguments.device),
        only=tuple(arguments.only),
    )
    if not arguments.no_compute:
        compute(arguments.what, scope, jobs=arguments.jobs)
    written = write_results(arguments.what, scope, figures=not arguments.no_figures)
    if arguments.json:
        told: dict[str, object] = {
            name: [str(each) for each in getattr(written, name)] for name in KINDS
        }
        told["missing"] = written.missing
        print(json.dumps(told, indent=1))
        return 0
    print(f"{len(written.tables)} tables and {len(written.figures)} figures in {scope.out}")
    if written.missing:
        print(f"not drawn: {written.missing}")
    return 0
