"""The page of a campaign: what was asked, what it cost, what it found, whether to trust it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import unscaled
from mflno.campaign import FitRecord, History, Plan, Run
from mflno.errors import MflnoError
from mflno.multifidelity import Surrogate, load
from mflno.problems import Problem, load_problem
from mflno.report import campaign_tables as tables
from mflno.report.blocks import (
    Block,
    Contents,
    Fact,
    Verdict,
    duration,
    percent,
    section,
    shown,
)
from mflno.report.evidence import Evidence, evidence_of
from mflno.report.export import Predict
from mflno.report.packing import Axes, Marked, Stage, explorer
from mflno.shapes import Float


@dataclass(frozen=True)
class Study:
    """A campaign's history with its surrogates read.

    Attributes:
        history: What happened.
        surrogates: One for each fit; None where it cannot be read.
        evidence: What is known of the bands.
        lost: Why surrogates could not be read.
    """

    history: History
    surrogates: tuple[Surrogate | None, ...]
    evidence: Evidence
    lost: tuple[str, ...] = field(default=())

    @property
    def last(self) -> Surrogate | None:
        """The surrogate to be used."""
        return next((each for each in self.surrogates[::-1] if each), None)


def studied(history: History) -> Study:
    """The campaign with all its surrogates."""
    problem = problem_of(history)
    lost: list[str] = []
    found = tuple(surrogate_of(fit, problem, lost) for fit in history.fits)
    return Study(history, found, evidence_of(history.fits), tuple(lost))


def problem_of(history: History) -> Problem | None:
    """The problem, where its file is still there."""
    try:
        return load_problem(history.plan.problem, history.plan.folder)
    except (MflnoError, OSError, ImportError):
        return None


def surrogate_of(fit: FitRecord, problem: Problem | None, lost: list[str]) -> Surrogate | None:
    """The surrogate of one fit."""
    if fit.surrogate is None:
        return None
    try:
        return load(fit.surrogate, problem)
    except MflnoError as error:
        lost.append(f"Fit {fit.number}: {error}")
        return None


def campaign_contents(study: Study, *, most: int = 2200) -> Contents:
    """The page of a campaign.

    Args:
        study: The campaign with its surrogates.
        most: Predictions to make the page's own copy of the surrogate from, at most.
    """
    history = study.history
    name = history.about["name"]
    done = sum(run.state == "done" for run in top_runs(history))
    versions = ", ".join(f"{key} {value}" for key, value in history.versions.items())
    return Contents(
        title=f"{name}, learned from {done} expensive run{'' if done == 1 else 's'}",
        eyebrow=f"Campaign · {history.path.absolute().name}",
        lede=lede(study),
        footer=f"Begun with {versions}. This page loads nothing: all it shows is in it.",
        verdict=verdict(study),
        facts=facts(study),
        explore=explore(study, most),
        blocks=blocks(study),
    )


def top_runs(history: History) -> list[Run]:
    """The runs of the highest level."""
    return [run for run in history.runs if run.level == history.state.top]


def lede(study: Study) -> str:
    """What this is, in two sentences."""
    about, plan = study.history.about, study.history.plan
    names = " and ".join(each.name for each in study.history.parameters)
    levels = about["levels"]
    cheap = ", ".join(f"“{each['name']}”" for each in levels[:-1])
    return (
        f"A surrogate of “{levels[-1]['name']}” over {names}, learned from it and from "
        f"the cheaper {cheap}. {asked_for(plan)}"
    )


def asked_for(plan: Plan) -> str:
    """What may be spent."""
    if plan.buys:
        return f"Runs of every level were paid for, {plan.budget:g} in all."
    return f"Asked for: {plan.budget} expensive runs, {plan.batch} a round."


def verdict(study: Study) -> Verdict:
    """Whether to trust the bands: errors found against errors predicted."""
    if study.last is None:
        words = study.history.state.stopped or "The campaign has not come to its first fit."
        return Verdict("care", "There is no surrogate yet.", words)
    ratio, count = study.evidence.ratio, len(study.evidence)
    if count < 3 or not np.isfinite(ratio):
        words = "Too few runs were compared with what was predicted for them."
        return Verdict("care", "The bands are not tested yet.", words)
    words = (
        f"Errors found were {shown(ratio, 2)} times the predicted σ (root mean square of "
        f"{count} comparisons: runs left out of the last fit, and runs predicted before they "
        "came back). Honest bands give 1."
    )
    if ratio <= 1.5:
        head = "The bands hold." if ratio >= 0.5 else "The bands hold; they are wide."
        return Verdict("good", head, words)
    if ratio <= 3.0:
        return Verdict("care", "The bands have been somewhat narrow.", words)
    return Verdict("bad", "Do not trust the bands yet.", words)


def facts(study: Study) -> list[Fact]:
    """The figures that count."""
    history, last = study.history, study.last
    tops = top_runs(history)
    done = sum(run.state == "done" for run in tops)
    failed = sum(run.state == "failed" for run in tops)
    state = "at work" if history.at_work else history.state.stopped or "can be resumed"
    note = f"{failed} given up" if failed else state
    found = [runs_fact(history, done, note)]
    if last is not None and last.left_out is not None:
        error = last.expected_error
        below = f"95 % of cases below {percent(error.most)}"
        found.append(Fact("Expected error", percent(error.mean), below))
    if study.evidence.ratio > 0:
        count = f"{len(study.evidence)} comparisons"
        found.append(Fact("Error found / σ", shown(study.evidence.ratio, 2), count))
    solving = sum(run.seconds for run in history.runs)
    cost = f"cost {shown(history.state.spent)} expensive runs"
    if history.plan.buys:
        cost = f"cost {shown(history.state.paid)} of {history.plan.budget:g}"
    fitting = sum(fit.seconds for fit in history.fits)
    found += [
        Fact("Solver time", duration(solving), cost),
        Fact("Fitting time", duration(fitting), f"{len(history.fits)} fits"),
    ]
    return found


def runs_fact(history: History, done: int, note: str) -> Fact:
    """How many runs are done."""
    if not history.plan.buys:
        return Fact("Expensive runs", f"{done} of {history.plan.budget}", note)
    counts = [history.state.known_at(level) for level in range(history.state.top + 1)]
    return Fact("Runs, level by level", " + ".join(map(str, counts)), note)


def predict_of(surrogate: Surrogate) -> Predict:
    """A surrogate as a function of cases in [-1, 1]."""
    axes = tuple(surrogate.problem.parameters)

    def predict(cases: Float[ndarray, "N P"]) -> tuple[ndarray, ndarray]:
        """Mean and standard deviation."""
        found = surrogate.predict(unscaled(cases, axes))
        return found.mean, found.std

    return predict


def explore(study: Study, most: int) -> Block | None:
    """The interactive part, where there is a surrogate."""
    last = study.last
    if last is None:
        return None
    return explorer(Axes.of(last), stages_of(study), marks(study.history), most=most)


def stages_of(study: Study) -> list[Stage]:
    """Each fit up to the last that can be asked, named by the round before it."""
    rounds = {run.name: run.round for run in study.history.runs}
    found = []
    for fit, surrogate in zip(study.history.fits, study.surrogates, strict=True):
        number = max([rounds[name] for name in fit.runs if name in rounds], default=0)
        found.append(Stage(number, predict_of(surrogate) if surrogate else None))
    while found and found[-1].predict is None:
        found.pop()
    return found


def marks(history: History) -> list[Marked]:
    """The runs as the plane shows them."""
    low = np.array([p.low for p in history.parameters])
    high = np.array([p.high for p in history.parameters])
    found = []
    for run in history.runs:
        values = history.output(run)["values"] if run.state == "done" else None
        top = run.level == history.state.top
        place = np.clip(2.0 * (np.array(run.case) - low) / (high - low) - 1.0, -1.0, 1.0)
        shown_values = values if top else None
        text = words_of(run)
        found.append(Marked(run.name, place, run.round, run.state, text, shown_values, top))
    return found


def words_of(run: Run) -> str:
    """A tooltip."""
    when = "told from elsewhere" if run.round < 0 else f"round {run.round}"
    return f"{when}, {run.state}{f' ({run.kind})' if run.kind else ''}"


def blocks(study: Study) -> list[Block]:
    """The sections below the explorer."""
    history = study.history
    found: list[Block] = []
    if history.fits:
        note = (
            "Leave-one-out: each run predicted by a fit that has not seen it, which is harder "
            "than predicting a new case. Expected: what the bands say of the box."
        )
        items = [tables.progress_charts(history, study.surrogates, study.evidence)]
        found.append(section("How it got here", [*items, tables.rounds_table(history)], note))
    found.append(section("Runs", tables.runs_items(history)))
    more: list[Any] = tables.use_items(history)
    more += tables.diagnostics_items(study.last)
    more.append(tables.plan_item(history))
    more.append(tables.versions_item(history, study.lost))
    found.append(section("Use it, check it, go on", more))
    return found
