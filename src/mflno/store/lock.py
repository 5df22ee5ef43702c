"""One writer at a time: a lock that ends with its owner, however the owner ends.

The operating system holds the lock (`flock`) and drops it when the process is gone, so a
killed owner never blocks the next. The file's content only tells who holds it.
"""

import contextlib
import errno
import json
import os
import platform
import time
import weakref
from pathlib import Path
from typing import Any

from mflno.errors import StoreError
from mflno.store.files import failure, write_all


def process_start(pid: int) -> str | None:
    """When a process of this machine started, in its own clock; None when it is gone.

    A process number is given out again after a while; number and start together are not.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _alive(pid)
    # The name in brackets may hold spaces: count fields behind it. Z: dead, not yet reaped.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _alive(pid: int) -> str | None:
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "unknown"
    return "unknown"


def this_owner() -> dict[str, Any]:
    """What we write into a lock we hold."""
    return {
        "host": platform.node(),
        "pid": os.getpid(),
        "start": process_start(os.getpid()),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def owner_of(path: Path | str) -> dict[str, Any] | None:
    """Who wrote themselves into a lock file last; None when it was given back."""
    try:
        found = json.loads(Path(path).read_text() or "null")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def refusal(what: str, owner: dict[str, Any] | None) -> StoreError:
    """The error for a second driver, with the first one's name."""
    name = "another process"
    if owner is not None:
        name = f"process {owner.get('pid')} on {owner.get('host')} since {owner.get('since')}"
    return StoreError(
        f"{what} is already driven by {name}; wait for it or stop it, then repeat"
    )


class Lock:
    """A lock on a file name; a context manager.

    Args:
        path: The lock file; it stays, empty, when the lock is given back.
        what: What it guards, for the message, as `"campaign runs/lorenz"`.

    Raises:
        StoreError: Another process holds it; the message names the process.
    """

    def __init__(self, path: Path | str, *, what: str) -> None:
        self.path, self.what = Path(path), what
        self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._take()
            self._refuse_live_owner()
            self._write(json.dumps(this_owner()))
        except BaseException:
            self._close()
            raise
        self._forget_in_children()

    def _take(self) -> None:
        try:
            import fcntl
        except ImportError as error:
            text = "campaigns need a POSIX system (Linux, macOS, WSL)"
            raise StoreError(f"{self.path}: cannot be locked; {text}") from error
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise refusal(self.what, owner_of(self.path)) from error
            failed = failure(self.path, "locking", error)
            raise StoreError(f"{failed}; use a disk that supports locks") from error

    def _refuse_live_owner(self) -> None:
        """A second guard, for disks that say yes to every lock."""
        owner = owner_of(self.path)
        if owner is None or owner.get("host") != platform.node():
            return
        pid = owner.get("pid")
        if pid == os.getpid() or not isinstance(pid, int):
            return
        if owner.get("start") is not None and process_start(pid) == owner.get("start"):
            raise refusal(self.what, owner)

    def _write(self, text: str) -> None:
        # The owner's name serves the message alone: a full disk must not forbid the lock.
        with contextlib.suppress(OSError):
            os.ftruncate(self.handle, 0)
            os.lseek(self.handle, 0, os.SEEK_SET)
            write_all(self.handle, text.encode())

    def release(self) -> None:
        """Give the lock back; harmless when that was done before."""
        if self.handle >= 0:
            self._write("")
            self._close()

    def _close(self) -> None:
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def _forget_in_children(self) -> None:
        # A forked child shares the handle and would hold the lock after its parent was killed.
        known = weakref.WeakMethod(self._close)

        def forget() -> None:
            """Close the child's copy; the parent's lock stays."""
            close = known()
            if close is not None:
                close()

        os.register_at_fork(after_in_child=forget)

    @property
    def held(self) -> bool:
        """Whether this object, in this process, still holds the lock."""
        return self.handle >= 0

    def __enter__(self) -> "Lock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
