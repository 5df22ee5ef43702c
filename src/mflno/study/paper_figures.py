"""The paper's figures of each problem, drawn from cells."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from mflno.errors import MissingExtra
from mflno.report import save_figure
from mflno.study.material import Material, paper_tables
from mflno.study.reproduce import Outcome
from mflno.study.tables import METRICS, seeds_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by everybody; each line also has its own dash or mark.
LOOKS: dict[str, dict[str, Any]] = {
    "mflno-active": {"color": "#d55e00", "linestyle": (0, (5, 2)), "marker": "o"},
    "mflno-random": {"color": "#e69f00", "linestyle": (0, (1, 1)), "marker": "s"},
    "mflno-maximin": {"color": "#8c564b", "linestyle": (0, (3, 1, 1, 1)), "marker": "D"},
    "mflno-cold": {"color": "#999999", "linestyle": (0, (2, 2)), "marker": "v"},
    "mf-deeponet": {"color": "#009e73", "linestyle": "-", "marker": "^"},
    "lf-lno": {"color": "#cc79a7", "linestyle": (0, (6, 2, 1, 2)), "marker": "P"},
    "hf-lno": {"color": "#666666", "linestyle": (0, (6, 2, 1, 2)), "marker": "X"},
    "mflno": {"color": "#0072b2", "linestyle": "-", "marker": "h"},
    "pod-gp": {"color": "#56b4e9", "linestyle": (0, (4, 1)), "marker": "<"},
    "auto": {"color": "#000000", "linestyle": "-", "marker": "*"},
}
PREDICTED = ("mflno-active", "mf-deeponet", "lf-lno", "hf-lno", "auto")
INK = "#16202b"


def problem_figures(folder: Path, found: Outcome) -> list[Path]:
    """Every figure of one problem that its cells allow."""
    name, budgets = found.name, found.budgets
    wide = (2.6 * len(budgets) + 1.0, 4.9)
    jobs: list[tuple[str, Callable[[Figure], None], tuple[float, float]]] = [
        ("errors", lambda figure: draw_errors(figure, found), (10.0, 5.2)),
        ("predictions", lambda figure: draw_predictions(figure, found), (10.0, 10.5)),
        ("fidelities", lambda figure: draw_fidelities(figure, found.material), (9.0, 5.0)),
    ]
    if found.at("mflno-active", budgets[0]):
        jobs.append(("acquisition", lambda figure: draw_acquisition(figure, found), wide))
    paths = []
    for words, draw, size in jobs:
        paths += save_figure(folder, f"{name}-{words}", draw, size)
    return paths + (beam_figure(folder) if name == "beam" else [])


def draw_errors(figure: "Figure", found: Outcome) -> None:
    """Mean and maximum error against expensive runs; dotted in grey, what the paper prints."""
    panels = figure.subplots(1, 2)
    printed = paper_tables()[found.name]["by_hf_count"]
    for panel, (words, what) in zip(panels, METRICS, strict=True):
        for contender in found.contenders:
            draw_line(panel, found, contender.key, what, contender.label)
        for method, mark in (("MF-LNO (Active)", "o"), ("MF-LNO (Random)", "s"),
                             ("MF-DeepONet (Random)", "^")):  # fmt: skip
            x = [int(n) for n in printed]
            y = [printed[n][words][method] for n in printed]
            panel.plot(x, y, ":", color="#9aa3ad", marker=mark, mfc="none", lw=1.0, ms=5,
                       label=f"paper: {method}")  # fmt: skip
        ticks = sorted({*found.budgets, *map(int, printed)})
        panel.set(yscale="log", xlabel="expensive runs", xticks=ticks,
                  ylabel=f"{words} relative L² error over the tests")  # fmt: skip
        panel.grid(True, which="major", axis="y", color="#e3e7eb", linewidth=0.7)
        tidy(panel)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8
    )


def draw_line(panel: "Axes", found: Outcome, key: str, what: str, label: str) -> None:
    """One contender: mean over seeds, shaded by their standard deviation."""
    x, mean, spread = [], [], []
    for budget in found.budgets:
        values = seeds_of(found, key, budget, what)
        if len(values) and np.isfinite(values).all():
            x.append(budget)
            mean.append(values.mean())
            spread.append(values.std(ddof=1) if len(values) > 1 else 0.0)
    if not x:
        return
    look, middle, wide = LOOKS[key], np.array(mean), np.array(spread)
    panel.plot(x, middle, label=label, markersize=5, linewidth=1.5, **look)
    floor = np.maximum(middle - wide, 0.3 * middle)
    panel.fill_between(x, floor, middle + wide, color=look["color"], alpha=0.12, linewidth=0)


def draw_predictions(figure: "Figure", found: Outcome) -> None:
    """The paper's five trajectories: the truth, every method, our band."""
    shown, budget = found.material.shown, found.budgets[-1]
    panels = figure.subplots(len(shown), 1, sharex=True)
    for place, panel in enumerate(panels):
        panel.plot(shown.grid, shown.values[place, 0], color=INK, linewidth=1.8, label="truth")
        for contender in found.contenders:
            cell = found.at(contender.key, budget)
            if contender.key not in PREDICTED or cell is None:
                continue
            look = {k: v for k, v in LOOKS[contender.key].items() if k != "marker"}
            mean = cell.arrays["mean"][place, 0]
            panel.plot(shown.grid, mean, linewidth=1.0, label=contender.label, **look)
            if contender.key == "mflno-active":
                half = cell.arrays["half"][place, 0]
                panel.fill_between(shown.grid, mean - half, mean + half, color="#56b4e9",
                                   alpha=0.45, linewidth=0, label="its 95 % band")  # fmt: skip
        pairs = zip(shown.parameters, shown.cases[place], strict=True)
        panel.set_title(
            ", ".join(f"{p.name} = {x:g}" for p, x in pairs), loc="left", fontsize=9
        )
        panel.set(ylabel=shown.outputs[0], xlim=(shown.grid[0], shown.grid[-1]),
                  ylim=room(shown.values[place, 0]))  # fmt: skip
        tidy(panel)
    panels[-1].set_xlabel("time t")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8
    )


def room(values: ndarray) -> tuple[float, float]:
    """Limits that hold the truth and as much again: a lost method must not hide the others."""
    low, high = float(values.min()), float(values.max())
    more = 0.35 * (high - low)
    return low - more, high + more


def draw_acquisition(figure: "Figure", found: Outcome) -> None:
    """σ above, error below, over the plane of candidates, with the runs and the next picks."""
    budgets = [n for n in found.budgets if found.at("mflno-active", n)]
    panels = figure.subplots(2, len(budgets), sharex=True, sharey=True, squeeze=False)
    rows = [found.at("mflno-active", n).found["rows"][0] for n in budgets]  # pyright: ignore
    labels = {"spread": f"mean σ of {found.material.shown.outputs[0]}",
              "errors": "relative L² error"}  # fmt: skip
    for line, (what, label) in zip(panels, labels.items(), strict=True):
        values = [np.array(row["plane"][what]) for row in rows]
        highest = max(map(np.max, values))
        image: Any = None
        for panel, each, row, budget in zip(line, values, rows, budgets, strict=True):
            image = draw_plane(panel, found.material, each, highest)
            mark(panel, found.material, row)
            if what == "spread":
                panel.set_title(f"{budget} runs", loc="left", fontsize=9)
        figure.colorbar(image, ax=list(line), label=label)
    first, second = found.material.problem.parameters
    for panel in panels[-1]:
        panel.set_xlabel(f"{first.name} {first.unit}".strip())
    for line in panels:
        line[0].set_ylabel(f"{second.name} {second.unit}".strip())


def draw_plane(panel: "Axes", data: Material, values: ndarray, highest: float) -> Any:  # noqa: ANN401
    """Candidates as coloured fields of their grid; those held out as tests stay grey."""
    cases = data.candidates.cases
    x, y = (np.unique(column) for column in cases.T)
    grid = np.full((len(y), len(x)), np.nan)
    grid[np.searchsorted(y, cases[:, 1]), np.searchsorted(x, cases[:, 0])] = values
    panel.set_facecolor("#dfe3e8")
    return panel.pcolormesh(x, y, grid, cmap="viridis", vmin=0.0, vmax=highest, rasterized=True)


def mark(panel: "Axes", data: Material, row: dict[str, Any]) -> None:
    """Runs that are known as rings, those chosen next as crosses."""
    x, y = data.candidates.cases[row["picks"]].T
    panel.plot(x, y, "o", mfc="none", mec="w", mew=1.6, ms=8)
    if row["next"]:
        x, y = data.candidates.cases[row["next"]].T
        panel.plot(x, y, "x", color="#d5201e", mew=2.2, ms=8)


def draw_fidelities(figure: "Figure", data: Material) -> None:
    """Some candidates at both levels."""
    panels = figure.subplots(2, 1, sharex=True)
    top = data.problem.levels[-1]
    chosen = np.linspace(0, len(data.candidates) - 1, 8).round().astype(int)
    sets = ((data.lower[0], data.problem.levels[0].name), (data.candidates, top.name))
    for panel, (runs, name) in zip(panels, sets, strict=True):
        for shade, index in zip(np.linspace(0.05, 0.9, len(chosen)), chosen, strict=True):
            panel.plot(runs.grid, runs.values[index, 0], color=viridis(shade), linewidth=0.9)
        panel.set_title(f"{name}: {len(runs.grid)} points", loc="left", fontsize=9)
        panel.set(ylabel=runs.outputs[0], xlim=(runs.grid[0], runs.grid[-1]))
        tidy(panel)
    panels[-1].set_xlabel("time t")


def viridis(share: float) -> Any:  # noqa: ANN401
    """A colour of the map."""
    import matplotlib as mpl

    return mpl.colormaps["viridis"](share)


def tidy(panel: "Axes") -> None:
    """No frame at the top and right."""
    panel.spines[["top", "right"]].set_visible(False)


def beam_figure(folder: Path) -> list[Path]:
    """Configuration, mesh and bending of the beam, where scikit-fem is installed."""
    from mflno.problems import Beam
    from mflno.report.beam_picture import draw_beam

    try:
        figure = draw_beam(Beam(), np.array([1.0, 10000.0]))
    except MissingExtra:
        return []
    paths = [folder / "beam-configuration.svg", folder / "beam-configuration.png"]
    figure.savefig(paths[0], metadata={"Date": None})
    figure.savefig(paths[1], dpi=130)
    return paths
