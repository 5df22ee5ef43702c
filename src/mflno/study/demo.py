"""A damped oscillator learned from examples: the shortest story this package can tell.

    ü + 2ζω u̇ + ω² u = f(t),    u = u̇ = 0 at t = 0

The forcings are random sums of sines, the responses are known in closed form, and an LNO learns
to turn the one into the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy import ndarray

from mflno.errors import MissingExtra
from mflno.operators import LaplaceOperator, Spectrum, build_operator
from mflno.seeds import numpy_stream, torch_stream
from mflno.shapes import Float

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FREQUENCY, DAMPING = 2.0, 0.1
SPAN, POINTS, WAVES = 20.0, 256, 4
LEARNED, HELD_OUT = 64, 32
RATE = 1e-2
INK, FADED, ACCENT = "#26323f", "#9aa7b5", "#c8553d"


def responses(
    amplitudes: Float[ndarray, "N W"],
    frequencies: Float[ndarray, "N W"],
    phases: Float[ndarray, "N W"],
    time: Float[ndarray, " T"],
) -> tuple[Float[ndarray, "N T"], Float[ndarray, "N T"]]:
    """Forcings f = Σ a sin(Ωt + φ), and the oscillator's answers to them from rest.

    ```
    u = Im Σ G a exp(iΩt + iφ) - exp(-ζωt) (p cos νt + q sin νt),    ν = ω sqrt(1 - ζ²)
    G = 1 / (ω² - Ω² + 2iζωΩ)
    ```

    with p and q such that u and its first derivative vanish at t = 0.
    """
    waves = amplitudes[..., None] * np.exp(
        1j * (frequencies[..., None] * time + phases[..., None])
    )
    stiffness, decay = FREQUENCY**2, DAMPING * FREQUENCY
    gain = 1.0 / (stiffness - frequencies**2 + 2j * decay * frequencies)
    steady = (gain[..., None] * waves).sum(1).imag
    started = amplitudes * np.exp(1j * phases) * gain
    place, speed = started.sum(1).imag, (1j * frequencies * started).sum(1).imag
    turn = FREQUENCY * np.sqrt(1 - DAMPING**2)
    sine = (speed + decay * place) / turn
    swing = place[:, None] * np.cos(turn * time) + sine[:, None] * np.sin(turn * time)
    return waves.sum(1).imag, steady - np.exp(-decay * time) * swing


@dataclass(frozen=True)
class Examples:
    """Forcings and responses; the last `HELD_OUT` cases are never learned from."""

    grid: Float[torch.Tensor, " T"]
    inputs: Float[torch.Tensor, "N 1 T"]
    values: Float[torch.Tensor, "N 1 T"]

    @classmethod
    def drawn(cls, seed: int) -> "Examples":
        """Examples with forcings from a named stream of the seed."""
        generator = numpy_stream(seed, "demo", "forcings")
        shape = (LEARNED + HELD_OUT, WAVES)
        amplitudes = generator.normal(size=shape)
        frequencies = generator.uniform(0.2, 2.0 * FREQUENCY, size=shape)
        phases = generator.uniform(0.0, 2.0 * np.pi, size=shape)
        time = np.linspace(0.0, SPAN, POINTS)
        arrays = responses(amplitudes, frequencies, phases, time)
        forcings, values = (torch.from_numpy(each).float()[:, None] for each in arrays)
        return cls(torch.from_numpy(time).float(), forcings, values)


def relative_errors(
    values: Float[torch.Tensor, "N O T"], truth: Float[torch.Tensor, "N O T"]
) -> Float[torch.Tensor, " N"]:
    """The relative L2 error of each case."""
    return (values - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)


def fresh_operator(examples: Examples, seed: int) -> LaplaceOperator:
    """An LNO of the paper's sizes with its poles spread over the band of the responses."""
    spectrum = Spectrum.of(examples.values[:LEARNED], examples.grid)
    generator = torch_stream(seed, "demo", "operator")
    return build_operator(1, 1, spectrum=spectrum, generator=generator)


def training(operator: LaplaceOperator, examples: Examples, steps: int) -> Iterator[float]:
    """Train in place by Adam, and tell the mean relative error before each step."""
    optimiser = torch.optim.Adam(operator.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    inputs, values = examples.inputs[:LEARNED], examples.values[:LEARNED]
    for _ in range(steps):
        loss = relative_errors(operator(inputs, examples.grid, checked=False), values).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        yield float(loss.detach())


@torch.no_grad()
def held_out(
    operator: LaplaceOperator, examples: Examples
) -> tuple[Float[torch.Tensor, "N O T"], Float[torch.Tensor, " N"]]:
    """Predictions for the cases that were not learned from, and their errors."""
    predicted = operator(examples.inputs[LEARNED:], examples.grid)
    return predicted, relative_errors(predicted, examples.values[LEARNED:])


def draw(
    path: Path, operator: LaplaceOperator, examples: Examples, losses: list[float]
) -> None:
    """Write a picture: the worst held-out case, the training, and the learned poles.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="the picture") from error
    figure = Figure(figsize=(9.0, 6.6), layout="constrained")
    panels = figure.subplot_mosaic("aa;lp")
    draw_worst(panels["a"], operator, examples)
    left = panels["l"]
    left.semilogy(losses, color=INK, linewidth=1.0)
    left.set(xlabel="step", ylabel="mean relative error", xlim=(0, len(losses)))
    left.set_title(f"Learning from {LEARNED} cases", loc="left", fontsize=10)
    draw_poles(panels["p"], operator)
    for axes in panels.values():
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def draw_worst(axes: "Axes", operator: LaplaceOperator, examples: Examples) -> None:
    """Forcing, response and prediction of the held-out case with the largest error."""
    predicted, errors = held_out(operator, examples)
    worst = int(errors.argmax())
    case, grid = LEARNED + worst, examples.grid.numpy()
    axes.plot(grid, examples.inputs[case, 0], color=FADED, linewidth=0.9, label="forcing f")
    axes.plot(grid, examples.values[case, 0], color=INK, linewidth=2.4, label="response u")
    line = {"color": ACCENT, "linestyle": (0, (4, 3)), "linewidth": 1.6}
    axes.plot(grid, predicted[worst, 0], label="LNO", **line)
    text = f"Worst of {HELD_OUT} held-out cases: error {errors[worst]:.2%}"
    axes.set_title(f"{text} (mean {errors.mean():.2%})", loc="left", fontsize=10)
    axes.set(xlabel="time", xlim=(0.0, SPAN))
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, fontsize=9)


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
    axes.set_title("Poles", loc="left", fontsize=10)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9)
