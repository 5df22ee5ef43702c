"""One training step of the MF-LNO pair on an accelerator, beside the floor of the machine.

    python -m mflno.study.bench_step [--device cuda] [--chains 50] [--compiled] [--kernels]

The pair is a linear and a nonlinear LNO (width 3, 8 modes, hidden 2) and α, on nine cases of
2,048 points with three channels; a step is the loss and gradient of every chain and an Adam
update. Gradients are compared with the eager ones in double precision on the same device.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from copy import copy
from statistics import median

import torch
from torch import Tensor

from mflno.operators import Architecture, Packing, build_operator, chain_forward, identity
from mflno.seeds import torch_stream
from mflno.shapes import Float

CASES, POINTS, CHANNELS, WIDTH, MODES, HIDDEN = 9, 2048, 3, 3, 8, 2
FLOPS, BYTES = 60e12, 4.3e12
"""A second, of an H200: plain float32, and device memory as a large copy measures it."""

Step = Callable[[], Tensor]


class Pair:
    """α times the linear plus (1 - α) times the nonlinear operator, for every chain."""

    def __init__(self, chains: int, device: str) -> None:
        draw = torch_stream(0, "bench", "step")
        rows, self.parts, self.sizes = [], [], []
        for activation in (identity, torch.sin):
            sizes = Architecture(WIDTH, MODES, (HIDDEN,), activation=activation)
            nets = [build_operator(CHANNELS, 1, sizes, generator=draw) for _ in range(chains)]
            rows.append(Packing.of(nets[0]).pack(nets).to(device))
            self.parts.append(chain_forward(nets[0]))
            self.sizes.append(rows[-1].shape[1])
        self.theta = torch.cat([*rows, torch.zeros(chains, 1, device=device)], 1)
        self.grid = torch.linspace(0.0, 20.0, POINTS, device=device)
        shape = (CASES, CHANNELS, POINTS)
        self.inputs = torch.randn(shape, generator=draw).to(device)
        self.target = torch.randn(CASES, 1, POINTS, generator=draw).to(device)

    def doubled(self) -> "Pair":
        """The same pair and cases in double precision."""
        twin = copy(self)
        twin.theta, twin.grid, twin.inputs, twin.target = (
            value.double() for value in (self.theta, self.grid, self.inputs, self.target)
        )
        return twin

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

    The linear net is one convolution with one channel out, the other one with `HIDDEN`; both
    from the inputs and a channel of ones, whose transforms all chains share. Arithmetic: real
    FFTs of twice the points (2.5 n log2 n each) of kernels and answers, there and back,
    products of spectra, kernels from modes. Memory: each transform reads its argument once and
    writes its result once.
    """
    length, out, ins = 2 * POINTS, 1 + HIDDEN, CHANNELS + 1
    transforms = 2 * out * (ins + CASES)
    products = 2 * 8 * out * ins * CASES * POINTS
    kernels = 2 * 3 * 4 * WIDTH * WIDTH * MODES * POINTS
    work = transforms * 2.5 * length * 12 + products + kernels
    moved = transforms * (8 + 4) * POINTS * 2
    return {
        "floor by arithmetic": 1e3 * chains * work / FLOPS,
        "floor by memory": 1e3 * chains * moved / BYTES,
    }


def gradient(loss: Callable[[Tensor], Tensor], theta: Tensor) -> Tensor:
    """Of the loss, in double precision for comparisons."""
    here = theta.clone().requires_grad_()
    return torch.autograd.grad(loss(here), here)[0].double()


def measured(device: str, chains: int, *, compiled: bool) -> dict[str, float]:
    """Milliseconds of each way to run a step, and the ratio of the best to the floor."""
    pair = Pair(chains, device)
    double = pair.doubled()
    truth = gradient(double.loss, double.theta)
    off = lambda loss: float((gradient(loss, pair.theta) - truth).norm() / truth.norm())
    wrong = {"eager against double, relative": off(pair.loss)}
    found = {"eager": milliseconds(stepper(pair, pair.loss), device)}
    if device != "cpu":
        found["captured"] = milliseconds(captured(stepper(pair, pair.loss)), device)
    if compiled:
        loss = torch.compile(pair.loss, dynamic=False)
        wrong["compiled against double, relative"] = off(loss)
        found["compiled"] = milliseconds(stepper(pair, loss), device)
        if device != "cpu":
            found["compiled, captured"] = milliseconds(captured(stepper(pair, loss)), device)
    least = floor(chains)
    return (
        found | least | {"best over floor": min(found.values()) / max(least.values())} | wrong
    )


def kernels(device: str, chains: int, *, compiled: bool) -> str:
    """Where the device's time goes in a step, as it runs fastest there."""
    from torch.profiler import ProfilerActivity, profile

    pair = Pair(chains, device)
    step = stepper(pair, torch.compile(pair.loss, dynamic=False) if compiled else pair.loss)
    for _ in range(3):
        step()
    if device != "cpu":
        step = captured(step)
    activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
    with profile(activities=activities) as record:
        for _ in range(5):
            step()
        wait(device)
    key = "self_cuda_time_total" if device != "cpu" else "self_cpu_time_total"
    return record.key_averages().table(sort_by=key, row_limit=28, max_name_column_width=100)


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
        sys.stdout.write(kernels(asked.device, asked.chains, compiled=asked.compiled) + "\n")
    found = measured(asked.device, asked.chains, compiled=asked.compiled)
    lines = [f"{name:34s} {value:10.4g}" for name, value in found.items()]
    sys.stdout.write((json.dumps(found) if asked.json else "\n".join(lines)) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
