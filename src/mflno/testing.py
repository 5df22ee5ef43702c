"""Checks that a new problem, operator, sampler or score can run on itself."""

from collections.abc import Callable
from pathlib import Path

from mflno.errors import StoreError
from mflno.store import Journal


def check_journal(folder: Path, journal: Callable[[Path], Journal] = Journal) -> None:
    """Raise unless a journal keeps order, survives a torn tail and allows one writer.

    Args:
        folder: An empty folder to work in.
        journal: What opens a journal at a path; ours when left out.
    """
    path = folder / "checked.jsonl"
    events = [
        {"event": "created", "n": n, "text": "line\nbreak", "x": 0.1 * n} for n in range(3)
    ]
    with journal(path) as first:
        for event in events:
            first.append(event)
        expect(list(first.read()) == events, "events must come back in the order appended")
        try:
            journal(path).close()
        except StoreError:
            pass
        else:
            expect(False, "a second writer must be refused with a StoreError")
    with path.open("ab") as torn:
        torn.write(b'{"event": "half')
    with journal(path) as second:
        expect(list(second.read()) == events, "a torn last line must be overlooked")
        second.append(events[0])
        expect(list(second.read()) == [*events, events[0]], "a torn tail must be cut off")


def expect(holds: bool, rule: str) -> None:
    """Raise an `AssertionError` with the rule unless it holds, also under `python -O`."""
    if not holds:
        raise AssertionError(rule)
