"""The journal: events as JSON lines, appended by one writer, each on the disk before we go on.

A process killed in the middle of a line leaves a torn tail. Readers overlook it; the next
writer cuts it off under the lock before it appends, or the next event would be glued to it.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mflno.errors import ArgumentError, StoreError
from mflno.store.files import sync_folder, told, write_all
from mflno.store.lock import Lock

Event = dict[str, Any]


def read_journal(path: Path | str) -> Iterator[Event]:
    """The events of a journal, in order, without a lock; a torn last line is overlooked.

    Raises:
        StoreError: The journal is gone, or a line that was finished is damaged.
    """
    path = Path(path)
    with told(path, "reading"), path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith(b"\n"):
                yield parsed(path, number, line)


def parsed(path: Path, number: int, line: bytes) -> Event:
    """One line as an event."""
    try:
        event = json.loads(line)
    except ValueError as error:
        event = error
    if not isinstance(event, dict):
        shown = line[:60].decode(errors="replace").rstrip()
        text = f"line {number} is damaged: {shown!r}"
        raise StoreError(f"{path}: {text}; restore the file from a copy, or remove that line")
    return event


def journal_line(event: Mapping[str, Any]) -> bytes:
    """An event as one line of JSON."""
    try:
        return json.dumps(dict(event), allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        rule, remedy = "must be JSON with finite numbers", "use float(), int() or .tolist()"
        raise ArgumentError("Journal.append.event", rule, error, remedy) from error


class Journal:
    """The one writer of a journal; a context manager.

    Args:
        path: The file; it is created when it is not there. Beside it lies `NAME.lock`.

    Raises:
        StoreError: Another process drives this journal, or the folder cannot be written.

    Example:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/journal.jsonl"
        >>> with Journal(path) as journal:
        ...     journal.append({"event": "created", "budget": 9})
        >>> list(read_journal(path))
        [{'event': 'created', 'budget': 9}]
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with told(self.path, "opening"):
            lock_path = self.path.with_name(self.path.name + ".lock")
            self.lock = Lock(lock_path, what=f"the journal {self.path}")
            self.handle = -1
            try:
                self.handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
                self._repair()
                sync_folder(self.path.parent)
            except BaseException:
                self.close()
                raise

    def _repair(self) -> int:
        """Cut a torn tail off and return the length that is left."""
        size = os.fstat(self.handle).st_size
        kept, block = size, 4096
        while kept:
            begin = max(0, kept - block)
            found = os.pread(self.handle, kept - begin, begin).rfind(b"\n")
            if found >= 0:
                kept = begin + found + 1
                break
            kept = begin
        if kept != size:
            os.ftruncate(self.handle, kept)
            os.fsync(self.handle)
        return kept

    def append(self, event: Mapping[str, Any]) -> None:
        """Add an event; when this returns it is on the disk, when it raises it is not there."""
        line = journal_line(event)
        if self.handle < 0 or not self.lock.held:
            raise StoreError(f"{self.path}: closed, or a forked copy; open the journal again")
        with told(self.path, "appending"):
            # Also heals what an append left behind that was interrupted and not undone.
            size = self._repair()
            try:
                write_all(self.handle, line)
                os.fsync(self.handle)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(self.handle, size)
                raise

    def read(self) -> Iterator[Event]:
        """The events so far, in order."""
        return read_journal(self.path)

    def close(self) -> None:
        """Close the file and give the lock back; harmless when that was done before."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)
        self.lock.release()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
