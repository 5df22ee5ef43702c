"""The guard of one run: a program of its own that starts the run, watches it, and ends it.

It is started as a script and needs the standard library alone. Its order is JSON on standard
input, as many bytes as its argument says; it answers with two JSON lines, `{"pid"}` and then
`{"kind", "code", "seconds"}`. Standard input stays open as a lifeline: one more byte on it
cancels the run, its end says that the caller died.

Why a process between caller and run: a signal on the parent's death reaches direct children
alone, is tied to the parent's thread, and cannot be sent by a caller that was killed. The
guard adopts what the run leaves behind (child subreaper), so nothing outlives it.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GLANCE = 0.25
"""Seconds between two looks at who the parent is: a forked sibling may hold the lifeline."""
LONGEST_LOG, KEPT = 1 << 26, 1 << 20
"""Bytes at which a log loses its beginning, and what is kept of its end."""


def control(option: int, value: int) -> None:
    """Set one attribute of this process (Linux)."""
    if LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def descendants() -> list[int]:
    """Every process below this one, by the kernel's table; nothing where there is none."""
    children: dict[int, list[int]] = {}
    for name in filter(str.isdecimal, os.listdir("/proc") if LINUX else []):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            continue
        children.setdefault(parent, []).append(int(name))
    found = list(children.get(os.getpid(), []))
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def send(child: int, number: int) -> None:
    """Send a signal to the whole tree, or to the group where the tree cannot be read."""
    targets = [(os.kill, pid) for pid in descendants()] if LINUX else [(os.killpg, child)]
    for call, pid in targets:
        try:
            call(pid, number)
        except (ProcessLookupError, PermissionError):
            continue


def reaped(child: int) -> int | None:
    """Collect every dead process; the run's own wait status when it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == child:
            found = status


def childless() -> bool:
    """Collect every dead process; whether nothing is left below this one."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return True
    return False


def end_all(child: int, grace: float) -> None:
    """Ask the whole tree to end, and kill what has not ended after the grace."""
    send(child, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while not childless() and time.monotonic() < deadline:
        time.sleep(0.01)
    deadline = time.monotonic() + 10.0
    while not childless() and time.monotonic() < deadline:
        send(child, signal.SIGKILL)
        time.sleep(0.01)


def stop_reason(order: dict[str, Any], wake: int, seconds: float) -> str:
    """Wait a moment; why the run must end, or nothing."""
    ready = select.select([0, wake], [], [], max(0.0, min(GLANCE, seconds)))[0]
    if 0 in ready:
        return "cancelled" if os.read(0, 1) else "abandoned"
    if wake in ready and any(number in STOPS for number in os.read(wake, 256)):
        return "cancelled"
    return "" if os.getppid() == order["caller"] else "abandoned"


def watch(child: int, order: dict[str, Any], wake: int) -> tuple[str, int]:
    """How the run ended, or why it must be ended now."""
    limit = order["limit"]
    deadline = time.monotonic() + (float("inf") if limit is None else limit)
    while True:
        status = reaped(child)
        if status is not None and os.WIFSIGNALED(status):
            return "signal", os.WTERMSIG(status)
        if status is not None:
            return "exit", os.WEXITSTATUS(status)
        if time.monotonic() >= deadline:
            return "timeout", 0
        shorten(order["log"])
        reason = stop_reason(order, wake, deadline - time.monotonic())
        if reason:
            return reason, 0


def shorten(log: str) -> None:
    """Keep the end of a log that grows without end, before it fills the disk."""
    try:
        if os.path.getsize(log) <= LONGEST_LOG:
            return
        with open(log, "r+b") as file:
            file.seek(-KEPT, os.SEEK_END)
            end = file.read(KEPT)
            file.truncate(0)
        with open(log, "ab") as file:
            file.write(b"... what came before is lost\n" + end)
    except OSError:
        return


def bound_to(parent: int) -> Callable[[], None]:
    """What the child does between fork and exec: die with this guard, whatever kills it."""

    def bind() -> None:
        control(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(127)

    return bind


def started(order: dict[str, Any]) -> "subprocess.Popen[bytes]":
    """Start the run in a session of its own, its output going to the log.

    Keep what is returned: when it is dropped, it collects a run that has already ended, and
    how that ended would be lost.
    """
    # Appending, so that what is written after the log was shortened goes to its new end.
    mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    with open(os.open(order["log"], mode, 0o666), "wb") as log:
        return subprocess.Popen(
            order["words"], cwd=order["directory"], env=order["environment"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            preexec_fn=bound_to(os.getpid()),
        )  # fmt: skip


def tell(**report: object) -> None:
    """Write one line to the caller, who may be gone."""
    try:
        os.write(1, json.dumps(report).encode() + b"\n")
    except OSError:
        return


def received(length: int) -> dict[str, Any] | None:
    """The order of so many bytes; nothing when the caller died before it was whole."""
    text = b""
    while len(text) < length:
        part = os.read(0, length - len(text))
        if not part:
            return None
        text += part
    return json.loads(text)


def wake_pipe() -> int:
    """A pipe that becomes readable when a child ends or somebody asks this guard to stop."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOPS):
        signal.signal(number, lambda *_: None)
    return read


def main() -> None:
    """Guard one run from its start to the end of its last descendant."""
    order = received(int(sys.argv[1]))
    if order is None:
        return
    wake = wake_pipe()
    control(PR_SET_CHILD_SUBREAPER, 1)
    begin = time.monotonic()
    try:
        popen = started(order)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        tell(kind="start", code=0, seconds=0.0, detail=str(error))
        return
    tell(pid=popen.pid)
    kind, code = watch(popen.pid, order, wake)
    seconds = time.monotonic() - begin
    end_all(popen.pid, order["grace"])
    if kind == "abandoned" and order["scratch"]:
        shutil.rmtree(order["scratch"], ignore_errors=True)
    tell(kind=kind, code=code, seconds=seconds)


if __name__ == "__main__":
    main()
