"""Figures of the appendix: step sizes, chains, sensitivity, exchange, poles."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mflno.report import save_figure
from mflno.study.ablations import spread_of
from mflno.study.cells import Cell
from mflno.study.paper_figures import tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, INK, FADED = "#0072b2", "#d55e00", "#009e73", "#16202b", "#9aa3ad"
Draw = Callable[["Figure", list[Cell]], None]


def appendix_figures(folder: Path, known: list[Cell]) -> list[Path]:
    """Every figure of the appendix whose cells are there."""
    jobs: dict[str, tuple[Draw, tuple[float, float]]] = {
        "learning-rate": (draw_rates, (6.0, 3.6)),
        "chains": (draw_chains, (6.0, 3.6)),
        "sensitivity": (draw_sensitivity, (10.5, 3.6)),
        "exchange": (draw_exchange, (9.0, 4.4)),
        "poles": (draw_poles, (9.5, 4.2)),
    }
    paths = []
    for kind, (draw, size) in jobs.items():
        cells = [cell for cell in known if cell.asked["kind"] == kind]
        if cells:
            paths += save_figure(folder, kind, lambda f, d=draw, c=cells: d(f, c), size)
    return paths


def banded(panel: "Axes", x: Sequence[float | int], rows: Sequence[Any], **look: Any) -> None:  # noqa: ANN401
    """Mean of repeats with the 95 % interval of the mean; crosses where some diverged."""
    found = [spread_of(row) for row in rows]
    mean, half, lost = (np.array(column, dtype=float) for column in zip(*found, strict=True))
    panel.plot(x, mean, **look)
    half = np.nan_to_num(half)
    panel.fill_between(x, np.maximum(mean - half, 1e-9), mean + half, alpha=0.18, linewidth=0,
                       color=look["color"])  # fmt: skip
    where: Any = {"xycoords": ("data", "axes fraction"), "rotation": 90, "fontsize": 7}
    for place, count in zip(x, lost, strict=True):
        if count:
            panel.annotate(
                f"{count:.0f} diverged", (place, 0.97), va="top", ha="right", **where
            )


def draw_rates(figure: "Figure", cells: list[Cell]) -> None:
    """Error against the first step size."""
    panel = figure.subplots()
    cells = sorted(cells, key=lambda cell: cell.asked["rate"])
    x = [cell.asked["rate"] for cell in cells]
    banded(panel, x, [cell.found["errors"] for cell in cells], color=BLUE, marker="o")
    panel.set(xscale="log", yscale="log", xlabel="first learning rate η",
              ylabel="mean relative L² error, Duffing")  # fmt: skip
    repeats = cells[0].asked["repeats"]
    panel.set_title(
        f"{repeats} repeats, τ = 0; shaded: 95 % of the mean", loc="left", fontsize=9
    )
    tidy(panel)


def draw_chains(figure: "Figure", cells: list[Cell]) -> None:
    """Error against the number of chains, for a linear and a nonlinear correction."""
    panel = figure.subplots()
    for relation, colour, marker in (("linear", RED, "s"), ("nonlinear", BLUE, "o")):
        own = [cell for cell in cells if cell.asked["relation"] == relation]
        own.sort(key=lambda cell: cell.asked["chains"])
        x = [cell.asked["chains"] for cell in own]
        rows = [cell.found["errors"] for cell in own]
        if rows:
            label = f"{relation} correction alone"
            banded(panel, x, rows, color=colour, marker=marker, label=label)
    panel.set(xlabel="number of chains", ylabel="mean relative L² error, Lorenz")
    repeats = cells[0].asked["repeats"]
    panel.set_title(
        f"{repeats} repeats, τ = 0; shaded: 95 % of the mean", loc="left", fontsize=9
    )
    panel.legend(frameon=False)
    tidy(panel)


def draw_sensitivity(figure: "Figure", cells: list[Cell]) -> None:
    """Pearson and Spearman of σ and the error, against each setting."""
    panels = figure.subplots(1, 3, sharey=True)
    names = {"chains": "chains", "temperature": "hottest temperature τ", "noise": "noise × s"}
    for panel, (setting, label) in zip(panels, names.items(), strict=True):
        own = [cell for cell in cells if cell.asked["setting"] == setting]
        own.sort(key=lambda cell: cell.asked["value"])
        x = [cell.asked["value"] for cell in own]
        for what, colour, marker in (("pearson", RED, "s"), ("spearman", BLUE, "o")):
            rows = [[row[what] for row in cell.found["rows"]] for cell in own]
            if rows:
                banded(panel, x, rows, color=colour, marker=marker, label=what.title())
        if setting != "chains":
            # Noise may be 0: linear below the smallest that is not.
            least = min([each for each in x if each > 0], default=1.0)
            panel.set_xscale("symlog", linthresh=least)
        panel.set(xlabel=label, ylim=(-1.05, 1.05))
        panel.axhline(0.0, color=FADED, linewidth=0.8)
        tidy(panel)
    panels[0].set_ylabel("correlation of σ with the error")
    panels[0].legend(frameon=False)


def draw_exchange(figure: "Figure", cells: list[Cell]) -> None:
    """The states of a ladder's coldest and hottest chain, and where they swapped."""
    cell = cells[0]
    paths, swapped = cell.arrays["paths"], cell.arrays["swapped"]
    upper, lower = figure.subplots(2, 1, sharex=True)
    taus = cell.found["temperatures"]
    for panel, row, colour in ((upper, 0, BLUE), (lower, len(paths) - 1, RED)):
        panel.plot(paths[row], color=colour, linewidth=0.6)
        panel.set_title(f"chain {row + 1}, τ = {taus[row]:.3g}", loc="left", fontsize=9)
        panel.set_ylabel("state θ")
        for mode in (-4.0, 3.0):
            panel.axhline(mode, color=FADED, linewidth=0.8, linestyle=":")
        tidy(panel)
    moments = np.flatnonzero(swapped[:, 0] > 0)
    upper.plot(moments, np.full(len(moments), -7.2), "|", color=INK, ms=7, label="swap")
    upper.legend(frameon=False, loc="upper right", ncols=2)
    lower.set_xlabel("iteration")


def draw_poles(figure: "Figure", cells: list[Cell]) -> None:
    """Poles of each Laplace layer in the upper half plane, beside the data's frequencies."""
    panels = figure.subplots(1, len(cells), squeeze=False)[0]
    looks = {"G_L": (BLUE, "o"), "correction linear": (RED, "s"),
             "correction nonlinear": (GREEN, "^")}  # fmt: skip
    for panel, cell in zip(panels, cells, strict=True):
        for name, (colour, marker) in looks.items():
            own = cell.found["poles"].get(name)
            if own is None:
                continue
            sizes = 12 + 90 * np.array(own["weight"])
            height = np.abs(own["imaginary"])
            panel.scatter(own["real"], height, sizes, colour, marker, alpha=0.55, label=name,
                          linewidths=0)  # fmt: skip
        for number, wave in enumerate(cell.found["waves"]):
            label = "strongest in the runs" if number == 0 else None
            panel.axhline(wave, color=FADED, linewidth=0.9, linestyle="--", label=label)
        panel.set(xlabel="Re μ", ylabel="|Im μ|")
        panel.set_xscale("symlog", linthresh=0.1)
        panel.set_title(cell.asked["problem"], loc="left", fontsize=9)
        tidy(panel)
    panels[0].legend(frameon=False, fontsize=8)
