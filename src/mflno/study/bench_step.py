"""One training step of the MF-LNO pair on an accelerator, beside the floor of the machine.

    python -m mflno.study.bench_step [--device cuda] [--chains 50] [--kernels] [--json]

The pair is a linear and a nonlinear LNO (width 3, 8 modes, hidden 2) and α, on nine cases of
2,048 points with three channels; a step is the loss and gradient of every chain and an Adam
update.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor

from mflno.operators import Architecture, Packing, build_operator, chain_forward, identity
from mflno.seeds import torch_stream
from mflno.shapes import Float

CASES, POINTS, CHANNELS, WIDTH, MODES = 9, 2048, 3, 3, 8
FLOPS, BYTES = 60e12, 4.3e12
"""A second, of an H200: plain float32, and device memory as a large copy measures it."""

Step = Callable[[], Tensor]


class Pair:
    """α times the linear plus (1 - α) times the nonlinear operator, for every chain."""

    def __init__(self, chains: int, device: str) -> None:
        draw = torch_stream(0, "bench", "step")
        rows, self.parts, self.sizes = [], [], []
        for activation in (identity, torch.sin):
            sizes = Architecture(WIDTH, MODES, (2,), activation=activation)
            nets = [build_operator(CHANNELS, 1, sizes, generator=draw) for _ in range(chains)]
            rows.append(Packing.of(nets[0]).pack(nets).to(device))
            self.parts.append(chain_forward(nets[0]))
            self.sizes.append(rows[-1].shape[1])
        self.theta = torch.cat([*rows, torch.zeros(chains, 1, device=device)], 1)
        self.grid = torch.linspace(0.0, 20.0, POINTS, device=device)
        shape = (CASES, CHANNELS, POINTS)
        self.inputs = torch.randn(shape, generator=draw).to(device)
        self.target = torch.randn(CASES, 1, POINTS, generator=draw).to(device)

    def loss(self, theta: Float[Tensor, "K P"]) -> Tensor:
        """The sum over chains of the mean relative error."""
        one, two, free = theta.split([*self.sizes, 1], dim=1)
        alpha = torch.sigmoid(free)[..., None, None]
        linear, curved = (
            part(each, self.inputs, self.grid)
            for part, each in zip(self.parts, (one, two), strict=True)
        )
        left = curved + alpha * (linear - curved) - self.target
        sizes = torch.linalg.vector_norm(self.target, dim=-1)
        return (torch.linalg.vector_norm(left, dim=-1) / sizes).mean((1, 2)).sum()


def adam(theta: Tensor, gradient: Tensor, first: Tensor, second: Tensor) -> None:
    """An Adam update in place; its bias corrections are for the host to fold into the rate."""
    first.lerp_(gradient, 0.1)
    second.lerp_(gradient.square(), 0.001)
    theta.sub_(1e-3 * first / (second.sqrt() + 1e-8))


def stepper(pair: Pair, loss: Callable[[Tensor], Tensor]) -> Step:
    """A whole step, ready to be run or captured."""
    theta = pair.theta.clone()
    first, second = torch.zeros_like(theta), torch.zeros_like(theta)

    def step() -> Tensor:
        here = theta.detach().requires_grad_()
        value = loss(here)
        (gradient,) = torch.autograd.grad(value, here)
        adam(theta, gradient, first, second)
        return value.detach()

    return step


def captured(step: Step) -> Step:
    """The step as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(4):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        value = step()

    def replay() -> Tensor:
        graph.replay()
        return value

    return replay


def milliseconds(step: Step, device: str, repeats: int = 30) -> float:
    """Median time of a step."""
    for _ in range(3):
        step()
    taken = []
    for _ in range(repeats):
        wait(device)
        begin = time.perf_counter()
        for _ in range(5):
            step()
        wait(device)
        taken.append((time.perf_counter() - begin) / 5)
    return 1e3 * median(taken)


def wait(device: str) -> None:
    """Let the device finish."""
    if device != "cpu":
        torch.cuda.synchronize()


def floor(chains: int) -> dict[str, float]:
    """Milliseconds that arithmetic and memory need at least, by this algorithm.

    Arithmetic: real FFTs of twice the points (2.5 n log2 n each) of signals, kernels and back,
    and their transposes; products of spectra; kernels from modes. Memory: each transform of
    signals writes its result once, and the next one reads it once.
    """
    length, pairs, rows = 2 * POINTS, WIDTH * WIDTH, WIDTH * CASES
    transform = 2.5 * length * 12
    transforms = (2 * rows + pairs) + (3 * rows + 2 * pairs)
    products = 3 * 8 * pairs * CASES * POINTS
    kernels = 3 * 4 * pairs * MODES * POINTS
    spectrum, signal = 8 * POINTS * rows, 4 * POINTS * rows
    moved = 2 * (2 * spectrum + 2 * signal) + 2 * spectrum
    each = 2 * chains
    return {
        "floor by arithmetic": 1e3
        * each
        * (transforms * transform + products + kernels)
        / FLOPS,
        "floor by memory": 1e3 * each * moved / BYTES,
    }


def measured(device: str, chains: int, *, compiled: bool) -> dict[str, float]:
    """Milliseconds of each way to run a step, and the ratio of the best to the floor."""
    pair = Pair(chains, device)
    found = {"eager": milliseconds(stepper(pair, pair.loss), device)}
    if device != "cpu":
        found["captured"] = milliseconds(captured(stepper(pair, pair.loss)), device)
    if compiled:
        loss = torch.compile(pair.loss, dynamic=False)
        found["compiled"] = milliseconds(stepper(pair, loss), device)
        if device != "cpu":
            found["compiled, captured"] = milliseconds(captured(stepper(pair, loss)), device)
        here = pair.theta.clone().requires_grad_()
        one, two = (torch.autograd.grad(f(here), here)[0] for f in (loss, pair.loss))
        found["compiled against eager, relative"] = float((one - two).norm() / two.norm())
    least = floor(chains)
    best = min(v for k, v in found.items() if "relative" not in k)
    return found | least | {"best over floor": best / max(least.values())}


def kernels(device: str, chains: int) -> str:
    """Where the device's time goes in an eager step."""
    from torch.profiler import ProfilerActivity, profile

    pair = Pair(chains, device)
    step = stepper(pair, pair.loss)
    for _ in range(3):
        step()
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities) as record:
        for _ in range(5):
            step()
        wait(device)
    key = "self_cuda_time_total" if device != "cpu" else "self_cpu_time_total"
    return record.key_averages().table(sort_by=key, row_limit=28, max_name_column_width=60)


def main(words: list[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(prog="mflno.study.bench_step", description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--chains", type=int, default=50)
    parser.add_argument("--compiled", action="store_true", help="measure torch.compile too")
    parser.add_argument("--kernels", action="store_true", help="list the device's kernels")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    if asked.kernels:
        sys.stdout.write(kernels(asked.device, asked.chains) + "\n")
    found = measured(asked.device, asked.chains, compiled=asked.compiled)
    lines = [f"{name:34s} {value:10.4g}" for name, value in found.items()]
    sys.stdout.write((json.dumps(found) if asked.json else "\n".join(lines)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
