"""Error against expensive runs, a panel a problem: methods compared, and the paper's lines.

python -m mflno.study.compare_picture PICTURE.svg lorenz.json duffing.json beam.json

reads what `mflno compare --json FILE` wrote.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mflno.errors import MissingExtra
from mflno.study.material import paper_tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = {
    "auto": ("Auto, the default", "#d55e00", "o", 2.2),
    "mf-gp": ("autoregressive GP", "#009e73", "s", 1.2),
    "pod-gp": ("POD-GP, no cheap runs", "#0072b2", "^", 1.2),
    "line": ("pointwise line", "#cc79a7", "v", 1.2),
}
"""Label, colour, marker and width of each method."""
PRINTED = {"MF-LNO (Active)": "-", "MF-LNO (Random)": "--", "MF-DeepONet (Random)": ":"}
TITLES = {"lorenz": "Forced Lorenz", "duffing": "Duffing", "beam": "Composite beam"}


def means(path: Path) -> tuple[str, dict[str, dict[int, list[float]]]]:
    """The problem, and the mean error of each method, budget and seed."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.open(encoding="utf-8")]
    for row in rows:
        if "mean" in row:
            found[row["method"]][row["budget"]].append(row["mean"])
    return rows[0]["problem"], found


def panel(axes: "Axes", path: Path) -> None:
    """One problem: a line a method, a dot a seed; the paper in grey."""
    problem, found = means(path)
    printed = paper_tables()[problem]["by_hf_count"]
    budgets = [int(each) for each in printed if int(each) <= 9]
    for name, style in PRINTED.items():
        values = [printed[str(each)]["average"].get(name, np.nan) for each in budgets]
        axes.semilogy(budgets, values, style, color="#808080", lw=1.2, label=f"paper: {name}")
    for name, (label, color, marker, width) in SHOWN.items():
        cells = sorted(found.get(name, {}).items())
        for runs, values in cells:
            axes.semilogy([runs] * len(values), values, ".", color=color, ms=3, alpha=0.5)
        line = [float(np.mean(values)) for _, values in cells]
        axes.semilogy(
            [runs for runs, _ in cells], line, color=color, marker=marker, lw=width, label=label
        )
    axes.set(title=TITLES.get(problem, problem), xlabel="expensive runs", xticks=budgets)
    axes.grid(visible=True, which="major", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)


def draw(target: Path, paths: Sequence[Path]) -> None:
    """Write the picture.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="the picture") from error
    with rc_context({"svg.hashsalt": "mflno", "font.size": 9}):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        panels = figure.subplots(1, len(paths), squeeze=False)[0]
        for axes, path in zip(panels, paths, strict=True):
            panel(axes, path)
        panels[0].set_ylabel("mean relative L² error, 100 held-out cases")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        target.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if target.suffix == ".svg" else None
        figure.savefig(target, metadata=metadata, dpi=120)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
