"""Where a run is solved: one small protocol, and the runner that needs nothing installed."""

import os
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from pathlib import Path
from typing import Protocol, runtime_checkable

from mflno.campaign.task import Job, begun, perform, settle, solve_in
from mflno.errors import MflnoError, StoreError
from mflno.problems import Problem
from mflno.processes import Running, first_ended, start
from mflno.store import find_run, start_run


@runtime_checkable
class Runner(Protocol):
    """Takes runs and says which have come back; what they gave lies in their folders.

    A run that was submitted twice, by this driver or another, is solved once.

    Attributes:
        slots: Runs it takes at once; 0 when runs are solved elsewhere.
    """

    slots: int

    def submit(self, job: Job) -> None:
        """Start a run and return at once."""
        ...

    def ended(self, timeout: float) -> list[Job]:
        """Runs that came back, as soon as there is one; none when the time is over."""
        ...

    def close(self) -> None:
        """Give everything back; runs that would outlive the campaign are ended."""
        ...


class Local:
    """One guarded process a run, so many at once, each with a time limit and a log.

    Args:
        slots: Runs at once.
    """

    def __init__(self, slots: int = 1) -> None:
        self.slots = slots
        self.work: dict[Running, tuple[Job, Path]] = {}
        self.ready: list[Job] = []

    def submit(self, job: Job) -> None:
        """Start the process."""
        if find_run(job.runs, job.name):
            self.ready.append(job)
            return
        folder, command = begun(job)
        self.work[start(command)] = job, folder

    def ended(self, timeout: float) -> list[Job]:
        """Runs whose process has ended, their folders sealed."""
        back, self.ready = self.ready, []
        for running in first_ended(list(self.work), 0.0 if back else timeout):
            job, folder = self.work.pop(running)
            settle(job, folder, running.ended or running.cancel())
            back.append(job)
        return back

    def close(self) -> None:
        """End all processes."""
        while self.work:
            running, _ = self.work.popitem()
            running.cancel()


class Elsewhere:
    """Takes no runs: somebody asks for cases, solves them, and tells what came."""

    slots = 0

    def submit(self, job: Job) -> None:
        """Refuse: nothing is submitted to no slots."""
        raise StoreError(f"run {job.name} is to be solved elsewhere")

    def ended(self, timeout: float) -> list[Job]:
        """Nothing comes back by itself."""
        del timeout
        return []

    def close(self) -> None:
        """Nothing to give back."""


class Inline:
    """Solves in this very process, one run after the other: no time limit, no guard.

    For a quick problem that has no name a process could find it by.

    Args:
        problem: What to solve.
    """

    slots = 1

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.ready: list[Job] = []

    def submit(self, job: Job) -> None:
        """Solve it."""
        if not find_run(job.runs, job.name):
            solve_in(start_run(job.runs, job.name, job.spec), job.spec, self.problem)
        self.ready.append(job)

    def ended(self, timeout: float) -> list[Job]:
        """What was submitted."""
        del timeout
        back, self.ready = self.ready, []
        return back

    def close(self) -> None:
        """Nothing to give back."""


class Pool:
    """Any `concurrent.futures.Executor` whose workers see the campaign's directory.

    Args:
        executor: Made by the caller, and shut down by the caller.
        slots: Runs at once.

    Example:
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> Pool(ThreadPoolExecutor(2), slots=2).slots
        2
    """

    def __init__(self, executor: Executor, slots: int = 1) -> None:
        self.executor, self.slots = executor, slots
        self.work: dict[Future[str], Job] = {}

    def submit(self, job: Job) -> None:
        """Hand the run to the executor."""
        self.work[self.executor.submit(perform, job)] = job

    def ended(self, timeout: float) -> list[Job]:
        """Runs whose future is done."""
        done = wait(self.work, timeout=timeout, return_when=FIRST_COMPLETED).done
        jobs = []
        for future in done:
            job = self.work.pop(future)
            check(job, future)
            jobs.append(job)
        return jobs

    def close(self) -> None:
        """Take back what has not begun."""
        for future in self.work:
            future.cancel()
        self.work.clear()


def check(job: Job, future: "Future[str]") -> None:
    """Raise what the executor raised, unless the run is there all the same."""
    error = future.exception()
    if error is None or find_run(job.runs, job.name):
        return
    if isinstance(error, MflnoError):
        raise error
    text = f"run {job.name}: the executor failed: {type(error).__name__}: {error}"
    raise StoreError(f"{text}; the campaign can be resumed") from error


def default_slots(batch: int) -> int:
    """As many runs at once as a batch has, and the machine has processors."""
    return max(1, min(batch, os.cpu_count() or 1))
