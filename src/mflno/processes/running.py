"""A guarded run: a command in its own session, with a time limit, a log and no orphans."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from mflno.errors import ArgumentError, SolveFailed

SUPERVISOR = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True)
class Command:
    """What to run, where, for how long, and which exit codes mean success.

    Args:
        words: Program and arguments; no shell looks at them.
        directory: Working directory; it must exist.
        log: Where standard output and standard error go.
        environment: Variables added to the caller's own.
        limit: Seconds until the run is ended; none for as long as it takes.
        success: Exit codes that mean success.
        grace: Seconds between the request to end and the kill.
        scratch: A directory to delete when the caller dies; nobody else would.

    Example:
        >>> import sys, tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     words = (sys.executable, "-c", "print('done')")
        ...     run(Command(words, Path(place), Path(place) / "log.txt", limit=60.0)).tail()
        'done'
    """

    words: Sequence[str]
    directory: Path
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    limit: float | None = None
    success: Sequence[int] = (0,)
    grace: float = 2.0
    scratch: Path | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be run, before anything is started."""
        if not self.words or not all(isinstance(word, str) and word for word in self.words[:1]):
            raise ArgumentError("Command.words", "name a program", self.words, "add it first")
        if self.limit is not None and not self.limit > 0:
            remedy = "pass seconds, or None for no limit"
            raise ArgumentError("Command.limit", "must be positive", self.limit, remedy)
        if not Path(self.directory).is_dir():
            remedy = "make it first"
            raise ArgumentError("Command.directory", "must exist", self.directory, remedy)

    def order(self) -> bytes:
        """What the supervisor is told."""
        finite = self.limit is not None and self.limit < float("inf")
        order = {
            "words": list(self.words),
            "directory": str(self.directory),
            "log": str(Path(self.log).absolute()),
            "environment": {**os.environ, **self.environment},
            "limit": self.limit if finite else None,
            "grace": self.grace,
            "scratch": str(Path(self.scratch).absolute()) if self.scratch else "",
            "caller": os.getpid(),
        }
        return json.dumps(order).encode()


def tail(log: Path, lines: int = 20, characters: int = 4000) -> str:
    """The last lines of a log that may be missing, huge or not text."""
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - characters))
            text = file.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.splitlines()[-lines:]).strip()


@dataclass(frozen=True)
class Ended:
    """How a run ended.

    Attributes:
        command: What was run.
        kind: `exit`, `signal`, `timeout`, `cancelled` or `start` (it never began).
        code: The exit code, or the signal's number.
        seconds: How long it took.
        detail: Why it could not be started, where that is the case.
    """

    command: Command
    kind: str
    code: int
    seconds: float
    detail: str = ""

    def tail(self) -> str:
        """The end of the run's log."""
        return tail(self.command.log)

    def failure(self) -> SolveFailed | None:
        """What to raise when the run did not succeed."""
        command = self.command
        program = Path(command.words[0]).name
        if self.kind == "exit" and self.code in command.success:
            return None
        limit = command.limit or 0.0
        details = {
            "exit": f"{program} ended with exit code {self.code}",
            "signal": f"{program} was killed by {signal_name(self.code)}",
            "timeout": f"{program} did not end within {limit:g} s and was stopped",
            "cancelled": f"{program} was cancelled after {self.seconds:.1f} s",
            "start": f"{command.words[0]} could not be started: {self.detail}",
        }
        return SolveFailed(self.kind, details[self.kind], self.tail())


def signal_name(number: int) -> str:
    """A signal's name, as `SIGSEGV`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


class Running:
    """A run on its way; `start` makes it.

    Poll it, wait for it or cancel it; use it from one thread at a time. Losing the handle, like
    the death of the whole caller, ends the run and everything it has started.

    Attributes:
        command: What is run.
        pid: The run's own process, 0 until it is known to have begun.
        ended: How it ended, once it has.
    """

    def __init__(self, command: Command, guard: "subprocess.Popen[bytes]", pipe: int) -> None:
        self.command, self.guard, self.pipe = command, guard, pipe
        self.pid = 0
        self.ended: Ended | None = None
        self.begin, self.text = time.monotonic(), b""

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.cancel()

    def fileno(self) -> int:
        """Readable when there is news, for whoever waits for many at once."""
        return self.pipe

    def poll(self) -> Ended | None:
        """How it ended, or nothing while it is on its way; returns at once."""
        while self.ended is None:
            try:
                part = os.read(self.pipe, 65536)
            except BlockingIOError:
                return None
            self.hear(part)
        return self.ended

    def wait(self, timeout: float | None = None) -> Ended | None:
        """How it ended; nothing when it is still on its way after the timeout."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return None
            await_news([self], left)
        return self.ended

    def cancel(self) -> Ended:
        """End the run and everything below it, and wait until that is done."""
        if self.poll() is None:
            lifeline(self.guard, b"c")
            if self.wait(self.command.grace + 15.0) is None:
                self.guard.kill()
        ended = self.wait()
        return ended or Ended(self.command, "cancelled", 0, time.monotonic() - self.begin)

    def hear(self, part: bytes) -> None:
        """Take what the guard has said; a guard without a last word was killed itself."""
        self.text += part
        *lines, self.text = self.text.split(b"\n")
        for line in lines:
            self.take(json.loads(line))
        if not part and self.ended is None:
            code = self.guard.wait()
            end_session(self.pid)
            word = (
                {"kind": "signal", "code": -code}
                if code < 0
                else {"kind": "start", "code": code}
            )
            detail = f"its guard ended without a word, with code {code}"
            self.take({**word, "seconds": time.monotonic() - self.begin, "detail": detail})

    def take(self, report: dict[str, Any]) -> None:
        """Take one report; the last one ends the run."""
        self.pid = report.pop("pid", self.pid)
        if report:
            self.ended = Ended(self.command, **report)
            self.guard.wait()
            self.guard.__exit__(None, None, None)


def lifeline(guard: "subprocess.Popen[bytes]", text: bytes) -> None:
    """Write to the guard, who may be gone; its last words tell how the run ended."""
    rest = memoryview(text)
    with suppress(OSError):
        while rest and guard.stdin is not None:
            rest = rest[guard.stdin.write(rest) :]


def forget(guard: "subprocess.Popen[bytes]") -> None:
    """Cut the lifeline of a lost handle; `subprocess` alone keeps forgotten children open."""
    guard.__exit__(None, None, None)


def end_session(pid: int) -> None:
    """Kill what is left of the session a run had led, when its guard cannot do that."""
    with suppress(ProcessLookupError, PermissionError):
        if pid:
            os.killpg(pid, signal.SIGKILL)


def await_news(runs: Sequence[Running], timeout: float | None) -> None:
    """Sleep until one of the runs has something to say, or the timeout is over."""
    with selectors.DefaultSelector() as selector:
        for run in runs:
            selector.register(run, selectors.EVENT_READ)
        selector.select(timeout)


def first_ended(runs: Sequence[Running], timeout: float | None = None) -> list[Running]:
    """The runs that have ended, as soon as there is one; empty when the timeout is over."""
    deadline = None if timeout is None else time.monotonic() + timeout
    while True:
        ended = [run for run in runs if run.poll() is not None]
        left = None if deadline is None else deadline - time.monotonic()
        if ended or not runs or (left is not None and left <= 0):
            return ended
        await_news(runs, left)


def start(command: Command) -> Running:
    """Start a run under a guard of its own and return at once."""
    if os.name != "posix":
        rule, remedy = "needs a POSIX system", "use Linux, macOS or the Windows subsystem"
        raise ArgumentError("processes.start", rule, os.name, remedy)
    order = command.order()
    words = [sys.executable, "-I", "-S", str(SUPERVISOR), str(len(order))]
    guard = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        start_new_session=True, bufsize=0,
    )  # fmt: skip
    if guard.stdin is None or guard.stdout is None:
        raise SolveFailed("start", "the guard has no pipes")
    os.set_blocking(guard.stdout.fileno(), False)
    running = Running(command, guard, guard.stdout.fileno())
    weakref.finalize(running, forget, guard)
    lifeline(guard, order)
    return running


def run(command: Command) -> Ended:
    """Run a command to its end; raises `SolveFailed` when it did not succeed."""
    with start(command) as running:
        ended = running.wait()
    failure = ended.failure() if ended else None
    if failure:
        raise failure
    return ended or running.cancel()
