"""The one loop with all the effects: ask what to do, do it, write down what happened."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mflno.campaign.books import Books
from mflno.campaign.history import LOCKS, RUNS
from mflno.campaign.plan import Plan
from mflno.campaign.rounds import choose_event, fit_event, last_surrogate, words_of
from mflno.campaign.runners import Runner
from mflno.campaign.state import (
    Choose,
    Event,
    Fit,
    Run,
    State,
    Stop,
    Submit,
    advance,
    next_action,
    state_of,
)
from mflno.campaign.task import Job, search_path
from mflno.errors import SolveFailed
from mflno.multifidelity import Surrogate
from mflno.store import Journal, RunRecord, find_run

Log = Callable[[str], None]
LOOK = 0.5
"""Seconds the loop sleeps at most while runs are at work."""


class Driver:
    """Does what `next_action` says until it says stop.

    Args:
        books: The campaign's files.
        journal: Open for writing; its lock makes this the one driver.
        runner: Where runs are solved.
        log: Takes a line whenever something happened.
    """

    def __init__(self, books: Books, journal: Journal, runner: Runner, log: Log) -> None:
        self.books, self.journal, self.runner, self.log = books, journal, runner, log
        events = list(journal.read())
        self.state = state_of(events)
        self.returned = [each for event in events for each in event.get("returned", ())]
        self.surrogate: Surrogate | None = None

    def record(self, event: str, **words: Any) -> None:  # noqa: ANN401
        """Write an event down; from here on it has happened."""
        told: Event = {"event": event, **words, "time": time.time()}
        self.journal.append(told)
        self.state = advance(self.state, told)

    def go(self) -> str:
        """Act until nothing is left to do, and say why."""
        self.recover()
        while True:
            action = next_action(self.state, self.books.plan, self.runner.slots)
            if isinstance(action, Stop):
                return self.stop(action.reason)
            if isinstance(action, Submit):
                self.submit(action.run)
            elif isinstance(action, Fit):
                self.fit()
            elif isinstance(action, Choose):
                if not self.choose(action):
                    return self.stop(nothing_left(self.books.plan))
            else:
                self.take(self.runner.ended(LOOK))

    def stop(self, reason: str) -> str:
        """Write down that nothing is left to do, once."""
        if self.state.stopped != reason:
            self.record("stopped", reason=reason)
        return reason

    def recover(self) -> None:
        """Set right what a killed driver could not write down, and what was deleted."""
        for run in self.state.named("working", "done"):
            sealed = find_run(self.books.root / RUNS, run.folder)
            if run.state == "working" and sealed:
                self.came(run, sealed)
            elif not sealed:
                if run.state == "done":
                    self.log(f"run {run.name} is gone from the disk: it is asked for again")
                self.record("lost", run=run.name, elsewhere=self.runner.slots == 0)

    def submit(self, run: Run) -> None:
        """Send a run to the runner."""
        self.record("submitted", run=run.name, attempt=run.attempt)
        self.runner.submit(job_of(self.books, run))

    def take(self, jobs: Sequence[Job]) -> None:
        """Write down what came back."""
        for job in jobs:
            run, sealed = self.state.runs[job.spec["run"]], find_run(job.runs, job.name)
            if sealed:
                self.came(run, sealed)
            else:
                self.record("lost", run=run.name)

    def came(self, run: Run, sealed: RunRecord) -> None:
        """Write down one run that came back, with its output or without."""
        Path(self.books.root, LOCKS, f"{run.folder}.lock").unlink(missing_ok=True)
        words = {"run": run.name, "seconds": sealed.seconds, "cost": sealed.cost}
        if sealed.succeeded:
            self.record("returned", **words)
            ahead = outlook(self.state, self.books.plan, self.runner.slots)
            self.log(f"run {run.name} came back in {sealed.seconds:.3g} s; {ahead}")
            return
        helps = SolveFailed(sealed.kind, sealed.detail).retryable
        again = helps and run.attempt < self.books.plan.retries
        told = {"kind": sealed.kind, "detail": sealed.detail, "retryable": helps}
        self.record("failed", **words, **told, attempt=run.attempt, again=again)
        after = "trying again" if again else "given up"
        self.log(f"run {run.name} failed ({sealed.kind}: {sealed.detail}): {after}")

    def fit(self) -> None:
        """Learn from all runs that are done."""
        number = self.state.fits
        count = len(self.state.done) if self.books.plan.buys else self.state.known
        self.log(f"fit {number}: learning from {count} runs")
        self.surrogate, told = fit_event(self.books, self.state, self.returned)
        self.record("fitted", **told)
        self.returned = [*self.returned, *told["returned"]]
        self.log(f"fit {number}: {told['seconds']:.1f} s; {told['verdict']}")

    def choose(self, action: Choose) -> bool:
        """Choose runs; whether there were any left."""
        if self.surrogate is None:
            self.surrogate = last_surrogate(self.books, self.state)
        told = choose_event(self.books, self.state, action, self.surrogate, self.returned)
        if not told["picks"]:
            return False
        number = self.state.rounds
        self.record("chosen", **told, elsewhere=self.runner.slots == 0)
        self.log(f"round {number}: {told['choice']} ({told['sentence']})")
        names = [parameter.name for parameter in self.books.problem.parameters]
        levels = [level.name for level in self.books.problem.levels]
        for pick in told["picks"]:
            where = f", {levels[pick['level']]}" if self.books.plan.buys else ""
            self.log(f"  run {pick['run']}: {words_of(names, pick['case'])}{where}")
        return True


def outlook(state: State, plan: Plan, slots: int) -> str:
    """How far a campaign is, and how long its solver will still be busy."""
    runs = [run for run in state.named("done") if run.round >= 0 and run.seconds]
    if plan.buys:
        done = sum(state.costs[run.level] for run in runs)
        left = max(plan.budget - done, 0.0)
        told = f"{done:.4g} of {plan.budget:g}"
    else:
        done, left = len(runs), max(plan.budget - state.known, 0)
        told = f"{state.known} of {plan.budget}"
    pace = sum(run.seconds for run in runs) / max(done, 1e-300)
    return f"{told}, about {pace * left / max(slots, 1):.3g} s to solve"


def nothing_left(plan: Plan) -> str:
    """Why no candidate could be chosen."""
    if plan.buys:
        return "no run that the rest of the budget pays for tells enough"
    return "every candidate was asked for: use a finer pool"


def job_of(books: Books, run: Run) -> Job:
    """A run as a runner takes it."""
    plan = books.plan
    spec = {
        "run": run.name, "attempt": run.attempt, "round": run.round,
        "case": list(run.case), "level": run.level,
        "cost": float(books.problem.levels[run.level].cost),
        "problem": plan.problem, "folder": plan.folder,
    }  # fmt: skip
    root = str(books.root.absolute())
    return Job(root, run.folder, spec, plan.time_limit, search_path())
