"""The interactive part of a page: an exported surrogate, its spread over the box, its runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.interpolate import make_interp_spline
from scipy.stats import qmc

from mflno.data import Parameter
from mflno.multifidelity import Surrogate
from mflno.report.blocks import Block, packed, percent
from mflno.report.export import (
    MOST_AXES,
    Export,
    ExportError,
    Factors,
    Predict,
    exported,
    factored,
    nodes,
    told,
)
from mflno.shapes import Float

SCORE_SIZES = {1: 65, 2: 17, 3: 9}
STORED = 256
EXPLAIN = (
    "Move the sliders, or click, drag or use the arrow keys in the plane. Colour is the "
    "predicted standard deviation, averaged over time; numbers are the rounds that chose the "
    "runs, dashed rings what the next round chose. Click a run to lay it over the prediction."
)


@dataclass(frozen=True)
class Marked:
    """One run as the plane shows it.

    Attributes:
        name: Its name.
        place: In [-1, 1].
        round: Which round chose it.
        state: `done`, `failed`, or at work.
        text: What a tooltip says.
        values: Its trajectory, where it has one.
        top: Whether it is of the highest level.
    """

    name: str
    place: Float[ndarray, " P"]
    round: int
    state: str
    text: str
    values: Float[ndarray, "O T"] | None = None
    top: bool = True


@dataclass(frozen=True)
class Stage:
    """One fit: the round it followed, and what it predicts where that is still known."""

    number: int
    predict: Predict | None = None


@dataclass(frozen=True)
class Axes:
    """What the trajectories are functions of."""

    parameters: tuple[Parameter, ...]
    outputs: tuple[str, ...]
    grid: Float[ndarray, " T"]
    radius: tuple[tuple[float, float], ...] = ((0.6827, 1.0), (0.95, 1.96))

    @classmethod
    def of(cls, surrogate: Surrogate) -> "Axes":
        """Those of a surrogate."""
        told = surrogate.problem
        box, names = tuple(told.parameters), tuple(told.outputs)
        return cls(box, names, told.levels[-1].grid, surrogate.bands.radius)


def explorer(
    axes: Axes, stages: Sequence[Stage], runs: Sequence[Marked], *, most: int = 2200
) -> Block:
    """The explorer's data; the last stage's surrogate is exported.

    Args:
        axes: Parameters, outputs, grid and band.
        stages: Fits in order; the last one has a `predict`.
        runs: What the plane marks.
        most: Predictions to make the copy from, at most.
    """
    predict = stages[-1].predict
    assert predict is not None
    model, accuracy = packed_model(predict, len(axes.parameters), most)
    done = [(run, run.values) for run in runs if run.values is not None]
    rows = {id(run): row for row, (run, _) in enumerate(done)}
    step = float(axes.grid[1] - axes.grid[0])
    return {
        "parameters": [
            {"name": p.name, "unit": p.unit, "low": p.low, "high": p.high}
            for p in axes.parameters
        ],
        "outputs": list(axes.outputs),
        "time": {"label": "t", "start": float(axes.grid[0]), "step": step,
                 "count": len(axes.grid)},
        "radius": [list(each) for each in axes.radius],
        "runs": [packed_run(run, rows.get(id(run))) for run in runs],
        "rounds": [
            {"number": stage.number, "score": packed_score(stage.predict, len(axes.parameters))}
            for stage in stages
        ],
        "truths": {"values": packed(np.stack([v for _, v in done]))} if done else None,
        "start": start_place(model, len(axes.parameters)),
        "model": model, "accuracy": accuracy,
        "explain": EXPLAIN,
    }  # fmt: skip


def start_place(model: Block, axes: int) -> list[float]:
    """Where the reader begins: somewhat off the centre, where there are seldom runs."""
    return model["cases"][0] if model["kind"] == "nearest" else [0.12] * axes


def packed_run(run: Marked, row: int | None) -> Block:
    """One run for the page."""
    return {
        "name": run.name, "place": [float(x) for x in run.place], "round": run.round,
        "state": run.state, "text": run.text, "row": row, "top": run.top,
    }  # fmt: skip


def packed_model(predict: Predict, axes: int, most: int) -> tuple[Block, str]:
    """The surrogate for the page, and how exact that is, in words."""
    if axes > MOST_AXES:
        return nearest_model(predict, axes)
    found = exported(predict, axes, most=most)
    error = told(found)
    words = (
        f"This page holds its own small copy of the surrogate: {found.mean.weights.shape[0]} "
        f"nodes along each parameter. At {error.checks} cases between its nodes the copy is "
        f"off by at most {percent(error.relative)} of the trajectory{in_band(error)}; the "
        f"width of its band by at most {percent(error.spread)} of the typical σ."
    )
    if not error.enough:
        words += (
            " That is coarser than wanted: ask the surrogate itself for figures that count."
        )
    return splines_model(found), words


def in_band(error: ExportError) -> str:
    """The copy's error beside σ, as long as that is a share of it."""
    if error.in_spread <= 1.0:
        return f" and {percent(error.in_spread)} of the typical σ"
    return ", more than the typical σ of so narrow a band"


def splines_model(found: Export) -> Block:
    """An export for the page."""
    return {
        "kind": "splines", "power": found.power,
        "knots": [[float(x) for x in each] for each in found.knots],
        "sizes": list(found.mean.weights.shape[:-1]),
        "mean": packed_factors(found.mean), "spread": packed_factors(found.spread),
    }  # fmt: skip


def nearest_model(predict: Predict, axes: int) -> tuple[Block, str]:
    """Single predictions all over the box, for more parameters than a grid can hold."""
    cases = qmc.scale(qmc.Sobol(axes, scramble=False).random(STORED), -1, 1)
    cases = np.concatenate([np.zeros((1, axes)), cases[1:]])
    mean, spread = predict(cases)
    both = []
    for values in (mean, spread):
        flat = values.reshape(len(values), -1)
        both.append(lone(flat, 2e-4 * float(np.sqrt(np.mean(flat**2)))))
    model = {"kind": "nearest", "power": 1, "cases": cases.round(9).tolist(),
             "mean": packed_factors(both[0]), "spread": packed_factors(both[1])}  # fmt: skip
    words = (
        f"With {axes} parameters the page holds {STORED} predictions spread over the box and "
        "shows the nearest; ask the surrogate itself for any other case."
    )
    return model, words


def lone(values: Float[ndarray, "N D"], tolerance: float) -> Factors:
    """Shapes and weights case by case, nothing between."""
    found = factored(values, np.arange(len(values), dtype=float), tolerance)
    centre, shapes = found.centre.astype(float), found.shapes.astype(float)
    return Factors(found.centre, found.shapes, (values - centre) @ shapes.T)


def packed_factors(found: Factors) -> Block:
    """Shapes and weights for the page."""
    return {
        "rank": len(found.shapes), "centre": packed(found.centre),
        "shapes": packed(found.shapes), "weights": packed(found.weights),
    }  # fmt: skip


def packed_score(predict: Predict | None, axes: int) -> dict[str, Any] | None:
    """The spread averaged over time as splines over the box, where it can be had."""
    if predict is None or axes > MOST_AXES:
        return None
    size = SCORE_SIZES[axes]
    line = np.round(np.linspace(-1.0, 1.0, size), 12)
    weights = score_of(predict, nodes(size, axes)).reshape([size] * axes)
    for each in range(axes):
        spline = make_interp_spline(line, weights, k=3, axis=each)
        weights = np.moveaxis(spline.c, 0, each)
    knots = [float(x) for x in make_interp_spline(line, np.zeros(size), k=3).t]
    return {"knots": [knots] * axes, "sizes": [size] * axes, "weights": packed(weights)}


def score_of(predict: Predict, cases: Float[ndarray, "N P"]) -> Float[ndarray, " N"]:
    """A(μ) of Eq. 18 of the paper: the standard deviation averaged over time and outputs."""
    return predict(cases)[1].mean(axis=(1, 2))
