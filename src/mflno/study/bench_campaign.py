"""What a campaign costs beside its solver: choosing, and its books for each run."""

import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import CHOICES, Sketched, View, choice_named
from mflno.campaign import Campaign, Inline, Plan
from mflno.campaign.task import Job
from mflno.problems import Chain
from mflno.shapes import Float

Row = dict[str, Any]
CANDIDATES, DRAWS, POINTS, BATCH, RUNS = 10_000, 50, 2048, 8, 40


def choosing(names: list[str] | None = None) -> Iterator[Row]:
    """Seconds and memory of each rule for 8 of 10,000 candidates, 50 draws of 2,048 points."""
    generator = np.random.default_rng(0)
    candidates = generator.uniform(-1.0, 1.0, (CANDIDATES, 4))
    waves = generator.normal(size=(DRAWS, 4, 8)).astype(np.float32)

    def draws(cases: Float[ndarray, "N P"]) -> Float[ndarray, "S N 1 T"]:
        """Draws that cost little: what is timed is the choice."""
        flat = np.tanh(np.einsum("np,spt->snt", cases.astype(np.float32), waves))
        return np.repeat(flat, POINTS // 8, axis=2)[:, :, None]

    for name in names or CHOICES:
        wall, work, before = time.perf_counter(), time.process_time(), peak()
        posterior = Sketched(draws, np.random.default_rng(1))
        view = View(candidates, done=candidates[:9], posterior=posterior, remaining=9)
        choice_named(name).choose(view, BATCH, np.random.default_rng(2))
        yield {
            "rule": name,
            "processor_s": time.process_time() - work,
            "wall_s": time.perf_counter() - wall,
            "more_megabytes": peak() - before,
        }


def peak() -> float:
    """The most memory this process has held so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Timed(Inline):
    """Solves here, and looks at the clock whenever a run is submitted."""

    def __init__(self) -> None:
        super().__init__(Chain())
        self.moments: list[tuple[float, float]] = []

    def submit(self, job: Job) -> None:
        """Note the time, then solve."""
        self.moments.append((time.process_time(), time.perf_counter()))
        super().submit(job)


def overhead() -> Row:
    """Median time from one run to the next of a solver that takes less than a millisecond.

    Submitting, sealing the run's folder and writing the journal are in it; the process that
    a run has of its own with the usual runner is not.
    """
    before = peak()
    with tempfile.TemporaryDirectory() as place:
        plan = Plan(
            "chain", budget=RUNS, batch=RUNS, start=RUNS, design="sobol", method="pod-gp",
            pool="sobol:256", lower="grid:2",
        )  # fmt: skip
        runner = Timed()
        Campaign(Path(place) / "c", plan=plan).run(runner=runner, show=False)
        steps = np.median(np.diff(np.array(runner.moments), axis=0), axis=0)
        return {
            "rule": "a run's books",
            "processor_s": float(steps[0]),
            "wall_s": float(steps[1]),
            "more_megabytes": peak() - before,
        }
