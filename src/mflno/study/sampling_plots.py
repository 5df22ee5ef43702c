"""The drawings of docs/sampling.md.

Colours are two of Okabe and Ito's, told apart by everybody; shape or place says the same.
"""

from pathlib import Path
from typing import Any

from mflno.errors import MissingExtra

Row = dict[str, Any]
BLUE, RED, GREY = "#0072B2", "#D55E00", "0.45"
STYLE: Any = {
    "svg.hashsalt": "mflno", "svg.fonttype": "path", "font.size": 9, "axes.grid": True,
    "grid.color": "0.9", "axes.axisbelow": True,
}  # fmt: skip


def draw_page(folder: Path, found: dict[str, Any]) -> None:
    """Write the page's four drawings."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="drawing the page") from error
    drawings = {
        "rules": (draw_rules, found["rules"], 4.0),
        "drift": (draw_drift, found["drift"], 3.2),
        "collections": (draw_collections, found["collections"]["rows"], 3.6),
        "bands": (draw_bands, found["collections"]["bands"], 2.6),
    }
    with mpl.rc_context(STYLE):
        for name, (draw, rows, height) in drawings.items():
            figure = Figure(figsize=(7.6, height), layout="constrained")
            draw(figure, rows)
            # a white ground keeps the text readable where pages are dark
            figure.savefig(
                folder / f"sampling-{name}.svg", metadata={"Date": None}, facecolor="white"
            )


def draw_rules(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Weight of the left mode and mean energy, rule by rule, against the truth."""
    axes = figure.subplots(1, 2, sharey=True)
    names = [f"{r['rule'].replace('`', '')}{', noise 2' if r['noise'] else ''}" for r in rows]
    panels = (
        ("weight", "weight error", 0.4, "weight of the left mode"),
        ("E[U]", "energy error", 1.533, "mean energy E[U]"),
    )
    for axis, (column, errors, truth, title) in zip(axes, panels, strict=True):
        axis.axvline(truth, color=GREY, lw=1.2, ls="--")
        for place, row in enumerate(rows):
            error = 3 * row[errors]
            off = abs(row[column] - truth) > error
            colour, shape = (RED, "D") if off else (BLUE, "o")
            axis.errorbar(
                row[column], place, xerr=error, fmt=shape, ms=5, color=colour, capsize=2
            )
        axis.set_yticks(range(len(rows)), names)
        axis.set_xlabel(f"{title}, coldest chain")
    axes[0].invert_yaxis()
    key(figure, [(BLUE, "o", "truth within 3 errors"), (RED, "D", "truth outside")])


def key(figure: Any, entries: list[tuple[str, str, str]]) -> None:  # noqa: ANN401
    """What colours and shapes mean, above all panels."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=colour, marker=shape, ls="", label=text)
        for colour, shape, text in entries
    ]
    handles.append(Line2D([], [], color=GREY, ls="--", label="truth or target"))
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), frameon=False
    )


def draw_drift(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Remaining variance against the weight of the adaptive drift."""
    axis = figure.subplots()
    shapes = {0.0: (BLUE, "o"), 0.9: (RED, "D")}
    for first, (colour, shape) in shapes.items():
        mine = [row for row in rows if row["first"] == first]
        axis.errorbar(
            [r["a"] for r in mine], [r["variance"] for r in mine],
            yerr=[3 * r["error"] for r in mine], fmt=shape, ms=5, color=colour, capsize=2,
            label=f"measured, β₁ = {first:g} (bars: 3 errors)",
        )  # fmt: skip
    shares = [10 ** (k / 25) for k in range(-52, 14)]
    law = [((share**2 + 4) ** 0.5 - share) ** 2 / 4 for share in shares]
    axis.plot(shares, law, "--", color=GREY, label="law s²")
    axis.set_xscale("log")
    axis.set_ylim(0, 1.1)
    axis.set_xlabel("weight a of the adaptive drift, over the rms gradient without it")
    axis.set_ylabel("variance / (τ/k)")
    axis.legend(frameon=False)


def draw_collections(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Coverage of nominal 95 % bands and CRPS, collection by collection."""
    left, right = figure.subplots(1, 2, sharey=True)
    names = [row["collection"].replace("`", "") for row in rows]
    for place, row in enumerate(rows):
        cover, ends = row["coverage"], (row["least coverage"], row["most coverage"])
        reach = [[100 * (cover - ends[0])], [100 * (ends[1] - cover)]]
        left.errorbar(100 * cover, place, xerr=reach, fmt="o", ms=5, color=BLUE, capsize=2)
        right.plot(row["CRPS"], place, "D", ms=5, color=RED)
    left.axvline(95, color=GREY, lw=1.2, ls="--")
    left.set_yticks(range(len(rows)), names)
    left.set_xlim(0, 103)
    left.set_xlabel("points inside the 95 % band, %")
    right.set_xlim(0)
    right.set_xlabel("CRPS (smaller is better)")
    left.invert_yaxis()
    key(figure, [(BLUE, "o", "mean and range of the seeds"), (RED, "D", "mean")])


def draw_bands(figure: Any, bands: dict[str, Any]) -> None:  # noqa: ANN401
    """Error of the mean inside or outside its band, for one held-out case."""
    axes = figure.subplots(1, len(bands), sharex=True, sharey=True)
    for axis, (name, band) in zip(axes, bands.items(), strict=True):
        half = band["half"]
        axis.fill_between(
            band["time"], [-h for h in half], half, color=BLUE, alpha=0.3, lw=0,
            label="95 % band",
        )  # fmt: skip
        axis.plot(band["time"], band["error"], color=RED, lw=1.2, label="truth - mean")
        axis.set_title(name.replace("`", ""), fontsize=9)
        axis.set_xlabel("time t")
    axes[0].set_ylabel("displacement about the mean")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
