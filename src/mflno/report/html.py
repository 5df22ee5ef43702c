"""One self-contained HTML page: template, style, script and data in a single file."""

import json
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path

import mflno
from mflno.report.blocks import Contents
from mflno.store import write_text_atomic

SCRIPTS = ("elements.js", "surrogate.js", "charts.js", "plane.js", "explore.js", "page.js")


@cache
def part(name: str) -> str:
    """One file of the page."""
    return (files("mflno.report") / "page" / name).read_text(encoding="utf-8")


def page_text(contents: Contents) -> str:
    """The page; nothing in it comes from anywhere else, and its own policy forbids it to.

    Example:
        >>> page = page_text(Contents("A & B", "campaign", "nothing yet", "mflno"))
        >>> "<title>A &amp; B</title>" in page, "src=" in page
        (True, False)
    """
    data = json.dumps(contents.as_dict(), allow_nan=False, separators=(",", ":"))
    # "</script" or "<!--" in somebody's text would end the block of data.
    data = data.replace("<", "\\u003c")
    filled = part("page.html")
    pieces = {
        "version": escape(mflno.__version__), "title": escape(contents.title),
        "style": part("style.css"), "script": "\n".join(map(part, SCRIPTS)), "data": data,
    }  # fmt: skip
    for name, piece in pieces.items():
        filled = filled.replace("{{" + name + "}}", piece, 1)
    return filled


def write_page(path: Path | str, contents: Contents) -> Path:
    """Write the page, whole or not at all."""
    write_text_atomic(path, page_text(contents))
    return Path(path)
