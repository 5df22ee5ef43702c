"""`mflno predict`: trajectories with bands, from a campaign or a surrogate's file."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mflno.campaign import Campaign, write_prediction
from mflno.campaign.pools import listed
from mflno.data import Parameter
from mflno.errors import ArgumentError
from mflno.multifidelity import Surrogate, load


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("dir", metavar="DIR", help="a campaign's directory, or FILE.mflno")
    parser.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a parameter; repeat for each"
    )
    parser.add_argument("--cases", metavar="FILE.csv", help="many cases, one row each")
    parser.add_argument("--level", type=float, default=0.95, help="of the band (default 0.95)")
    parser.add_argument("--out", metavar="FILE", help="FILE.csv, FILE.nc or FILE.png")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Predict, write, say how large and how sure."""
    surrogate = surrogate_at(Path(arguments.dir))
    problem = surrogate.problem
    if (arguments.set is None) == (arguments.cases is None):
        names = " ".join(f"--set {each.name}=..." for each in problem.parameters)
        rule, remedy = "one case or a file of cases", f"{names}, or --cases FILE.csv"
        raise ArgumentError("predict", rule, "both" if arguments.set else "neither", remedy)
    if arguments.cases:
        cases = listed(problem, Path(arguments.cases))
    else:
        cases = np.array([case_of(arguments.set, problem.parameters)])
    found = surrogate.predict(cases)
    if arguments.out:
        write_prediction(surrogate, found, Path(arguments.out), level=arguments.level)
    low, high = found.interval(arguments.level)
    size = np.sqrt(np.square(found.mean).mean((1, 2)))
    spread = np.sqrt(np.square(found.std).mean((1, 2)))
    told = [
        {
            "case": dict(zip([p.name for p in problem.parameters], case.tolist(), strict=True)),
            "root_mean_square": float(size[row]),
            "relative_spread": float(spread[row] / max(size[row], 1e-300)),
            "widest_band": float((high - low)[row].max()),
        }
        for row, case in enumerate(found.cases)
    ]
    if arguments.json:
        print(json.dumps({"cases": told, "file": arguments.out}, indent=1))
        return 0
    for each in told:
        words = ", ".join(f"{name} = {value:.6g}" for name, value in each["case"].items())
        print(
            f"{words}: rms {each['root_mean_square']:.4g}, σ/rms {each['relative_spread']:.2g}"
        )
    return 0


def surrogate_at(path: Path) -> Surrogate:
    """The surrogate of a campaign, or of a file."""
    return load(path) if path.is_file() else Campaign(path).surrogate


def case_of(words: Sequence[str] | None, parameters: Sequence[Parameter]) -> list[float]:
    """One case from `name=value` words.

    Example:
        >>> case_of(["b=2", "a=0.5"], [Parameter("a", 0.0, 1.0), Parameter("b", 0.0, 3.0)])
        [0.5, 2.0]
    """
    names = [each.name for each in parameters]
    found: dict[str, float] = {}
    for word in words or []:
        name, _, text = word.partition("=")
        try:
            found[name] = float(text)
        except ValueError as error:
            remedy = f"as --set {names[0]}=0.5"
            raise ArgumentError("--set", "name=number", repr(word), remedy) from error
    if sorted(found) != sorted(names):
        rule, came = f"each of {', '.join(names)} once", ", ".join(found) or "nothing"
        raise ArgumentError("--set", rule, came, "name all parameters and no others")
    return [found[name] for name in names]
