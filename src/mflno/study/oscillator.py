"""Can a small LNO learn an oscillator? Five seeds, all of them told.

    ü + 2ζω u̇ + ω² u = f(t),    u = u̇ = 0 at t = 0

    python -m mflno.study.oscillator [--varied] [--seeds 5] [--first 0] [--steps 2000]

Each seed has 200 random cases to learn from and 100 held out, whose errors are told on the grid
of the training and on finer ones. Forcings are random sums of sines, responses are known in
closed form. With `--varied` the damping differs from case to case by up to 20 % and enters as a
constant channel.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy import ndarray

from mflno.operators import (
    Architecture,
    LaplaceOperator,
    Packing,
    Spectrum,
    basis,
    build_operator,
    chain_forward,
    count_parameters,
    identity,
)
from mflno.seeds import numpy_stream, torch_stream
from mflno.shapes import Float

FREQUENCY, DAMPING, VARIATION = 2.0, 0.1, 0.2
SPAN, WAVES = 20.0, 4
LEARNED, HELD_OUT = 200, 100


def responses(
    amplitudes: Float[ndarray, "N W"],
    frequencies: Float[ndarray, "N W"],
    phases: Float[ndarray, "N W"],
    *,
    damping: Float[ndarray, " N"],
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
    decay = damping[:, None] * FREQUENCY
    gain = 1.0 / (FREQUENCY**2 - frequencies**2 + 2j * decay * frequencies)
    steady = (gain[..., None] * waves).sum(1).imag
    started = amplitudes * np.exp(1j * phases) * gain
    place = started.sum(1).imag[:, None]
    speed = (1j * frequencies * started).sum(1).imag[:, None]
    turn = FREQUENCY * np.sqrt(1 - damping[:, None] ** 2)
    sine = (speed + decay * place) / turn
    swing = place * np.cos(turn * time) + sine * np.sin(turn * time)
    return waves.sum(1).imag, steady - np.exp(-decay * time) * swing


@dataclass(frozen=True)
class Cases:
    """Inputs and responses on one grid."""

    grid: Float[torch.Tensor, " T"]
    inputs: Float[torch.Tensor, "N C T"]
    values: Float[torch.Tensor, "N 1 T"]

    @classmethod
    def drawn(
        cls, seed: int, *, count: int, points: int, varied: bool, held_out: bool
    ) -> "Cases":
        """Random cases; the stream of the held-out ones is their own."""
        generator = numpy_stream(seed, "oscillator", "held out" if held_out else "learned")
        shape = (count, WAVES)
        amplitudes = generator.normal(size=shape)
        frequencies = generator.uniform(0.2, 2.0 * FREQUENCY, size=shape)
        phases = generator.uniform(0.0, 2.0 * np.pi, size=shape)
        share = generator.uniform(-1.0, 1.0, size=count) if varied else np.zeros(count)
        damping = DAMPING * (1 + VARIATION * share)
        time = np.linspace(0.0, SPAN, points)
        forcings, values = responses(
            amplitudes, frequencies, phases, damping=damping, time=time
        )
        rows = [forcings] + ([np.tile(share[:, None], points)] if varied else [])
        inputs = torch.from_numpy(np.stack(rows, 1)).float()
        return cls(
            torch.from_numpy(time).float(), inputs, torch.from_numpy(values).float()[:, None]
        )


def squared_norms(values: Float[torch.Tensor, "*m T"]) -> Float[torch.Tensor, "*m"]:
    """The integral of the square of the local cubic through the values, in grid steps.

    The square itself is far from smooth between the points where an error starts with a
    spike; the trapezoidal sum of it then depends on the grid more than the error does.
    """
    node, weight = np.polynomial.legendre.leggauss(4)
    windows = values.unfold(-1, 4, 1)
    parts = ((0, windows[..., :1, :]), (1, windows), (2, windows[..., -1:, :]))
    total = values.new_zeros(values.shape[:-1])
    for interval, each in parts:
        powers = np.vander(interval + (node + 1) / 2, 4, increasing=True)
        at = (powers @ basis((0, 1, 2, 3)).T) * np.sqrt(weight / 2)[:, None]
        table = torch.from_numpy(at).to(values)
        total = total + (each @ table.mT).square().sum((-1, -2))
    return total


def relative_errors(
    values: Float[torch.Tensor, "*K N O T"], truth: Float[torch.Tensor, "*K N O T"]
) -> Float[torch.Tensor, "*K N"]:
    """The relative L2 error of each case."""
    size = lambda value: squared_norms(value).sum(-1).sqrt()
    return size(values - truth) / size(truth)


@dataclass(frozen=True)
class Recipe:
    """How the nets are made and trained: full batches, Adam, a cosine schedule.

    Attributes:
        architecture: The sizes of a net.
        steps: Of Adam.
        rate: The first step size.
        points: Of the training grid.
    """

    architecture: Architecture = field(default_factory=Architecture)
    steps: int = 2000
    rate: float = 1e-2
    points: int = 256


def started(cases: Cases, seed: int, recipe: Recipe) -> LaplaceOperator:
    """A fresh net, its poles spread over the band of its data."""
    return build_operator(
        cases.inputs.shape[1], 1, recipe.architecture,
        spectrum=Spectrum.of(cases.values, cases.grid),
        generator=torch_stream(seed, "oscillator", "operator"),
    )  # fmt: skip


def trained(
    seeds: Sequence[int], recipe: Recipe, *, varied: bool, device: str = "cpu"
) -> list[LaplaceOperator]:
    """A net a seed, each on `LEARNED` cases of its own; all of them step together."""
    drawn = [
        Cases.drawn(seed, count=LEARNED, points=recipe.points, varied=varied, held_out=False)
        for seed in seeds
    ]
    nets = [started(cases, seed, recipe) for seed, cases in zip(seeds, drawn, strict=True)]
    layout, predict = Packing.of(nets[0]), chain_forward(nets[0])
    inputs, values = (
        torch.stack([getattr(cases, name) for cases in drawn]).to(device)
        for name in ("inputs", "values")
    )
    grid = drawn[0].grid.to(device)
    theta = layout.pack(nets).to(device).requires_grad_()
    optimiser = torch.optim.Adam([theta], lr=recipe.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, recipe.steps)
    for _ in range(recipe.steps):
        optimiser.zero_grad()
        # The sum keeps the seeds apart: Adam and the gradient act on each number by itself.
        errors = relative_errors(predict(theta, inputs, grid), values)
        (errors.mean(-1).sum()).backward()
        optimiser.step()
        schedule.step()
    for net, row in zip(nets, theta.detach().cpu(), strict=True):
        net.load_state_dict(layout.unpack(row))
    return nets


@torch.no_grad()
def held_out_error(operator: LaplaceOperator, seed: int, points: int, *, varied: bool) -> float:
    """Mean relative error on `HELD_OUT` cases that were not learned from, on any grid."""
    cases = Cases.drawn(seed, count=HELD_OUT, points=points, varied=varied, held_out=True)
    return float(relative_errors(operator(cases.inputs, cases.grid), cases.values).mean())


def recipe_for(*, varied: bool, steps: int) -> Recipe:
    """One damping makes a linear problem, for a linear net; varied damping wants products."""
    if not varied:
        return Recipe(Architecture(hidden=(2,), activation=identity), steps)
    return Recipe(Architecture(width=5, modes=5, hidden=(64,)), steps)


def line(told: dict[str, int | float]) -> str:
    """The figures of one seed."""
    cells = (f"{k} {v:.2e}" if isinstance(v, float) else f"{k} {v}" for k, v in told.items())
    return "  ".join(cells)


def main(words: list[str]) -> int:
    """Print a line a seed."""
    parser = argparse.ArgumentParser(prog="mflno.study.oscillator", description=__doc__)
    parser.add_argument("--varied", action="store_true", help="vary the damping by 20 %%")
    parser.add_argument("--seeds", type=int, default=5, help="how many (default 5)")
    parser.add_argument("--first", type=int, default=0, help="the first of them (default 0)")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    recipe = recipe_for(varied=asked.varied, steps=asked.steps)
    seeds = range(asked.first, asked.first + asked.seeds)
    nets = trained(seeds, recipe, varied=asked.varied, device=asked.device)
    for seed, net in zip(seeds, nets, strict=True):
        told: dict[str, int | float] = {"seed": seed, "parameters": count_parameters(net)}
        for points in (256, 512, 1024, 2048):
            told[f"{points} points"] = held_out_error(net, seed, points, varied=asked.varied)
        cells = [
            f"{k} {v:.3e}" if isinstance(v, float) else f"{k} {v}" for k, v in told.items()
        ]
        sys.stdout.write((json.dumps(told) if asked.json else "  ".join(cells)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
