"""Speed and memory of the Laplace layer beside the published formulation, in one run."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import torch

from mflno.operators import Causal, LaplaceLayer, Published, Rule
from mflno.seeds import torch_stream

Row = dict[str, float | int | str]


@dataclass(frozen=True)
class Size:
    """One configuration of the layer."""

    channels: int = 3
    modes: int = 8
    points: int = 2048
    cases: int = 20


def pass_through(size: Size, rule: Rule) -> Callable[[], None]:
    """One forward and backward pass of a layer, ready to be timed."""
    draw = torch_stream(0, "bench")
    layer = LaplaceLayer(size.channels, size.channels, size.modes, rule=rule, generator=draw)
    grid = torch.linspace(0.0, 20.0, size.points)
    signal = torch.randn(size.channels, size.cases, size.points, generator=draw)
    toward = torch.randn(signal.shape, generator=draw)
    signal.requires_grad_()

    def run() -> None:
        layer(signal, grid).backward(toward)

    return run


def seconds(runs: list[Callable[[], None]], repeats: int) -> list[float]:
    """Median CPU seconds of each, taken in turn so that a busy machine slows all alike."""
    for run in runs:
        run()
    taken: list[list[float]] = [[] for _ in runs]
    for _ in range(repeats):
        for run, times in zip(runs, taken, strict=True):
            start = time.thread_time()
            run()
            times.append(time.thread_time() - start)
    return [median(times) for times in taken]


def peak_bytes(run: Callable[[], None]) -> int:
    """Most bytes that one pass holds at once, above what stood before it."""
    from torch.profiler import ProfilerActivity, profile

    run()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        run()
    profiler: Any = record.profiler
    moves = [e for e in profiler.kineto_results.events() if e.name() == "[memory]"]
    held, peak = 0, 0
    for move in sorted(moves, key=lambda e: e.start_ns()):
        held += move.nbytes()
        peak = max(peak, held)
    return peak


def comparison(sizes: list[Size], repeats: int = 15) -> Iterator[Row]:
    """One row a size: milliseconds and peak bytes of both rules, and the ratios."""
    for size in sizes:
        runs = [pass_through(size, rule) for rule in (Causal(), Published())]
        ours, theirs = seconds(runs, repeats)
        held, theirs_held = (peak_bytes(run) for run in runs)
        yield {
            **asdict(size),
            "causal_ms": 1e3 * ours,
            "published_ms": 1e3 * theirs,
            "faster": theirs / ours,
            "causal_mib": held / 2**20,
            "published_mib": theirs_held / 2**20,
            "leaner": theirs_held / held,
        }


def growth(repeats: int = 5) -> Iterator[Row]:
    """One row a size along each axis: milliseconds, and the exponent since the last row."""
    start = Size(cases=4)
    axes: dict[str, list[int]] = {
        "points": [256 * 2**k for k in range(10)],
        "modes": [4, 8, 16, 32, 64],
        "channels": [2, 4, 8, 16, 32],
        "cases": [4, 16, 64, 256],
    }
    for axis, values in axes.items():
        before: tuple[float, float] | None = None
        for value in values:
            size = replace(start, **{axis: value})
            (taken,) = seconds([pass_through(size, Causal())], repeats)
            row: Row = {"axis": axis, "value": value, "ms": 1e3 * taken}
            if before:
                ratio = torch.tensor([taken / before[1], value / before[0]]).log()
                row["exponent"] = float(ratio[0] / ratio[1])
            before = (value, taken)
            yield row


def paper_sizes() -> list[Size]:
    """A net of the paper's size, and a wide one."""
    return [Size(), Size(channels=16, modes=16)]
