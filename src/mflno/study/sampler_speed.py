"""What an iteration of the sampler costs, and that every engine walks the same path.

    python -m mflno.study.sampler_speed [--device cuda] [--chains 5 50] [--json]

The energy is a stand-in of the cost of a multi-fidelity Laplace operator: two branches of
two layers, each a causal convolution with damped exponentials by FFT, on 9 cases of 2,048
points; the rest of its 1,165 parameters enter linearly.
"""

import argparse
import json
import sys
import time
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from mflno.bayes import (
    Captured,
    Compiled,
    Constant,
    Drift,
    Eager,
    Energy,
    Engine,
    Metropolis,
    Paper,
    ReplicaExchange,
    Rule,
    relative_loss,
)
from mflno.seeds import torch_stream
from mflno.shapes import Float, Int

PARAMETERS, CASES, POINTS, MODES, WIDTH = 1165, 9, 2048, 8, 3


def stand_in(device: str, cases: int = CASES, points: int = POINTS) -> Energy:
    """An energy of the shape and cost of a small multi-fidelity Laplace operator."""
    time_grid = torch.linspace(0, 1, points, device=device)
    forcing = torch.sin((5 + torch.arange(cases, device=device))[:, None] * time_grid)[
        :, None
    ].expand(cases, WIDTH, points)
    target = forcing[:, :1].cumsum(-1) / points + 1
    size = WIDTH * WIDTH * MODES

    def layer(theta: Tensor, signal: Tensor) -> Tensor:
        poles, residues, frequency = theta.view(len(theta), 3, WIDTH, WIDTH, MODES).unbind(1)
        decay = torch.nn.functional.softplus(poles)[..., None] * time_grid
        waves = torch.exp(-decay) * torch.cos(20 * frequency[..., None] * time_grid)
        kernel = torch.einsum("kiom,kiomt->kiot", residues, waves) / points
        one, two = torch.fft.rfft(signal, 2 * points), torch.fft.rfft(kernel, 2 * points)
        mixed = torch.einsum("knif,kiof->knof", one, two)
        return torch.sin(torch.fft.irfft(mixed, 2 * points)[..., :points])

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        chosen = slice(None) if batch is None else batch
        signal = forcing[chosen].expand(len(theta), *forcing[chosen].shape)
        total = theta[:, 4 * 3 * size :].mean(-1)[:, None, None, None]
        for branch in range(2):
            out = signal
            for depth in range(2):
                at = (2 * branch + depth) * 3 * size
                out = out + layer(theta[:, at : at + 3 * size].contiguous(), out)
            total = total + out.mean(-2, keepdim=True)
        return relative_loss(total, target[chosen])

    return energy


def small_net(device: str, points: int = 576) -> Energy:
    """An energy of about 1,000 parameters: a network of two hidden layers on one batch."""
    grid = torch.linspace(-1, 1, points, device=device)[:, None]
    features = torch.cat([grid, grid.square(), torch.sin(6 * grid)], 1)
    target = torch.sin(9 * grid) + 2
    sizes = (3, 29, 29, 1)
    shapes = [(a + 1, b) for a, b in pairwise(sizes)]

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        parts = theta[:, : sum(a * b for a, b in shapes)].split([a * b for a, b in shapes], 1)
        out = features.expand(len(theta), -1, -1)
        for depth, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
            weight = part.reshape(len(theta), *shape)
            out = torch.baddbmm(weight[:, -1:], out, weight[:, :-1])
            out = torch.tanh(out) if depth < len(shapes) - 1 else out
        return relative_loss(out[:, None], target[None])

    return energy


def cheap(theta: Float[Tensor, "K P"], batch: Int[Tensor, " B"] | None) -> Float[Tensor, " K"]:
    """Next to no work: what remains of an iteration is the sampler's own."""
    return theta.square().sum(-1)


def prepared(chains: int, rule: Rule, engine: Engine) -> ReplicaExchange:
    """The sampler that is measured."""
    return ReplicaExchange(
        chains=chains, steps=4000, step_size=(1e-4, 1e-3), temperature=(1e-6, 1e-4),
        drift=Drift(), swap=rule, schedule=Constant(), engine=engine,
    )  # fmt: skip


def starting(chains: int, device: str) -> Tensor:
    """Small random states."""
    generator = torch_stream(0, "speed", "start")
    return (0.3 * torch.randn(chains, PARAMETERS, generator=generator)).to(device)


def seconds_a_step(
    sampler: ReplicaExchange, energy: Energy, device: str, least: float
) -> float:
    """Median over five blocks of the time of one step."""
    run = sampler.start(
        starting(sampler.chains, device), cases=CASES, generator=torch_stream(0, "speed")
    )
    step, state, blocks = sampler.stepper(energy, run.state), run.state, []
    for _ in range(5):
        state, _ = step(state)
    wait(device)
    begin = time.perf_counter()
    state, _ = step(state)
    wait(device)
    count = max(5, int(least / (time.perf_counter() - begin)))
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(min(count, 700)):
            state, _ = step(state)
        wait(device)
        blocks.append((time.perf_counter() - begin) / min(count, 700))
    return sorted(blocks)[2]


def wait(device: str) -> None:
    """Let the device finish."""
    if device != "cpu":
        torch.cuda.synchronize()


def difference(one: Engine, other: Engine, device: str, steps: int = 30) -> float:
    """Largest difference of states, relative to the largest entry, after some steps."""
    ends = []
    for engine in (one, other):
        sampler = replace(prepared(5, Metropolis(), engine), steps=steps, batch=4)
        run = sampler.start(starting(5, device), cases=CASES, generator=torch_stream(0, "same"))
        run = sampler.proceed(stand_in(device), run, until=steps, show=False)
        ends.append(run.state.theta.clone())
    return float((ends[0] - ends[1]).abs().max() / ends[0].abs().max())


def measured(device: str, chains: list[int]) -> dict[str, float]:
    """Every figure, in microseconds a step or as a ratio."""
    energies = {"operator": stand_in(device), "net": small_net(device), "sampler alone": cheap}
    found: dict[str, float] = {}
    engines: dict[str, Engine] = {"eager": Eager()}
    if device != "cpu":
        engines["captured"] = Captured()
    for name, engine in engines.items():
        for count in (1, *chains):
            sampler = prepared(count, Paper(), engine)
            for kind, energy in energies.items():
                seconds = seconds_a_step(sampler, energy, device, 0.3)
                found[f"{name}, {count} chains, {kind}: us a step"] = 1e6 * seconds
    if device != "cpu":
        found["captured against eager"] = difference(Eager(), Captured(), device)
    return found


def main(words: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="mflno.study.sampler_speed", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chains", type=int, nargs="+", default=[5])
    parser.add_argument("--compiled", action="store_true", help="compare torch.compile too")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    found = measured(asked.device, asked.chains)
    if asked.compiled:
        found["compiled against eager"] = difference(Eager(), Compiled(), asked.device)
    lines = [f"{name:44s} {value:12.4g}" for name, value in found.items()]
    sys.stdout.write((json.dumps(found) if asked.json else "\n".join(lines)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
