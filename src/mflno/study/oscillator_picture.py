"""A picture of a net that learned the oscillator: an answer, and its poles.

python -m mflno.study.oscillator_picture FILE [--steps 2000]
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from mflno.errors import MissingExtra
from mflno.operators import LaplaceOperator
from mflno.study.oscillator import (
    DAMPING,
    FREQUENCY,
    HELD_OUT,
    SPAN,
    Cases,
    recipe_for,
    relative_errors,
    trained,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, FADED, ACCENT = "#26323f", "#9aa7b5", "#c8553d"


def draw(path: Path, operator: LaplaceOperator) -> None:
    """Write the picture; its suffix names the format.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="the picture") from error
    with rc_context({"svg.hashsalt": "mflno", "font.size": 9}):
        figure = Figure(figsize=(9.0, 3.2), layout="constrained")
        panels = figure.subplots(1, 2, width_ratios=[2, 1])
        draw_worst(panels[0], operator)
        draw_poles(panels[1], operator)
        for axes in panels:
            axes.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)


@torch.no_grad()
def draw_worst(axes: "Axes", operator: LaplaceOperator) -> None:
    """Forcing, response and prediction of the held-out case with the largest error."""
    cases = Cases.drawn(0, count=HELD_OUT, points=512, varied=False, held_out=True)
    predicted = operator(cases.inputs, cases.grid)
    errors = relative_errors(predicted, cases.values)
    worst, grid = int(errors.argmax()), cases.grid.numpy()
    axes.plot(grid, cases.inputs[worst, 0], color=FADED, linewidth=0.9, label="forcing f")
    axes.plot(grid, cases.values[worst, 0], color=INK, linewidth=2.4, label="response u")
    line = {"color": ACCENT, "linestyle": (0, (4, 3)), "linewidth": 1.6}
    axes.plot(grid, predicted[worst, 0], label="LNO", **line)
    text = f"worst of {HELD_OUT} held-out cases: error {errors[worst]:.2%}"
    axes.set_title(f"{text} (mean {errors.mean():.2%})", loc="left", fontsize=9)
    axes.set(xlabel="time", xlim=(0.0, SPAN))
    axes.legend(loc="lower right", ncols=3, frameon=False, fontsize=8)


def draw_poles(axes: "Axes", operator: LaplaceOperator) -> None:
    """The learned poles in the upper half plane, as large as their part in the answer."""
    poles, residues = operator.poles()[0].detach(), operator.residues()[0].detach()
    real, imaginary = poles.real.flatten(), poles.imag.abs().flatten()
    weight = residues.abs().flatten() / real.abs()
    sizes = 220.0 * weight / weight.max()
    axes.scatter(real, imaginary, sizes, color=FADED, alpha=0.7, label="learned")
    turn = FREQUENCY * (1 - DAMPING**2) ** 0.5
    mark = {"color": ACCENT, "marker": "+", "s": 160, "linewidths": 1.8}
    axes.scatter(-DAMPING * FREQUENCY, turn, label="of the oscillator", **mark)
    axes.set(xlabel="Re μ", ylabel="Im μ")
    axes.set_title("poles", loc="left", fontsize=9)
    axes.legend(loc="upper left", frameon=False, fontsize=8)


def main(words: list[str]) -> int:
    """Train one seed and draw it."""
    parser = argparse.ArgumentParser(prog="mflno.study.oscillator_picture", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--steps", type=int, default=2000)
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    (operator,) = trained([0], recipe_for(varied=False, steps=asked.steps), varied=False)
    draw(asked.file, operator)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
