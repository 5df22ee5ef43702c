"""The page's figures as SVG and PNG files, for a slide or a paper."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from mflno.errors import MissingExtra
from mflno.report.export import MOST_AXES, Predict
from mflno.report.packing import Axes, Marked, Stage, score_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Panel
    from matplotlib.figure import Figure

INK, FADED, BLUE, RED, GREEN = "#16202b", "#8d99a5", "#0b66a8", "#c2500a", "#00785a"
SIDE = 41


def save_figure(
    folder: Path, name: str, draw: Callable[["Figure"], None], size: tuple[float, float]
) -> list[Path]:
    """Draw once, write as SVG with its text as text, and as PNG.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="figures as files") from error
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    # A fixed salt and no date: the same figure is the same file.
    with mpl.rc_context({"svg.hashsalt": "mflno", "svg.fonttype": "none", "font.size": 9.0}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(paths[0], metadata={"Date": None})
        figure.savefig(paths[1], dpi=150)
    return paths


def campaign_figures(
    folder: Path, axes: Axes, stages: Sequence[Stage], runs: Sequence[Marked]
) -> list[Path]:
    """The spread over the plane round by round, and predictions over their runs."""
    live = [stage for stage in stages if stage.predict is not None]
    if not live:
        return []
    found: list[Path] = []
    if len(axes.parameters) == 2 <= MOST_AXES:
        size = (2.9 * len(live) + 0.6, 3.0)
        draw = lambda figure: draw_planes(figure, axes, live, runs)
        found += save_figure(folder, "spread", draw, size)
    draw = lambda figure: draw_predictions(figure, axes, live[-1].predict, runs)
    return found + save_figure(folder, "predictions", draw, (9.0, 6.0))


def draw_planes(
    figure: "Figure", axes: Axes, stages: Sequence[Stage], runs: Sequence[Marked]
) -> None:
    """σ averaged over time, one panel a fit, on one scale."""
    line = np.linspace(-1.0, 1.0, SIDE)
    places = np.stack([each.ravel() for each in np.meshgrid(line, line, indexing="ij")], 1)
    maps = [score_of(s.predict, places).reshape(SIDE, SIDE) for s in stages if s.predict]
    panels = np.atleast_1d(figure.subplots(1, len(stages), sharey=True))
    first, second = axes.parameters
    box = (first.low, first.high, second.low, second.high)
    from matplotlib.colors import LogNorm

    highest = float(max(map(np.max, maps)))
    scale = LogNorm(max(float(min(map(np.min, maps))), highest / 300), highest)
    image = None
    for panel, stage, values in zip(panels, stages, maps, strict=True):
        image = panel.imshow(values.T, cmap="viridis", norm=scale, interpolation="bilinear",
                             origin="lower", extent=box, aspect="auto")  # fmt: skip
        mark_runs(panel, axes, runs, stage.number)
        panel.set_title(f"after round {stage.number}", loc="left", fontsize=9)
        panel.set_xlabel(f"{first.name} {first.unit}".strip())
    panels[0].set_ylabel(f"{second.name} {second.unit}".strip())
    if image is not None:
        words = f"mean σ of {', '.join(axes.outputs)}"
        figure.colorbar(image, ax=list(panels), label=words)


def mark_runs(panel: "Panel", axes: Axes, runs: Sequence[Marked], number: int) -> None:
    """Runs that are known as discs, those chosen next as crosses."""
    low = np.array([p.low for p in axes.parameters])
    high = np.array([p.high for p in axes.parameters])
    place = lambda run: low + (run.place + 1.0) / 2.0 * (high - low)
    for run in runs:
        if not run.top or run.round > number + 1:
            continue
        x, y = place(run)
        late = run.round == number + 1
        if late:
            panel.plot(x, y, "x", color=RED, markersize=7, mew=2.2, clip_on=False)
        else:
            panel.plot(x, y, "o", color="w", mec=INK, markersize=5, clip_on=False)


def draw_predictions(
    figure: "Figure", axes: Axes, predict: Predict | None, runs: Sequence[Marked]
) -> None:
    """The last surrogate at four places that no run is near."""
    if predict is None:
        return
    places = lonely(np.array([run.place for run in runs if run.top]), len(axes.parameters))
    mean, std = predict(places)
    levels, widths = zip(*axes.radius, strict=True)
    width = float(np.interp(0.95, levels, widths))
    panels = figure.subplots(len(places), 1, sharex=True)
    for panel, place, m, s in zip(panels, places, mean[:, 0], std[:, 0], strict=True):
        panel.fill_between(axes.grid, m - width * s, m + width * s, color=BLUE, alpha=0.25,
                           linewidth=0, label="95 % band")  # fmt: skip
        panel.plot(axes.grid, m, color=BLUE, linewidth=1.1, label="prediction")
        words = [f"{p.name} = {p.low + (x + 1) / 2 * (p.high - p.low):.4g} {p.unit}".strip()
                 for p, x in zip(axes.parameters, place, strict=True)]  # fmt: skip
        panel.set_title(", ".join(words), loc="left", fontsize=9)
        panel.set(ylabel=axes.outputs[0], xlim=(axes.grid[0], axes.grid[-1]))
    panels[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    panels[-1].set_xlabel("t")


def lonely(known: ndarray, axes: int, count: int = 4) -> ndarray:
    """Places in [-1, 1] far from the runs and from each other."""
    generator = np.random.default_rng(0)
    pool = generator.uniform(-0.95, 0.95, (512, axes))
    taken = known.reshape(-1, axes)
    found = []
    for _ in range(count):
        gaps = np.linalg.norm(pool[:, None] - taken[None], axis=-1).min(1)
        found.append(pool[gaps.argmax()])
        taken = np.concatenate([taken, found[-1][None]])
    return np.array(found)
