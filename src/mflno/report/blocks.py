"""What a page is made of, as JSON: facts, charts, tables, text, code, folds."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

Block = dict[str, Any]
Numbers = Sequence[float | int | None] | ndarray
COLOURS = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
MARKS = ("dot", "square", "diamond", "up")


@dataclass(frozen=True)
class Fact:
    """One figure at the top of a page."""

    label: str
    value: str
    small: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether to trust it, at one glance; `tone` is good, care or bad."""

    tone: str
    head: str
    text: str


@dataclass(frozen=True)
class Contents:
    """A page before it is written.

    Attributes:
        title: The heading.
        eyebrow: A few words above it.
        lede: One or two sentences below it.
        footer: The last line.
        verdict: Whether to trust it.
        facts: The figures that count.
        explore: The interactive part, as `packing.explorer` makes it.
        blocks: Sections: `title`, `note` and `items`.
    """

    title: str
    eyebrow: str
    lede: str
    footer: str
    verdict: Verdict | None = None
    facts: Sequence[Fact] = ()
    explore: Block | None = None
    blocks: Sequence[Block] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """What the page reads."""
        return asdict(self)


def section(title: str, items: Sequence[Block], note: str = "") -> Block:
    """A heading with items below it."""
    return {"title": title, "note": note, "items": list(items)}


def axis(label: str, **options: Any) -> Block:  # noqa: ANN401
    """One axis of a chart: `log`, `percent`, `zero`, `ticks`, `pad`, `range`."""
    return {"label": label, **options}


def series(
    name: str,
    x: Numbers,
    y: Numbers,
    **looks: Any,  # noqa: ANN401
) -> Block:
    """One line or set of marks: `colour`, `mark`, `dash`, `join`, `lower`, `upper`, `tips`."""
    numbers = {key: plain(value) for key, value in looks.items() if key in ("lower", "upper")}
    looks.setdefault("colour", "c1")
    return {"name": name, **looks, **numbers, "x": plain(x), "y": plain(y)}


def chart(
    title: str,
    x: Block,
    y: Block,
    lines: Sequence[Block],
    *,
    about: str = "",
    height: int = 290,
) -> Block:
    """A chart with its axes and lines."""
    return {
        "type": "chart", "title": title, "about": about, "x": x, "y": y,
        "series": list(lines), "height": height,
    }  # fmt: skip


def table(caption: str, columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Block:
    """A table; a cell is a text or a dict with `text` and `class`, `badge` or `show`."""
    return {
        "type": "table", "caption": caption, "columns": list(columns),
        "rows": [list(row) for row in rows],
    }  # fmt: skip


def text(words: str) -> Block:
    """A paragraph."""
    return {"type": "text", "text": words}


def code(title: str, words: str) -> Block:
    """Something to copy."""
    return {"type": "code", "title": title, "text": words}


def pair(*items: Block) -> Block:
    """Two items side by side where there is room."""
    return {"type": "pair", "items": list(items)}


def fold(title: str, items: Sequence[Block]) -> Block:
    """Items that are shown when asked for."""
    return {"type": "fold", "title": title, "items": list(items)}


def plain(values: Numbers) -> list[float | None]:
    """Numbers for JSON, what is not finite left out."""
    numbers = np.asarray(values, dtype=float).tolist()
    return [x if np.isfinite(x) else None for x in numbers]


def packed(values: ndarray) -> str:
    """An array as base64 of little-endian single precision."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()


def shown(value: float | int | None, digits: int = 3) -> str:
    """A number for people."""
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:.{digits}g}".replace("-", "−")


def percent(value: float | int | None) -> str:
    """A share for people."""
    if value is None or not np.isfinite(value):
        return "–"
    if 0 < value < 1e-5:
        return "less than 0.001 %"
    return f"{100 * value:.{2 if value < 0.1 else 3}g} %"


def duration(seconds: float | int | None) -> str:
    """Seconds for people."""
    if seconds is None or not np.isfinite(seconds):
        return "–"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def told_case(names: Sequence[str], case: Numbers) -> str:
    """A case in words."""
    return ", ".join(f"{name} = {shown(x, 4)}" for name, x in zip(names, case, strict=True))


def pairs(values: Mapping[str, Any]) -> list[list[str]]:
    """A mapping as the rows of a table."""
    return [[str(key), str(value)] for key, value in values.items()]
