"""The drawings of docs/sampling.md."""

from pathlib import Path
from typing import Any

from mflno.errors import MissingExtra

Row = dict[str, Any]


def draw_page(folder: Path, rules: list[Row], drifts: list[Row], bands: list[Row]) -> None:
    """Write sampling-rules.svg, sampling-drift.svg and sampling-collections.svg."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="drawing the page") from error
    folder.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "mflno", "svg.fonttype": "none"}):
        for name, draw, rows in (
            ("rules", draw_rules, rules),
            ("drift", draw_drift, drifts),
            ("collections", draw_collections, bands),
        ):
            figure = Figure(figsize=(7, 3.4), layout="constrained")
            draw(figure, rows)
            figure.savefig(folder / f"sampling-{name}.svg", metadata={"Date": None})


def draw_rules(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Weight of the left mode and mean energy, rule by rule, against the truth."""
    axes = figure.subplots(1, 2, sharey=True)
    for axis, (column, truth) in zip(axes, (("weight", 0.4), ("E[U]", 1.533)), strict=True):
        names = [f"{r['rule'].replace('`', '')}{', noisy' if r['noise'] else ''}" for r in rows]
        values, errors = [r[column] for r in rows], [3 * r[f"{column} error"] for r in rows]
        axis.errorbar(values, range(len(rows)), xerr=errors, fmt="o", ms=4)
        axis.axvline(truth, color="0.5", lw=1)
        axis.set_yticks(range(len(rows)), names)
        axis.set_xlabel(f"{column} of the cold chain (bars: 3 errors; line: truth)", size=8)
    axes[0].invert_yaxis()


def draw_drift(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Remaining variance against the weight of the adaptive drift."""
    axis = figure.subplots()
    for first in sorted({row["first"] for row in rows}):
        mine = [row for row in rows if row["first"] == first]
        label = f"measured, β₁ = {first:g}"
        axis.semilogx([r["a"] for r in mine], [r["variance"] for r in mine], "o", label=label)
    law = [row for row in rows if row["first"] == rows[0]["first"]]
    axis.semilogx([r["a"] for r in law], [r["law"] for r in law], "-", label="law, slow limit")
    axis.set_xlabel("a / rms gradient")
    axis.set_ylabel("variance / variance without drift")
    axis.legend()


def draw_collections(figure: Any, rows: list[Row]) -> None:  # noqa: ANN401
    """Coverage of nominal 95 % bands, collection by collection."""
    axis = figure.subplots()
    names = [row["collection"].replace("`", "") for row in rows]
    axis.barh(names, [100 * row["coverage"] for row in rows])
    axis.axvline(95, color="0.5", lw=1)
    axis.set_xlabel("share of points inside the 95 % band, %")
    axis.invert_yaxis()
