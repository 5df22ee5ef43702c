"""A progress line on stderr: done, total, rate, time left; quiet where nobody looks."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """What a long loop calls: `advance` for each unit done, `note` for a short remark."""

    def advance(self, count: int = 1) -> None:
        """Say that so many units are done."""
        ...

    def note(self, text: str) -> None:
        """Show a short remark beside the bar, as the current loss."""
        ...


class _Silent:
    def advance(self, count: int = 1) -> None:
        """Say nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""


class _Line:
    """One line redrawn in place on a terminal, one line each ten seconds in a log."""

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done, self.text = title, total, 0, ""
        self.start = self.shown = time.monotonic()
        self.terminal = sys.stderr.isatty()

    def advance(self, count: int = 1) -> None:
        """Count, and redraw when enough time has passed."""
        self.done += count
        now = time.monotonic()
        if now - self.shown >= (0.2 if self.terminal else 10.0):
            self.shown = now
            self.draw(now)

    def note(self, text: str) -> None:
        """Keep a remark for the next redraw."""
        self.text = text

    def draw(self, now: float) -> None:
        """Write the line."""
        seconds = max(now - self.start, 1e-9)
        rate = self.done / seconds
        left = (self.total - self.done) / rate if rate else float("inf")
        count = f"{self.title} {self.done}/{self.total}"
        text = f"{count}  {rate:.3g}/s  {left:.0f} s left  {self.text}"
        sys.stderr.write(f"\r\x1b[2K{text}" if self.terminal else f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Wipe the line from a terminal."""
        if self.terminal:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()


@contextmanager
def progress(title: str, total: int, *, show: bool = True) -> Iterator[Progress]:
    """A progress line for the length of a `with` block; tqdm draws it where it is installed."""
    if not show:
        yield _Silent()
        return
    try:
        from tqdm import tqdm
    except ImportError:
        line = _Line(title, total)
        try:
            yield line
        finally:
            line.close()
        return
    with tqdm(total=total, desc=title, leave=False, mininterval=0.2, delay=1.0) as bar:
        yield _Tqdm(bar)


class _Tqdm:
    """Our two verbs on a tqdm bar."""

    def __init__(self, bar: object) -> None:
        self.bar = bar

    def advance(self, count: int = 1) -> None:
        """Count."""
        self.bar.update(count)  # pyright: ignore[reportAttributeAccessIssue]

    def note(self, text: str) -> None:
        """Show the remark behind the bar."""
        self.bar.set_postfix_str(text, refresh=False)  # pyright: ignore[reportAttributeAccessIssue]
