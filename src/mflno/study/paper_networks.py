"""The paper's comparison with random cases: every network method, budget and seed at once.

`python -m mflno.study.paper_networks --device cuda --recorded beam=carry/beam.npz` prints it.

All seeds of a cell share one buffer, so that a GPU does the whole table in minutes. Seeds name
the random cases (nested: a larger budget adds to a smaller one's) and the networks' starts.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from mflno.data import Trajectories
from mflno.multifidelity import (
    HFLNO,
    LFLNO,
    MFLNO,
    Data,
    MFDeepONet,
    Predictor,
    ResidualDeepONet,
    deep_ensemble,
)
from mflno.problems import Problem, problem_named, study_cases
from mflno.sampling import sample
from mflno.seeds import numpy_stream
from mflno.study.recorded import recorded

BUDGETS = (3, 5, 7, 9)


class ManyFits(Protocol):
    """A method that fits many data sets in one go."""

    def fit_many(
        self, datas: Sequence[Data], *, seeds: Sequence[int], device: str, show: bool
    ) -> Sequence[Predictor]:
        """A predictor a data set."""
        ...


METHODS: dict[str, Callable[[str], ManyFits]] = {
    "mflno-paper": MFLNO.paper,
    "mflno-networks": lambda problem: MFLNO(),
    "lf-lno": lambda problem: LFLNO(MFLNO.paper(problem)),
    "hf-lno": lambda problem: HFLNO(),
    "mf-deeponet": lambda problem: MFDeepONet(),
    "mf-deeponet-residual": lambda problem: ResidualDeepONet(),
    "ensemble": lambda problem: deep_ensemble(),
}
"""Each method, given the problem's name."""


@dataclass(frozen=True)
class Row:
    """One method at one budget, over the seeds.

    Attributes:
        problem: Its name.
        method: Its name.
        budget: Expensive runs.
        mean: Mean relative L2 error over the test cases, averaged over seeds.
        maximum: Largest relative L2 error, averaged over seeds.
        coverage: Share of points within 1.96 standard deviations.
        seeds: Mean and maximum of each seed.
        seconds: For all budgets of this method and problem together.
    """

    problem: str
    method: str
    budget: int
    mean: float
    maximum: float
    coverage: float
    seeds: list[tuple[float, float]]
    seconds: float


def random_designs(
    problem: Problem, budgets: Sequence[int], seeds: Sequence[int]
) -> list[tuple[int, int, np.ndarray]]:
    """Budget, seed and cases: nested random choices among the candidates."""
    candidates = study_cases(problem).candidates
    orders = {
        seed: numpy_stream(seed, "random design", problem.name).permutation(len(candidates))
        for seed in seeds
    }
    return [(n, seed, candidates[orders[seed][:n]]) for n in budgets for seed in seeds]


def rows(
    problem: Problem, names: Sequence[str], budgets: Sequence[int], seeds: Sequence[int],
    device: str,
) -> Iterator[Row]:  # fmt: skip
    """Every method's rows for one problem, as they are known."""
    split = study_cases(problem)
    top = len(problem.levels) - 1
    how: dict[str, Any] = {"show": False, "cache": False}
    lower = tuple(sample(problem, split.candidates, level, **how) for level in range(top))
    tests = sample(problem, split.tests, top, **how)
    designs = random_designs(problem, budgets, seeds)
    datas = [Data(problem, lower, sample(problem, each, top, **how)) for _, _, each in designs]
    for name in names:
        method, begin = METHODS[name](problem.name), time.perf_counter()
        found = method.fit_many(
            datas, seeds=[seed for _, seed, _ in designs], device=device, show=False
        )
        seconds = time.perf_counter() - begin
        for budget in budgets:
            own = [p for p, (n, _, _) in zip(found, designs, strict=True) if n == budget]
            judged = [judgement(each, datas[0], tests) for each in own]
            mean, maximum, coverage = np.mean(judged, axis=0)
            yield Row(
                problem.name, name, budget, float(mean), float(maximum), float(coverage),
                [(each[0], each[1]) for each in judged], seconds,
            )  # fmt: skip


def judgement(
    predictor: Predictor, data: Data, tests: Trajectories
) -> tuple[float, float, float]:
    """Mean and maximum relative error over the test cases, and the band's coverage."""
    law = predictor.law(data.query(tests.cases))
    wrong = np.linalg.norm(law.mean - tests.values, axis=-1)
    error = wrong / np.linalg.norm(tests.values, axis=-1)
    inside = np.abs(law.mean - tests.values) <= 1.96 * law.std
    return float(error.mean()), float(error.max()), float(inside.mean())


def main(words: list[str]) -> int:
    """Print a line a row; write them all as JSON."""
    parser = argparse.ArgumentParser(prog="mflno.study.paper_networks", description=__doc__)
    parser.add_argument("--problems", nargs="+", default=["lorenz", "duffing", "beam"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--budgets", nargs="+", type=int, default=list(BUDGETS))
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--recorded", nargs="*", default=[], help="NAME=FILE of solved cases")
    parser.add_argument("--out", type=Path, help="JSON file")
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    files = dict(each.split("=", 1) for each in asked.recorded)
    found: list[Row] = []
    for name in asked.problems:
        problem = recorded(name, Path(files[name])) if name in files else problem_named(name)
        study = (asked.methods, asked.budgets, range(asked.seeds), asked.device)
        for row in rows(problem, *study):
            found.append(row)
            sys.stdout.write(
                f"{row.problem:8s} {row.method:20s} {row.budget:2d}  mean {row.mean:.4f}"
                f"  max {row.maximum:.4f}  coverage {row.coverage:.3f}  {row.seconds:.0f} s\n"
            )
            sys.stdout.flush()
            if asked.out:
                asked.out.parent.mkdir(parents=True, exist_ok=True)
                asked.out.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
