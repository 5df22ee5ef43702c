"""What an iteration of the sampler costs, and that every engine walks the same path.

    python -m mflno.study.sampler_speed [--device cuda] [--chains 5 50] [--compiled] [--json]

Three energies: the paper's MF-LNO (a linear and a nonlinear Laplace operator of width 3 and 8
modes, on 9 cases of 2,048 points), a network of about 1,000 parameters, and next to nothing,
which leaves the sampler's own work. On a CPU figures are processor time of one thread, taken
in turns, so that a machine shared with others still gives sound ratios.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from torch import Tensor, nn

from mflno.bayes import (
    Captured,
    Compiled,
    Constant,
    Corrected,
    Drift,
    Eager,
    Energy,
    Engine,
    Metropolis,
    Never,
    Paper,
    ReplicaExchange,
    Rule,
    Window,
    relative_loss,
)
from mflno.operators import Architecture, Packing, build_operator, chain_forward, identity
from mflno.seeds import torch_stream

CASES, POINTS, BLOCKS = 9, 2048, 7
RULES: dict[str, Rule] = {
    "Never": Never(), "Paper": Paper(), "Window": Window(), "Metropolis": Metropolis(),
    "Corrected": Corrected(),
}  # fmt: skip


@dataclass(frozen=True)
class Load:
    """An energy whose cost is measured, and states to start from."""

    energy: Energy
    starts: Callable[[int], Tensor]


def operator_pair(device: str, cases: int = CASES, points: int = POINTS) -> Load:
    """α G_l + (1 - α) G_nl on forcing, a parameter and the cheaper trajectory (Eq. 10)."""
    grid = torch.linspace(0, 20, points, device=device)
    number = torch.arange(cases, device=device)[:, None] / cases
    cheaper = torch.sin((1 + number) * grid) * torch.exp(-grid / 10)
    forcing, target = torch.cos((1 + number) * grid), cheaper + 0.1 * torch.sin(3 * grid)
    inputs = torch.stack([forcing, number.expand(-1, points), cheaper], 1)
    generator = torch_stream(0, "speed", "operators")
    parts: list[nn.Module] = []
    for activation in (identity, torch.sin):
        sizes = Architecture(width=3, modes=8, hidden=(2,), activation=activation)
        parts.append(build_operator(3, 1, sizes, generator=generator).to(device))
    first, second = (Packing.of(part).pack([part]) for part in parts)
    border, whole = first.shape[1], first.shape[1] + second.shape[1] + 1
    linear, nonlinear = (chain_forward(part) for part in parts)

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        chosen = slice(None) if batch is None else batch
        alpha = torch.sigmoid(theta[:, -1])[:, None, None, None]
        one = linear(theta[:, :border], inputs[chosen], grid)
        two = nonlinear(theta[:, border:-1], inputs[chosen], grid)
        return relative_loss(alpha * one + (1 - alpha) * two, target[chosen, None])

    def starts(chains: int) -> Tensor:
        noise = torch.randn(chains, whole, generator=torch_stream(0, "speed", "start"))
        middle = torch.cat([first, second, first.new_zeros(1, 1)], 1).detach()
        return middle + 0.01 * noise.to(device)

    return Load(energy, starts)


def small_net(device: str, points: int = 576) -> Load:
    """A network of two hidden layers and about 1,000 parameters, on one batch."""
    grid = torch.linspace(-1, 1, points, device=device)[:, None]
    features = torch.cat([grid, grid.square(), torch.sin(6 * grid)], 1)
    target = torch.sin(9 * grid) + 2
    shapes = [(a + 1, b) for a, b in pairwise((3, 29, 29, 1))]
    counts = [a * b for a, b in shapes]

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        out = features.expand(len(theta), -1, -1)
        for depth, part in enumerate(theta.split(counts, 1)):
            weight = part.reshape(len(theta), *shapes[depth])
            out = torch.baddbmm(weight[:, -1:], out, weight[:, :-1])
            out = torch.tanh(out) if depth < len(shapes) - 1 else out
        return relative_loss(out[:, None], target[None])

    return Load(energy, lambda chains: small_states(chains, sum(counts), device))


def next_to_nothing(device: str, parameters: int) -> Load:
    """What remains of an iteration is the sampler's own."""
    cheap: Energy = lambda theta, _: theta.square().sum(-1)
    return Load(cheap, lambda chains: small_states(chains, parameters, device))


def small_states(chains: int, parameters: int, device: str) -> Tensor:
    """Small random states."""
    generator = torch_stream(0, "speed", "start")
    return (0.3 * torch.randn(chains, parameters, generator=generator)).to(device)


def prepared(chains: int, rule: Rule, engine: Engine) -> ReplicaExchange:
    """The sampler that is measured."""
    return ReplicaExchange(
        chains=chains, steps=40_000, step_size=(1e-4, 1e-3), temperature=(1e-6, 1e-4),
        drift=Drift(), swap=rule, schedule=Constant(), engine=engine,
    )  # fmt: skip


class Stopwatch:
    """Seconds a step of one sampler on one load, a block at a time."""

    def __init__(self, sampler: ReplicaExchange, load: Load, device: str) -> None:
        generator = torch_stream(0, "speed")
        run = sampler.start(load.starts(sampler.chains), cases=CASES, generator=generator)
        self.step, self.state = sampler.stepper(load.energy, run.state), run.state
        self.device, self.count, self.blocks = device, 5, []
        self.block()
        # an own tenth of a second, in tens as a probing rule has a period of ten
        self.count = min(1000, 10 * max(1, round(0.01 / self.blocks.pop())))

    def block(self) -> None:
        """One more block."""
        clock = time.process_time if self.device == "cpu" else time.perf_counter
        wait(self.device)
        begin = clock()
        for _ in range(self.count):
            self.state, _ = self.step(self.state)
        wait(self.device)
        self.blocks.append((clock() - begin) / self.count)

    @property
    def seconds(self) -> float:
        """Median over blocks."""
        return sorted(self.blocks)[len(self.blocks) // 2]


def wait(device: str) -> None:
    """Let the device finish."""
    if device != "cpu":
        torch.cuda.synchronize()


def timed(watches: dict[str, Stopwatch]) -> dict[str, float]:
    """Seconds a step of each, their blocks taken in turns."""
    for _ in range(BLOCKS):
        for watch in watches.values():
            watch.block()
    return {name: watch.seconds for name, watch in watches.items()}


def difference(one: Engine, other: Engine, device: str, steps: int = 30) -> float:
    """Largest difference of states, relative to the largest entry, after some steps."""
    ends, load = [], operator_pair(device)
    for engine in (one, other):
        sampler = replace(prepared(5, Metropolis(), engine), steps=steps, batch=4)
        generator = torch_stream(0, "same")
        run = sampler.start(load.starts(5), cases=CASES, generator=generator)
        run = sampler.proceed(load.energy, run, until=steps, show=False)
        ends.append(run.state.theta.clone())
    return float((ends[0] - ends[1]).abs().max() / ends[0].abs().max())


def engine_figures(name: str, engine: Engine, device: str, chains: list[int]) -> dict:
    """Microseconds a step by number of chains and energy, and the ratios that matter."""
    pair = operator_pair(device)
    alone = next_to_nothing(device, pair.starts(1).shape[1])
    loads = {"MF-LNO": pair, "net": small_net(device), "sampler alone": alone}
    counts = sorted({1, *chains})
    found = timed({
        f"{name}, {kind}, {count} chains": Stopwatch(
            prepared(count, Paper(), engine), load, device
        )
        for kind, load in loads.items()
        for count in counts
    })  # fmt: skip
    figures = {f"{place}: us a step": 1e6 * seconds for place, seconds in found.items()}
    for few, many in pairwise(counts):
        ratio = found[f"{name}, net, {many} chains"] / found[f"{name}, net, {few} chains"]
        figures[f"{name}, net: {many} chains against {few}"] = ratio
    for count in counts:
        own, whole = (
            found[f"{name}, {kind}, {count} chains"] for kind in ("sampler alone", "MF-LNO")
        )
        figures[f"{name}, {count} chains: sampler's share of an MF-LNO step"] = own / whole
    return figures


def rule_figures(device: str, chains: int = 5) -> dict[str, float]:
    """What an iteration costs under each rule, against no swaps, on the MF-LNO."""
    pair = operator_pair(device)
    found = timed({
        name: Stopwatch(prepared(chains, rule, Eager()), pair, device)
        for name, rule in RULES.items()
    })  # fmt: skip
    idle = found.pop("Never")
    return {f"{name} against Never": seconds / idle for name, seconds in found.items()}


def measured(device: str, chains: list[int]) -> dict[str, float]:
    """Every figure, in microseconds a step or as a ratio."""
    engines: dict[str, Engine] = {"eager": Eager()}
    if device != "cpu":
        engines["captured"] = Captured()
    found: dict[str, float] = {}
    for name, engine in engines.items():
        found |= engine_figures(name, engine, device, chains)
    found |= rule_figures(device)
    if device != "cpu":
        found["captured against eager, largest difference"] = difference(
            Eager(), Captured(), device
        )
    return found


def main(words: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="mflno.study.sampler_speed", description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--chains", type=int, nargs="+", default=[5])
    parser.add_argument("--compiled", action="store_true", help="compare torch.compile too")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    found = measured(asked.device, asked.chains)
    if asked.compiled:
        found["compiled against eager, largest difference"] = difference(
            Eager(), Compiled(), asked.device
        )
    lines = [f"{name:58s} {value:12.4g}" for name, value in found.items()]
    sys.stdout.write((json.dumps(found, indent=1) if asked.json else "\n".join(lines)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
