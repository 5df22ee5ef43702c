"""Charts and tables of a campaign's page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mflno.campaign import History, Run
from mflno.multifidelity import Learnt, Surrogate
from mflno.report.blocks import (
    COLOURS,
    Block,
    axis,
    chart,
    code,
    duration,
    fold,
    pair,
    pairs,
    percent,
    series,
    shown,
    table,
    text,
    told_case,
)
from mflno.report.evidence import Evidence


def progress_charts(
    history: History, surrogates: Sequence[Surrogate | None], found: Evidence
) -> Block:
    """Error and calibration as rounds went by."""
    return pair(error_chart(history, surrogates), calibration_chart(found))


def error_chart(history: History, surrogates: Sequence[Surrogate | None]) -> Block:
    """Left-out and expected error against the number of runs."""
    level = {run.name: run.level for run in history.runs}
    tops = [
        sum(level.get(name) == history.state.top for name in fit.runs) for fit in history.fits
    ]
    left = [np.asarray(fit.left_out.get("error", []), dtype=float) for fit in history.fits]
    mean = [each.mean() if len(each) else np.nan for each in left]
    worst = [each.max() if len(each) else np.nan for each in left]
    expected = [
        each.expected_error if each is not None and each.left_out is not None else None
        for each in surrogates
    ]
    lines = [
        series("left out, mean", tops, mean, mark="dot"),
        series("left out, worst", tops, worst, mark="square", colour="c2", dash="5 4"),
    ]
    if any(expected):
        column = lambda name: [getattr(each, name) if each else np.nan for each in expected]
        looks = {"mark": "diamond", "colour": "c3", "dash": "2 4"}
        ends = {"lower": column("low"), "upper": column("high")}
        name = "expected, with the 90 % interval of the mean"
        lines.append(series(name, tops, column("mean"), **looks, **ends))
    returned = [
        (count, each["error"])
        for count, fit in zip(tops, history.fits, strict=True)
        for each in fit.returned
    ]
    if returned:
        # A run that came back was predicted by the fit before.
        before = dict(zip(tops[1:], tops[:-1], strict=True))
        x = [before.get(count, count) for count, _ in returned]
        y = [error for _, error in returned]
        lines.append(series("next runs, when they came back", x, y, mark="up", join=False,
                            colour="c4"))  # fmt: skip
    return chart(
        "Error as runs came in",
        axis("expensive runs", ticks=sorted(set(tops)), pad=0.4),
        axis("relative L² error", log=True, percent=True),
        lines,
        about=f"The last fit has learned from {tops[-1]} expensive runs.",
    )


def calibration_chart(found: Evidence) -> Block:
    """Errors found against errors predicted; honest bands scatter about the diagonal."""
    rows = np.concatenate([found.left_out, found.returned])
    rows = rows[(rows > 0).all(1)]
    ends = np.array([rows.min(), rows.max()]) if len(rows) else np.array([0.01, 0.1])
    lines = [series("error = σ", ends, ends, colour="c7", dash="5 4")]
    if len(found.left_out):
        left = found.left_out.T
        lines.append(series("left out of the last fit", *left, mark="dot", join=False))
    if len(found.returned):
        back = found.returned.T
        lines.append(series("predicted, then run", *back, mark="up", join=False, colour="c4"))
    return chart(
        "Error found against error predicted",
        axis("predicted σ, relative", log=True, percent=True),
        axis("error found, relative", log=True, percent=True),
        lines,
        about="Points about the line: the bands are honest. Above it: they are too narrow.",
    )


def rounds_table(history: History) -> Block:
    """What each round chose and why."""
    rows = []
    for each in history.rounds:
        fit = next((f for f in history.fits if set(each.picks) & set(f.runs)), None)
        rows.append([
            str(each.number), str(len(each.picks)), each.choice,
            {"text": each.sentence, "class": "wrap"},
            fit.method if fit else "–", duration(fit.seconds) if fit else "–",
            {"text": fit.verdict if fit else "–", "class": "wrap"},
        ])  # fmt: skip
    columns = ["round", "runs", "rule", {"text": "why", "class": "left"}, "fitted", "in",
               {"text": "what it is worth then", "class": "left"}]  # fmt: skip
    return table("Rounds", columns, rows)


def runs_items(history: History) -> list[Block]:
    """All runs, and every attempt that failed."""
    errors = {each["run"]: each for fit in history.fits for each in fit.returned}
    names = [p.name + (f" ({p.unit})" if p.unit else "") for p in history.parameters]
    levels = [each["name"] for each in history.about["levels"]]
    columns = [
        "run",
        *names,
        "level",
        "round",
        "state",
        "seconds",
        "σ predicted",
        "error found",
    ]
    rows = [
        run_row(history, index, run, levels[run.level], errors.get(run.name, {}))
        for index, run in enumerate(history.runs)
    ]
    items = [table("Runs", columns, rows)]
    if history.failures:
        items.append(text("Attempts that failed:"))
        items.append(failures_table(history))
    return items


def run_row(
    history: History, index: int, run: Run, level: str, found: Mapping[str, Any]
) -> list[Any]:
    """One run."""
    shows = run.state == "done" and run.level == history.state.top and bool(history.surrogate)
    return [
        {"text": run.name, **({"show": index} if shows else {})},
        *[shown(x, 5) for x in run.case], level,
        "told" if run.round < 0 else str(run.round),
        {"text": run.state, "badge": run.state if run.state != "working" else "running"},
        shown(run.seconds), percent(found.get("spread")), percent(found.get("error")),
    ]  # fmt: skip


def failures_table(history: History) -> Block:
    """Every failed attempt, in the solver's words."""
    names = [p.name for p in history.parameters]
    cases = {run.name: told_case(names, run.case) for run in history.runs}
    then = {True: "tried again", False: "given up"}
    rows = []
    for each in history.failures:
        detail = {"text": str(each["detail"])[:300], "class": "wrap"}
        head = [each["run"], cases[each["run"]], str(each["attempt"]), each["kind"]]
        rows.append([*head, detail, then[bool(each["again"])]])
    what = {"text": "what happened", "class": "left"}
    return table("Failed attempts", ["run", "case", "attempt", "kind", what, "then"], rows)


def use_items(history: History) -> list[Block]:
    """How to go on, and how to use the surrogate."""
    where, plan = str(history.path), history.plan
    centre = [0.5 * (p.low + p.high) for p in history.parameters]
    sets = " ".join(
        f"--set {p.name}={shown(x, 6)}" for p, x in zip(history.parameters, centre, strict=True)
    )
    problem = (
        plan.problem if isinstance(plan.problem, str) else str(Path(where) / "campaign.toml")
    )
    items = [
        code("Go on with more runs", f"mflno run {problem} --budget {plan.budget + plan.batch} "
             f"--batch {plan.batch} --out {where}"),
    ]  # fmt: skip
    if history.surrogate is None:
        return items
    script = (
        "import mflno\n\n"
        f'surrogate = mflno.load("{history.surrogate}")\n'
        f"prediction = surrogate.predict([{[round(x, 6) for x in centre]}])\n"
        "low, high = prediction.interval(0.95)"
    )
    ask = code("Ask the surrogate for one case", f"mflno predict {where} {sets} --out case.csv")
    return [*items, code("Load the surrogate in Python", script), ask]


def diagnostics_items(surrogate: Surrogate | None) -> list[Block]:
    """What a fit tells of itself, where it does: the methods tried, the draws of a network."""
    predictor = surrogate.predictor if surrogate else None
    found = []
    story = getattr(predictor, "story", None)
    if isinstance(story, Mapping):
        what = {"text": "why not", "class": "left"}
        rows = [story_row(name, told) for name, told in story.items()]
        columns = ["method", "error of runs left out", "weight", what]
        note = text(
            "Each method was tried on the runs, one left out at a time; weights say how."
        )
        found.append(fold("Methods tried", [note, table("Methods tried", columns, rows)]))
    for place, stage in enumerate(getattr(predictor, "stages", ())):
        found.append(network_fold(place + 1, stage))
    return found


def network_fold(number: int, stage: Learnt) -> Block:
    """The draws of one network, and what the sampler that made them says of its run."""
    loss, account = stage.loss, stage.account
    numbers = [len(loss), *(float(each) for each in (loss.min(), np.median(loss), loss.max()))]
    columns = ["draws", "lowest loss", "median", "highest"]
    items = [table("Draws", columns, [[shown(each, 4) for each in numbers]])]
    if account is None:
        return fold(f"Network {number}: its draws", items)
    lines = [
        series(f"chain {k}, τ = {shown(float(tau))}", account.step, account.energy[:, k],
               colour=COLOURS[k % len(COLOURS)])
        for k, tau in enumerate(account.temperature)
    ]  # fmt: skip
    x, y = axis("step"), axis("energy", log=True)
    about = "Chain 0 is the coldest."
    items.append(chart("Energy of each chain", x, y, lines, about=about))
    if len(account.realised):
        rows = [
            [f"{j} and {j + 1}", percent(float(account.tentative[j])), percent(float(done))]
            for j, done in enumerate(account.realised)
        ]
        columns = ["chains", "condition held", "swapped"]
        items.append(table("Swaps, share of steps", columns, rows))
        trips = ", ".join(str(each) for each in account.trips)
        items.append(text(f"Round trips cold, hot, cold of each replica: {trips}."))
    items += [text(f"{each[0].upper()}{each[1:]}.") for each in account.findings]
    return fold(f"Network {number}: its draws and its sampler", items)


def story_row(name: str, told: Mapping[str, Any]) -> list[Any]:
    """One method that was tried."""
    if "refused" in told:
        return [name, "–", "–", {"text": str(told["refused"]), "class": "wrap"}]
    return [
        name,
        percent(told["error"]),
        percent(told["weight"]),
        {"text": "", "class": "wrap"},
    ]


def plan_item(history: History) -> Block:
    """The plan as its file says it."""
    file = history.path / "campaign.toml"
    words = file.read_text(encoding="utf-8") if file.exists() else str(history.plan.as_dict())
    return fold("What was asked: the plan", [code("campaign.toml", words)])


def versions_item(history: History, lost: Sequence[str]) -> Block:
    """Versions, and what could not be read."""
    about = history.about
    rows = [
        ["problem", f"{about['name']}, version {about['version']}"],
        *pairs(history.versions),
    ]
    rows += [["directory", str(history.path.absolute())], ["events", str(len(history.events))]]
    items = [table("Versions", ["what", "which"], rows)]
    return fold("Versions and places", [*items, *[text(each) for each in lost]])
