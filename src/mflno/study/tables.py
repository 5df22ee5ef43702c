"""The paper's tables with ours beside them: rows for Markdown, CSV and JSON."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.store import write_text_atomic
from mflno.study.cells import Row
from mflno.study.material import paper_tables
from mflno.study.reproduce import Outcome

METRICS = (("average", "mean"), ("maximum", "max"))
MEASURES = ("relative_l2", "rmse", "mae")


def seeds_of(outcome: Outcome, key: str, budget: int, what: str) -> ndarray:
    """One figure a seed: `mean` or `max` error over the tests, or a mean of another column."""
    cell = outcome.at(key, budget)
    if cell is None:
        return np.array([])
    if what in ("mean", "max"):
        reduce = {"mean": np.mean, "max": np.max}[what]
        return np.array([reduce(row["errors"]) for row in cell.found["rows"]])
    if what == "coverage":
        return np.array([np.mean(row["coverage"]) for row in cell.found["rows"]])
    if what == "seconds":
        return np.array([cell.found["seconds"] / len(cell.found["rows"])])
    return np.array([agreement(row, what) for row in cell.found["rows"]])


def agreement(row: Row, what: str) -> float:
    """Pearson or Spearman of σ and the error over the test cases."""
    from scipy.stats import pearsonr, spearmanr

    spread, errors = np.array(row["spread"]), np.array(row["errors"])
    if np.ptp(spread) == 0 or not np.isfinite(spread).all():
        return np.nan
    measure = {"pearson": pearsonr, "spearman": spearmanr}[what]
    return float(measure(spread, errors).statistic)


def error_rows(outcome: Outcome) -> list[Row]:
    """Mean and maximum error at each budget: ours with its spread, the paper's, the ratio."""
    printed = paper_tables()[outcome.name]["by_hf_count"]
    rows = []
    for budget in outcome.budgets:
        for words, what in METRICS:
            for contender in outcome.contenders:
                ours = seeds_of(outcome, contender.key, budget, what)
                if len(ours) == 0:
                    continue
                paper = printed.get(str(budget), {}).get(words, {}).get(contender.paper)
                rows.append({
                    "problem": outcome.name, "runs": budget, "metric": words,
                    "method": contender.label, "ours": float(ours.mean()),
                    "spread": float(ours.std(ddof=1)) if len(ours) > 1 else None,
                    "seeds": len(ours), "paper": paper,
                    "ratio": float(ours.mean()) / paper if paper else None,
                })  # fmt: skip
    return rows


def trajectory_rows(outcome: Outcome) -> list[Row]:
    """The five trajectories at the largest budget, seeds averaged."""
    printed = paper_tables()[outcome.name]["trajectories"]
    budget = outcome.budgets[-1]
    rows = []
    for place, entry in enumerate(printed):
        for contender in outcome.contenders:
            cell = outcome.at(contender.key, budget)
            if cell is None:
                continue
            paper = entry["methods"].get(contender.paper or "", {})
            for measure in MEASURES:
                ours = [row["shown"][measure][place] for row in cell.found["rows"]]
                mean, other = float(np.mean(ours)), paper.get(measure)
                rows.append({
                    "problem": outcome.name, "trajectory": place + 1,
                    **entry["parameters"], "runs": budget, "method": contender.label,
                    "measure": measure, "ours": mean, "seeds": len(ours), "paper": other,
                    "ratio": mean / other if other else None,
                })  # fmt: skip
    return rows


def trust_rows(outcome: Outcome) -> list[Row]:
    """Does σ follow the error, does the band hold, what does a fit cost."""
    rows = []
    for contender in outcome.contenders:
        for budget in outcome.budgets:
            told: Row = {"problem": outcome.name, "runs": budget, "method": contender.label}
            columns = ("coverage", "spearman", "pearson", "seconds")
            values = {what: seeds_of(outcome, contender.key, budget, what) for what in columns}
            if len(values["coverage"]) == 0 or (
                contender.alone and budget != outcome.budgets[0]
            ):
                continue
            rows.append(told | {what: mean_of(each) for what, each in values.items()})
    return rows


def mean_of(values: ndarray) -> float | None:
    """The mean of what is finite."""
    good = values[np.isfinite(values)]
    return float(good.mean()) if len(good) else None


def duel_rows(outcome: Outcome, key: str = "mflno-active") -> list[Row]:
    """The paper's choice against random and maximin with the same method, paired by seed."""
    rows = []
    for other in ("mflno-random", "mflno-maximin", "mflno-cold"):
        for budget in outcome.budgets:
            for words, what in METRICS:
                ours = seeds_of(outcome, key, budget, what)
                theirs = seeds_of(outcome, other, budget, what)
                if len(ours) == 0 or len(ours) != len(theirs):
                    continue
                logs = np.log(ours / theirs)
                rows.append({
                    "problem": outcome.name, "runs": budget, "metric": words, "active": key,
                    "against": other, "ratio": float(np.exp(logs.mean())),
                    "won": int((logs < 0).sum()), "seeds": len(logs),
                })  # fmt: skip
    return rows


def number(value: object) -> str:
    """A cell of a Markdown table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)


def markdown(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Rows as a Markdown table."""
    if not rows:
        return "Nothing to compare.\n"
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(number(row.get(c)) for c in columns) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def wide_errors(rows: Sequence[Row]) -> str:
    """The paper's error table: one line a budget and metric, ours / paper's (ratio)."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = [
        "| runs | metric | " + " | ".join(methods) + " |",
        "|" + " --- |" * (2 + len(methods)),
    ]
    for budget in dict.fromkeys(row["runs"] for row in rows):
        for words, _ in METRICS:
            own = {r["method"]: r for r in rows if (r["runs"], r["metric"]) == (budget, words)}
            cells = [error_cell(own[m]) if m in own else "" for m in methods]
            lines.append(f"| {budget} | {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def error_cell(row: Row) -> str:
    """Ours ± its spread over seeds; the paper's and the ratio where it has one."""
    spread = "" if row["spread"] is None else f" ± {row['spread']:.1g}"
    ours = f"{row['ours']:.3g}{spread}"
    if row["paper"] is None:
        return ours
    return f"{ours} / {row['paper']:.3g} (×{row['ratio']:.2g})"


def wide_trajectories(rows: Sequence[Row]) -> str:
    """The paper's trajectory table: one line a trajectory and method."""
    found: dict[tuple[Any, ...], dict[str, Row]] = {}
    names = [n for n in rows[0] if n not in KNOWN] if rows else []
    for row in rows:
        case = ", ".join(f"{name} = {row[name]:g}" for name in names)
        key = (row["trajectory"], case, row["method"])
        found.setdefault(key, {})[row["measure"]] = row
    lines = ["| trajectory | method | relative L² | RMSE | MAE |", "|" + " --- |" * 5]
    for (place, case, method), own in found.items():
        cells = " | ".join(measure_cell(own[m]) for m in MEASURES)
        lines.append(f"| {place}: {case} | {method} | {cells} |")
    return "\n".join(lines) + "\n"


KNOWN = (
    "problem",
    "trajectory",
    "runs",
    "method",
    "measure",
    "ours",
    "seeds",
    "paper",
    "ratio",
)


def measure_cell(row: Row) -> str:
    """Ours; the paper's and the ratio where it has one."""
    if row["paper"] is None:
        return f"{row['ours']:.3g}"
    return f"{row['ours']:.3g} / {row['paper']:.3g} (×{row['ratio']:.2f})"


def write_table(folder: Path, name: str, rows: Sequence[Row], text: str) -> list[Path]:
    """One table as Markdown, CSV and JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    page = io.StringIO()
    writer = csv.DictWriter(page, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    texts = {
        "md": text,
        "csv": page.getvalue(),
        "json": json.dumps(list(rows), indent=1) + "\n",
    }
    paths = [folder / f"{name}.{ending}" for ending in texts]
    for path, content in zip(paths, texts.values(), strict=True):
        write_text_atomic(path, content)
    return paths
