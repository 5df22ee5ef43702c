"""`mflno status`: how a campaign stands; takes no lock."""

import argparse
import json
from typing import Any

from mflno.campaign import History, Run, read_campaign


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments of the command."""
    parser.add_argument("dir", metavar="DIR", help="the campaign's directory")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    print(shown(read_campaign(arguments.dir), as_json=arguments.json))
    return 0


def shown(history: History, *, as_json: bool) -> str:
    """A campaign as text or as JSON."""
    told = described(history)
    return json.dumps(told, indent=1) if as_json else text_of(told)


def described(history: History) -> dict[str, Any]:
    """What JSON says of a campaign."""
    names = [parameter.name for parameter in history.parameters]
    state, last = history.state, history.fits[-1] if history.fits else None
    return {
        "path": str(history.path),
        "problem": history.about["name"],
        "parameters": [[p.name, p.low, p.high, p.unit] for p in history.parameters],
        "state": word_of(history),
        "reason": state.stopped,
        "budget": history.plan.budget,
        "levels": history.plan.levels,
        "spent": state.paid if history.plan.buys else state.spent,
        "done": state.known,
        "done_by_level": [state.known_at(level) for level in range(state.top + 1)],
        "failed": len(state.named("failed")),
        "method": last.method if last else None,
        "expected_error": dict(last.error) if last else None,
        "verdict": last.verdict if last else "",
        "surrogate": str(history.surrogate) if history.surrogate else None,
        "runs": [run_row(run, names) for run in history.runs],
        "rounds": [
            {"round": each.number, "runs": list(each.picks), "choice": each.choice,
             "sentence": each.sentence, "trusted": each.trusted, "seconds": each.seconds}
            for each in history.rounds
        ],
        "fits": [
            {"fit": each.number, "runs": len(each.runs), "seconds": each.seconds,
             "error": dict(each.error), "verdict": each.verdict}
            for each in history.fits
        ],
        "failures": [
            {name: each[name] for name in ("run", "attempt", "kind", "detail", "again")}
            for each in history.failures
        ],
        "plan": history.plan.as_dict(),
        "versions": dict(history.versions),
    }  # fmt: skip


def word_of(history: History) -> str:
    """The state of a campaign in one word."""
    if history.at_work:
        return "running"
    if history.state.named("asked"):
        return "waiting"
    return "finished" if history.state.stopped else "interrupted"


def run_row(run: Run, names: list[str]) -> dict[str, Any]:
    """One run."""
    return {
        "run": run.name,
        "case": dict(zip(names, run.case, strict=True)),
        "level": run.level,
        "round": run.round,
        "state": run.state,
        "seconds": run.seconds if run.seconds else None,
        "attempts": run.attempt + 1,
        "kind": run.kind,
        "detail": run.detail,
    }


def text_of(told: dict[str, Any]) -> str:
    """A campaign as a few lines and a table of its runs."""
    head = f"{told['problem']} in {told['path']}: {told['state']}"
    lines = [f"{head} ({told['reason']})" if told["reason"] else head]
    count = told["done"]
    if told["levels"] == "buy":
        count = " + ".join(map(str, told["done_by_level"]))
    lines.append(
        f"{count} runs done, {told['failed']} failed, "
        f"{told['spent']:.6g} of {told['budget']:g} spent"
    )
    error = told["expected_error"]
    if error:
        lines.append(
            f"{told['method']}: relative error expected: mean {error['mean']:.3g} "
            f"({error['low']:.2g} to {error['high']:.2g}), 95 % below {error['most']:.3g}"
        )
    names = [name for name, *_ in told["parameters"]]
    lines.append("  ".join(["run ", *(f"{name:>10}" for name in names), "level  state    s"]))
    for run in told["runs"]:
        cells = [f"{run['case'][name]:>10.5g}" for name in names]
        seconds = f"{run['seconds']:.3g}" if run["seconds"] else "-"
        row = "  ".join(
            [run["run"], *cells, f"{run['level']:>5}", f"{run['state']:<7}", seconds]
        )
        lines.append(f"{row}  {run['kind']}: {run['detail']}" if run["kind"] else row)
    return "\n".join(lines)
