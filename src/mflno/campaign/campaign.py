"""A campaign in a directory: begin it, go on with it, ask it, tell it."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.campaign.books import Books
from mflno.campaign.history import JOURNAL, PLAN, RUNS, History, is_begun, read_campaign
from mflno.campaign.loop import Driver, Log
from mflno.campaign.naming import source_of
from mflno.campaign.plan import Plan, plan_text
from mflno.campaign.rebuilding import rebuilt
from mflno.campaign.rounds import last_surrogate
from mflno.campaign.runners import Elsewhere, Runner
from mflno.campaign.starting import check_plan, check_same, created_event, runner_of, versions
from mflno.campaign.state import asked
from mflno.campaign.task import MARK
from mflno.campaign.telling import Told, tell_failed, tell_runs
from mflno.data import Trajectories
from mflno.errors import ArgumentError, StoreError
from mflno.multifidelity import Surrogate
from mflno.problems import Problem, load_problem
from mflno.shapes import Float
from mflno.store import Journal, write_text_atomic


class Campaign:
    """Expensive runs, chosen well and never lost.

    Everything lies in one directory; a campaign that was killed goes on where it stood when
    `run` is called again.

    Args:
        path: The campaign's directory; made by the first `run`, `ask` or `tell`.
        problem: What to study: an object, or whatever names one. The plan's own when left out.
        plan: What to do; that of the directory when left out.

    Example:
        >>> import mflno, tempfile
        >>> plan = mflno.Plan("chain", budget=4, method="pod-gp", lower="grid:3")
        >>> campaign = mflno.Campaign(tempfile.mkdtemp(), plan=plan)
        >>> campaign.ask(2).shape
        (2, 2)
    """

    def __init__(
        self,
        path: Path | str,
        problem: Problem | str | Mapping[str, Any] | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.path = Path(path)
        made = problem if isinstance(problem, Problem) else None
        words = source_of(made) if made else problem
        self.plan = settled(self.path, replace(plan, problem=words) if plan and words else plan)
        if made is None:
            if not self.plan.problem:
                rule, remedy = "must be named or given", "pass the problem object again"
                raise ArgumentError("Campaign.problem", rule, "nothing", remedy)
            made = load_problem(self.plan.problem, self.plan.folder)
        self.problem: Problem = made

    @contextmanager
    def driver(self, runner: Runner, *, show: bool) -> Iterator[Driver]:
        """The one driver of this campaign, begun, resumed, and closed at the end."""
        if os.environ.get(MARK):
            rule = "a run's process must not begin the campaign again"
            remedy = "guard the script by if __name__ == '__main__':"
            raise ArgumentError("Campaign", rule, "a script without a main guard", remedy)
        if not self.begun:
            check_plan(self.problem, self.plan)
        self.path.mkdir(parents=True, exist_ok=True)
        log: Log = say if show else lambda line: None
        try:
            with Journal(self.path / JOURNAL) as journal:
                self._begin(journal, log)
                books = Books(self.path, self.problem, self.plan, show)
                yield Driver(books, journal, runner, log)
        finally:
            runner.close()

    def _begin(self, journal: Journal, log: Log) -> None:
        """Write the first event, or check that the problem and the plan are those of before."""
        first = next(journal.read(), None)
        if first is None:
            write_text_atomic(self.path / PLAN, plan_text(self.plan))
            for event in (created_event(self.problem, self.plan), *rebuilt(self.path / RUNS)):
                journal.append({**event, "time": time.time()})
            return
        remark = check_same(first["problem"], self.problem)
        before = read_campaign(self.path).plan
        if remark:
            log(remark)
        if remark or before != self.plan:
            told = {"plan": self.plan.as_dict(), "remark": remark, "versions": versions()}
            journal.append({"event": "replanned", **told, "time": time.time()})
            write_text_atomic(self.path / PLAN, plan_text(self.plan))

    def run(self, *, runner: Runner | None = None, show: bool = True) -> str:
        """Go on until nothing is left to do; returns why.

        Args:
            runner: Where runs are solved, in place of the plan's.
            show: Show what happens, on standard error.
        """
        chosen = runner or runner_of(self.plan, self.problem)
        with self.driver(chosen, show=show) as driver:
            return driver.go()

    def ask(self, count: int = 1, *, show: bool = False) -> Float[ndarray, "B P"]:
        """The next cases to solve elsewhere, in physical units; `tell` what came.

        Where levels are bought, `history.state.named("asked")` has case and level of each.
        """
        if count < 1:
            raise ArgumentError("ask.count", "must be 1 or more", count, "ask for one case")
        with self.driver(Elsewhere(), show=show) as driver:
            driver.recover()
            state = driver.state
            if asked(state, self.plan, count) is None:
                rule, came = "runs must be left", f"a budget of {self.plan.budget:g}, all spent"
                remedy = f"raise the budget, as --budget {self.plan.budget + count:g}"
                raise ArgumentError("ask", rule, came, remedy)
            ready = state.known >= self.plan.start and state.scarce(self.plan) is None
            if ready and state.fitted != state.done:
                driver.fit()
            action = asked(driver.state, self.plan, count)
            if action is None or not driver.choose(action):
                rule, remedy = "a candidate must be left", "use a finer pool"
                raise ArgumentError("ask", rule, "none", remedy)
            last = driver.state.rounds - 1
            runs = [run for run in driver.state.runs.values() if run.round == last]
        return np.array([run.case for run in runs])

    def tell(
        self,
        cases: Sequence[Sequence[float]] | Float[ndarray, "N P"],
        trajectories: Trajectories | Float[ndarray, "_ O T"],
        *,
        level: int = -1,
        show: bool = False,
    ) -> list[Told]:
        """Take runs that were solved elsewhere, asked for or not; what was known stays.

        Args:
            cases: One row a case, in physical units.
            trajectories: Output of each on the level's grid.
            level: Which level, the highest by default.
            show: Say what happened.
        """
        with self.driver(Elsewhere(), show=show) as driver:
            return tell_runs(driver, np.asarray(cases, float), trajectories, level)

    def give_up(self, run: str, reason: str) -> None:
        """Tell that a run asked for gave nothing; its case is never asked for again."""
        with self.driver(Elsewhere(), show=False) as driver:
            tell_failed(driver, run, reason)

    @property
    def begun(self) -> bool:
        """Whether the directory holds a campaign already."""
        return is_begun(self.path)

    @property
    def history(self) -> History:
        """Everything so far."""
        return read_campaign(self.path)

    @property
    def surrogate(self) -> Surrogate:
        """The last fit."""
        state = self.history.state
        found = last_surrogate(Books(self.path, self.problem, self.plan, False), state)
        if found is None:
            text = f"{self.path}: no fit yet: {state.known} runs are done"
            raise StoreError(text)
        return found


def settled(path: Path, plan: Plan | None) -> Plan:
    """The plan to follow: that of the directory, with what may change taken from ours."""
    if not is_begun(path):
        if plan is None:
            remedy = f"'mflno run ... --out {path}' begins one; in Python pass a plan"
            raise ArgumentError(str(path), "must hold a campaign", "none", remedy)
        return plan
    before = read_campaign(path).plan
    if plan is None:
        return before
    unlike = before.different(plan)
    if unlike:
        name = unlike[0]
        rule = f"{name} was {getattr(before, name)!r} when {path} began"
        remedy = "give the same, or begin in another directory"
        raise ArgumentError(f"Plan.{name}", rule, repr(getattr(plan, name)), remedy)
    return plan


def say(line: str) -> None:
    """Put a line on standard error."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
