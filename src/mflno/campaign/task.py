"""One run, solved in a process of its own that seals the run's folder itself.

The process holds a lock in the run's name, so that two drivers, or a scheduler that starts a
task again, never solve the same run side by side: the second waits, finds the folder sealed,
and goes. Nothing here needs torch.
"""

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.errors import MflnoError, SolveFailed, StoreError
from mflno.problems import Problem, checked_case, checked_values, load_problem
from mflno.processes import Command, Ended, failure_of, start
from mflno.store import (
    Lock,
    fail_run,
    find_run,
    finish_run,
    incomplete_runs,
    start_run,
    write_text_atomic,
)

SPEC, LOG, REFUSAL = "spec.json", "log.txt", "refusal.json"
REFUSED = 78
"""Exit status of a run that was not solved for a reason that would meet every run."""
MARK = "MFLNO_TASK"
"""Set in a run's process: a script without a main guard would begin its campaign anew."""
BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from mflno.campaign.task import main; main(sys.argv[1])"
)


@dataclass(frozen=True)
class Job:
    """One attempt at a run, in a form that can travel.

    Attributes:
        root: The campaign's directory.
        name: The attempt's folder below `runs/`.
        spec: What is asked: `problem`, `folder`, `case`, `level`, `cost` and more.
        limit: Seconds it may take.
        path: Where the process looks for modules.
    """

    root: str
    name: str
    spec: Mapping[str, Any] = field(hash=False)
    limit: float | None = None
    path: tuple[str, ...] = ()

    @property
    def runs(self) -> Path:
        """Where the run's folder goes."""
        return Path(self.root) / "runs"


def search_path() -> tuple[str, ...]:
    """Where this process looks for modules, so that another may look there too."""
    return tuple(str(Path(entry).absolute()) if entry else os.getcwd() for entry in sys.path)


def begun(job: Job) -> tuple[Path, Command]:
    """A working folder, and the command that solves the run in it."""
    (Path(job.root) / "locks").mkdir(parents=True, exist_ok=True)
    work = start_run(job.runs, job.name, job.spec)
    words = (sys.executable, "-c", BOOT, str(work.absolute()), json.dumps(job.path))
    return work, Command(
        words, directory=Path(job.spec["folder"]), log=work / LOG, limit=job.limit,
        environment={"PYTHONUNBUFFERED": "1", MARK: job.name},
    )  # fmt: skip


def settle(job: Job, work: Path, ended: Ended) -> None:
    """Seal the folder of a process that ended without doing so, or raise its refusal."""
    if find_run(job.runs, job.name):
        return
    if ended.kind == "exit" and ended.code == REFUSED:
        refuse(job, work)
    failure = ended.failure() or SolveFailed("output", "the process left without an answer")
    detail = failure.detail
    if work.exists():
        fail_run(work, failure.kind, detail, seconds=ended.seconds, cost=job.spec["cost"])
    elif not find_run(job.runs, job.name):
        raise StoreError(f"{work}: was deleted while run {job.name} was at work")


def refuse(job: Job, work: Path) -> None:
    """Raise what the process could not put right, and leave no folder behind."""
    try:
        told = json.loads((work / REFUSAL).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        told = {"kind": "StoreError", "text": f"run {job.name} could not be stored"}
    shutil.rmtree(work, ignore_errors=True)
    kind = StoreError if told["kind"] == "StoreError" else MflnoError
    raise kind(f"run {job.name}: {told['text']}")


def perform(job: Job) -> str:
    """Solve a run under guard and wait for it; at once when it is solved already."""
    if not find_run(job.runs, job.name):
        work, command = begun(job)
        with start(command) as running:
            ended = running.wait()
        settle(job, work, ended or running.cancel())
    return job.name


def outcome(problem: Problem, case: ndarray, level: int) -> dict[str, ndarray]:
    """What a run's `output.npz` holds."""
    case = checked_case(problem, case)
    values = checked_values(problem, level, problem.solve(case, level))
    inputs = np.asarray(problem.inputs(case, level), dtype=float)
    return {"values": values, "inputs": inputs, "grid": problem.levels[level].grid}


def solve_in(work: Path, spec: Mapping[str, Any], problem: Problem | None = None) -> None:
    """Solve, and seal the folder with the output or the failure."""
    begin = time.perf_counter()
    try:
        problem = problem or load_problem(spec["problem"], spec["folder"])
        arrays = outcome(problem, np.array(spec["case"], dtype=float), spec["level"])
    except SolveFailed as error:
        failure = error
    except MflnoError:
        raise
    except (Exception, SystemExit) as error:
        failure = failure_of(error)
    else:
        seconds = time.perf_counter() - begin
        finish_run(work, arrays, seconds=seconds, cost=spec["cost"])
        return
    seconds = time.perf_counter() - begin
    if failure.log:
        print(failure.log)  # noqa: T201
    fail_run(work, failure.kind, failure.detail, seconds=seconds, cost=spec["cost"])


def turn(root: Path, name: str) -> Lock | None:
    """The lock of the run; None when another process solved it while this one waited."""
    path = root / "locks" / f"{name}.lock"
    while not find_run(root / "runs", name):
        try:
            return Lock(path, what=f"run {name}")
        except StoreError as error:
            if "already driven" not in str(error):
                raise
            time.sleep(0.2)
    return None


def main(folder: str) -> None:
    """What the process does; it never returns."""
    work, code = Path(folder), 0
    try:
        root, name = work.parent.parent, work.name.partition(".tmp-")[0]
        lock = turn(root, name)
        if lock is None:
            shutil.rmtree(work, ignore_errors=True)
        else:
            drop_leavings(work, name)
            spec = json.loads((work / SPEC).read_text(encoding="utf-8"))
            solve_in(work, spec)
    except MflnoError as error:
        code = REFUSED
        kind = "StoreError" if isinstance(error, StoreError) else type(error).__name__
        try:
            write_text_atomic(work / REFUSAL, json.dumps({"kind": kind, "text": str(error)}))
        except StoreError:
            print(error, file=sys.stderr)  # noqa: T201
    sys.stdout.flush()
    # Native libraries may crash while the interpreter shuts down, after the work is done.
    os._exit(code)


def drop_leavings(work: Path, name: str) -> None:
    """Delete what dead attempts at this run left; the lock says that they are dead."""
    for other in incomplete_runs(work.parent):
        if other != work and other.name.partition(".tmp-")[0] == name:
            shutil.rmtree(other, ignore_errors=True)
