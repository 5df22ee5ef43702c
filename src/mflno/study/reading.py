"""The study as a page: tables, figures, and what they say, in sentences with numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mflno.study import tables
from mflno.study.ablations import spread_of
from mflno.study.cells import Cell, Row
from mflno.study.reproduce import Outcome

LATER = (5, 7, 9)
"""Budgets at which a choice can have mattered."""
PICTURES = {
    "errors": "Error against expensive runs: mean over seeds, shaded by their standard "
    "deviation; grey and dotted, what the paper prints.",
    "acquisition": "σ (above) and error (below) over the plane, seed 0: rings are runs, "
    "crosses the next picks of the paper's rule.",
    "predictions": "The paper's five trajectories with the largest number of runs, seed 0.",
    "fidelities": "Some candidates at both levels.",
    "configuration": "The beam: mesh, bending, and the tip at both levels.",
}
APPENDIX = {
    "learning-rate": "Error against the first learning rate of phase 2.",
    "chains": "Error against the number of chains.",
    "sensitivity": "Correlation of σ with the error against chains, temperature, noise.",
    "exchange": "A ladder of three chains on two far modes: coldest and hottest.",
    "poles": "Poles of the Laplace layers; dashed: the strongest frequencies of the runs.",
}


def reading(
    about: Row, outcomes: Sequence[Outcome], appendix: Sequence[Cell], out: Path
) -> str:
    """The page; figures are linked where they exist below `out`."""
    parts = ["# Results", made_by(about)]
    for found in outcomes:
        parts += problem_part(found, out)
    if appendix:
        parts += appendix_part(appendix, out)
    return "\n\n".join(parts) + "\n"


def made_by(about: Row) -> str:
    """What made these results."""
    seconds = {name: sum(own.values()) for name, own in about["seconds"].items()}
    times = ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items())
    versions = ", ".join(f"{key} {value}" for key, value in about["versions"].items())
    quick = (
        "\n\n**A quick look: a hundredth of the training, two budgets.** It shows that every "
        "part works, and judges no method."
        if about["quick"]
        else ""
    )
    return (
        f"Made by `{about['command']}`: {about['seeds']} seeds; {made_on(about)}; {versions}. "
        f"Fitting took {times}.\n\n"
        "Each entry is ours ± its standard deviation over the seeds / the paper's figure "
        f"(their ratio). All methods of a seed begin with the same three runs.{quick}"
    )


def made_on(about: Row) -> str:
    """Which machine made which methods."""
    parts = [f"{where}: {', '.join(labels)}" for where, labels in about["machines"].items()]
    return "; ".join(parts)


def problem_part(found: Outcome, out: Path) -> list[str]:
    """One problem."""
    errors, duels = tables.error_rows(found), tables.duel_rows(found)
    sentences = [
        *against_paper(errors), *choices_said(duels), *bands_said(tables.trust_rows(found))
    ]  # fmt: skip
    rest = ", ".join(
        f"[{words}](tables/{found.name}-{words}.md)"
        for words in ("trajectories", "trust", "duels")
    )
    listed = "\n".join(f"- {each}" for each in sentences)
    return [
        f"## {found.name.title()}", tables.wide_errors(errors), listed,
        f"More tables: {rest}; all of them as CSV and JSON beside.",
        *pictures(found.name, PICTURES, out),
    ]  # fmt: skip


def pictures(name: str, about: dict[str, str], out: Path) -> list[str]:
    """Links to the figures that are there."""
    stem = lambda words: f"{name}-{words}" if name else words
    return [
        f"![{caption}](figures/{stem(words)}.png)\n\n*{caption}*"
        for words, caption in about.items()
        if (out / "figures" / f"{stem(words)}.png").exists()
    ]


def against_paper(rows: Sequence[Row]) -> list[str]:
    """How each line stands beside the paper's, and ours beside its best."""
    said = []
    for method in dict.fromkeys(row["method"] for row in rows if row["ratio"]):
        own = [row for row in rows if row["method"] == method and row["ratio"]]
        below = sum(row["ratio"] <= 1 for row in own)
        worst = max(own, key=lambda row: row["ratio"])
        said.append(
            f"{method}: at or below the paper in {below} of {len(own)} cells; the worst ratio "
            f"is {worst['ratio']:.2f} ({worst['runs']} runs, {worst['metric']})."
        )
    active = {
        (row["runs"], row["metric"]): row["paper"]
        for row in rows if row["method"] == "MF-LNO (Active)" and row["paper"]
    }  # fmt: skip
    for method in ("our MF-LNO", "Auto", "POD-GP"):
        ratios = [
            row["ours"] / active[row["runs"], row["metric"]]
            for row in rows
            if row["method"] == method and (row["runs"], row["metric"]) in active
            and row["runs"] in LATER
        ]  # fmt: skip
        if ratios:
            fifth = sum(ratio <= 0.2 for ratio in ratios)
            said.append(
                f"{method}: {min(ratios):.3f} to {max(ratios):.3f} times the paper's active "
                f"line from 5 runs on; at most a fifth in {fifth} of {len(ratios)} cells."
            )
    return said


def choices_said(duels: Sequence[Row]) -> list[str]:
    """Whether the paper's choice is better than others with the same method."""
    words = {
        "mflno-random": "random picks", "mflno-maximin": "the farthest points",
        "mflno-cold": "the same with ten snapshots of the coldest chain",
    }  # fmt: skip
    said = []
    for other, name in words.items():
        own = [row for row in duels if row["against"] == other and row["runs"] > 3]
        if not own:
            continue
        parts = []
        for metric in ("average", "maximum"):
            rows = [row for row in own if row["metric"] == metric]
            mean = np.exp(np.mean([np.log(row["ratio"]) for row in rows]))
            won, all_of = sum(r["won"] for r in rows), sum(r["seeds"] for r in rows)
            parts.append(f"{metric} error {mean:.2f} times (better in {won} of {all_of})")
        said.append(f"The paper's choice against {name}, after the start: {', '.join(parts)}.")
    return said


def bands_said(trust: Sequence[Row]) -> list[str]:
    """Whether bands hold, and whether σ follows the error."""
    said = []
    for method in ("MF-LNO (Active)", "our MF-LNO", "Auto", "POD-GP"):
        own = [row for row in trust if row["method"] == method]
        if not own:
            continue
        cover = " / ".join(f"{100 * row['coverage']:.0f} %" for row in own)
        follow = " / ".join(
            "–" if row["spearman"] is None else f"{row['spearman']:.2f}" for row in own
        )
        runs = " / ".join(str(row["runs"]) for row in own)
        said.append(
            f"{method} at {runs} runs: the 95 % band covers {cover}; Spearman of σ and the "
            f"error {follow}."
        )
    return said


def appendix_part(cells: Sequence[Cell], out: Path) -> list[str]:
    """The paper's appendix and its looks inside."""
    said = [*rates_said(cells), *chains_said(cells), *sensitivity_said(cells)]
    listed = "\n".join(f"- {each}" for each in said)
    note = (
        "“Linear” and “nonlinear” are the two halves of the correction, each alone. Noise × s "
        "means s² times the temperatures, since the noise has size √(2ητ)."
    )
    return ["## Appendix", listed, note, *pictures("", APPENDIX, out)]


def of_kind(cells: Sequence[Cell], kind: str, **wanted: Any) -> list[Cell]:  # noqa: ANN401
    """The cells of one kind that say this."""
    return [
        cell for cell in cells
        if cell.asked["kind"] == kind and all(cell.asked.get(k) == v for k, v in wanted.items())
    ]  # fmt: skip


def rates_said(cells: Sequence[Cell]) -> list[str]:
    """The best learning rate."""
    rows = [
        (cell.asked["rate"], *spread_of(cell.found["errors"]))
        for cell in of_kind(cells, "learning-rate")
    ]
    good = [row for row in rows if np.isfinite(row[1])]
    if not good:
        return []
    rate, mean, half, _ = min(good, key=lambda row: row[1])
    return [
        f"Duffing, learning rate: lowest at {rate:g} ({mean:.4f} ± {half:.4f}); the paper "
        "finds its lowest at 0.01."
    ]


def chains_said(cells: Sequence[Cell]) -> list[str]:
    """The best number of chains for either half."""
    said = []
    for relation, theirs in (("linear", "few"), ("nonlinear", "about six")):
        rows = [
            (cell.asked["chains"], *spread_of(cell.found["errors"]))
            for cell in of_kind(cells, "chains", relation=relation)
        ]
        good = [row for row in rows if np.isfinite(row[1])]
        if good:
            count, mean, half, _ = min(good, key=lambda row: row[1])
            said.append(
                f"Lorenz, {relation} correction: lowest with {count} chains ({mean:.4f} ± "
                f"{half:.4f}); the paper finds {theirs} best."
            )
    return said


def sensitivity_said(cells: Sequence[Cell]) -> list[str]:
    """How much the correlation of σ and the error moves with each setting."""
    said = []
    for setting in ("chains", "temperature", "noise"):
        means = []
        for cell in of_kind(cells, "sensitivity", setting=setting):
            mean = spread_of([row["spearman"] for row in cell.found["rows"]])[0]
            if np.isfinite(mean):
                means.append((mean, cell.asked["value"]))
        if means:
            (low, at_low), (high, at_high) = min(means), max(means)
            said.append(
                f"Spearman of σ and the error against {setting}: from {low:.2f} "
                f"(at {at_low:g}) to {high:.2f} (at {at_high:g})."
            )
    return said
