"""The page of a study: every table of the paper with ours beside it, from its JSON files."""

import base64
import json
from pathlib import Path
from typing import Any

from mflno.errors import StoreError
from mflno.report.blocks import (
    COLOURS,
    MARKS,
    Block,
    Contents,
    Fact,
    axis,
    chart,
    fold,
    pair,
    section,
    series,
    shown,
    table,
)

Row = dict[str, Any]
PICTURES = ("acquisition", "predictions", "fidelities")
MOST_PICTURES = 1_800_000
"""Bytes of pictures in one page."""
DASHES = (None, "5 4", "2 4", "8 3 2 3")


def is_study(folder: Path) -> bool:
    """Whether a study's results lie here."""
    return (folder / "about.json").exists() and (folder / "tables").is_dir()


def study_contents(folder: Path) -> Contents:
    """The page of a study's results."""
    about = read(folder / "about.json")
    names = [
        name for name in ("lorenz", "duffing", "beam")
        if (folder / "tables" / f"{name}-errors.json").exists()
    ]  # fmt: skip
    blocks = [problem_section(folder, name, Room()) for name in names]
    networks = read(folder / "tables" / "networks.json")
    blocks.append(section("Networks", [plain_table("Numbers of parameters", networks)]))
    quick = " A quick look: the methods were hardly trained." if about["quick"] else ""
    versions = ", ".join(f"{key} {value}" for key, value in about["versions"].items())
    places = "; ".join(f"{k}: {', '.join(v)}" for k, v in about["machines"].items())
    return Contents(
        title="The paper, reproduced side by side",
        eyebrow=f"Study · {about['seeds']} seed{'' if about['seeds'] == 1 else 's'}",
        lede="Every method on the same runs and the same held-out cases, beside the figures "
        f"that the paper prints.{quick}",
        footer=f"{about['command']}; {places}; {versions}.",
        facts=study_facts(about, folder, names),
        blocks=blocks,
    )  # fmt: skip


def read(path: Path) -> Any:  # noqa: ANN401
    """One JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read: {error}; write the tables again") from error


def study_facts(about: Row, folder: Path, names: list[str]) -> list[Fact]:
    """How often we are at or below the paper, and what it took."""
    rows = [row for name in names for row in read(folder / "tables" / f"{name}-errors.json")]
    active = [row for row in rows if row["method"] == "MF-LNO (Active)" and row["ratio"]]
    below = sum(row["ratio"] <= 1.0 for row in active)
    seconds = sum(x for own in about["seconds"].values() for x in own.values())
    return [
        Fact("MF-LNO (Active) at or below the paper", f"{below} of {len(active)}", "cells"),
        Fact("Problems", str(len(names)), ", ".join(names)),
        Fact("Seeds", str(about["seeds"]), "the same starts for every method"),
        Fact("Fitting time", f"{shown(seconds)} s", "; ".join(about["machines"])),
    ]


class Room:
    """How many bytes of pictures still fit."""

    def __init__(self) -> None:
        self.left = MOST_PICTURES // 3


def problem_section(folder: Path, name: str, room: Room) -> Block:
    """One problem: charts, the error table, and the others in folds."""
    errors = read(folder / "tables" / f"{name}-errors.json")
    items = [pair(*(error_chart(name, errors, metric) for metric in ("average", "maximum")))]
    items.append(errors_table(name, errors))
    for words, title in (
        ("trajectories", "Five trajectories"),
        ("trust", "Does σ follow the error, does the band hold"),
        ("duels", "The paper's choice against others, paired by seed"),
    ):
        rows = read(folder / "tables" / f"{name}-{words}.json")
        if rows:
            items.append(fold(title, [plain_table(f"{name}: {title}", rows)]))
    items += pictures(folder, name, room)
    return section(name.title(), items)


def error_chart(name: str, rows: list[Row], metric: str) -> Block:
    """Error against expensive runs, the paper's in grey."""
    own = [row for row in rows if row["metric"] == metric]
    lines = []
    for place, method in enumerate(dict.fromkeys(row["method"] for row in own)):
        mine = [row for row in own if row["method"] == method]
        look: Row = {"colour": COLOURS[place % 6], "mark": MARKS[place % 4]}
        look["dash"] = DASHES[place // 6 % 4]
        x, y = [row["runs"] for row in mine], [row["ours"] for row in mine]
        lines.append(series(method, x, y, **look))
    printed = [row for row in own if row["paper"]]
    for place, method in enumerate(dict.fromkeys(row["method"] for row in printed)):
        mine = [row for row in printed if row["method"] == method]
        x, y = [row["runs"] for row in mine], [row["paper"] for row in mine]
        mark = MARKS[place % 4]
        lines.append(
            series(f"paper: {method}", x, y, colour="c7", dash="1 4", mark=mark, hollow=True)
        )
    ticks = sorted({row["runs"] for row in own})
    return chart(
        f"{name.title()}: {metric} error",
        axis("expensive runs", ticks=ticks, pad=0.4),
        axis("relative L² error", log=True), lines, height=330,
    )  # fmt: skip


def errors_table(name: str, rows: list[Row]) -> Block:
    """Ours, the paper's, and the ratio."""
    found = []
    for row in rows:
        ratio = row["ratio"]
        tone = {} if ratio is None else {"class": "better" if ratio <= 1 else "worse"}
        found.append([
            row["method"], str(row["runs"]), row["metric"], shown(row["ours"]),
            shown(row["spread"], 2), shown(row["paper"]), {"text": shown(ratio, 2), **tone},
        ])  # fmt: skip
    columns = ["method", "runs", "metric", "ours", "± seeds", "paper", "ours / paper"]
    whole = table(f"{name}: errors beside the paper's", columns, found)
    return fold("Errors beside the paper's", [whole])


def plain_table(caption: str, rows: list[Row]) -> Block:
    """Rows of a JSON table as they are."""
    columns = [key for key in dict.fromkeys(k for row in rows for k in row) if key != "problem"]
    cells = [[cell_text(row.get(key)) for key in columns] for row in rows]
    return table(caption, columns, cells)


def cell_text(value: object) -> str:
    """A cell in words."""
    if value is None:
        return "–"
    return shown(value) if isinstance(value, float) else str(value)


def pictures(folder: Path, name: str, room: Room) -> list[Block]:
    """The study's figures, as many as the page has room for."""
    found = []
    for words in PICTURES:
        path = folder / "figures" / f"{name}-{words}.png"
        if not path.exists() or path.stat().st_size > room.left:
            continue
        room.left -= path.stat().st_size
        data = base64.b64encode(path.read_bytes()).decode()
        found.append({"type": "picture", "alt": f"{name}: {words}",
                      "source": f"data:image/png;base64,{data}"})  # fmt: skip
    return [fold("Figures", found)] if found else []
