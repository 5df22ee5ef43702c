"""How well G_L learns the cheap level: relative L2 error on cases it has not seen.

`python -m mflno.study.low_fidelity lorenz duffing beam` prints it.

It trains on cheap runs of the candidates and is judged on 100 cases drawn from the box, which
nothing else uses.
"""

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch

from mflno.multifidelity import MFLNO, Data, chained, scaled_cases
from mflno.problems import candidate_cases, problem_named, random_cases
from mflno.sampling import sample
from mflno.seeds import numpy_stream


@dataclass(frozen=True)
class LowError:
    """Errors of one G_L.

    Attributes:
        problem: Its name.
        seed: Of the starts.
        mean: Mean relative L2 error.
        maximum: Largest relative L2 error.
        seconds: Of processor time for the training.
    """

    problem: str
    seed: int
    mean: float
    maximum: float
    seconds: float


def low_error(name: str, seed: int, method: MFLNO, device: str = "cpu") -> LowError:
    """Train, and judge on new cases."""
    problem = problem_named(name)
    low = sample(problem, candidate_cases(problem), 0, show=False)
    fresh = random_cases(problem, 100, numpy_stream(0, "low fidelity", name))
    truth = sample(problem, fresh, 0, show=False)
    begin = time.process_time()
    data = Data(problem, (low,), low)
    stages = method.low_stages([data], [seed], device=device, show=False)[0]
    seconds = time.process_time() - begin
    scaled = scaled_cases(problem, truth.cases)
    (answer,) = chained(stages[:1], truth.inputs, scaled, truth.grid)
    size = np.linalg.norm(truth.values, axis=-1)
    error = np.linalg.norm(answer - truth.values, axis=-1) / size
    return LowError(name, seed, float(error.mean()), float(error.max()), seconds)


def main(words: list[str]) -> int:
    """Print a line a problem and seed."""
    parser = argparse.ArgumentParser(prog="mflno.study.low_fidelity", description=__doc__)
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--paper", action="store_true", help="the paper's net and training")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    for name in asked.problems:
        method = MFLNO.paper(name) if asked.paper else MFLNO(solver=False)
        for seed in range(asked.seeds):
            row = low_error(name, seed, method, asked.device)
            text = (
                f"{name:10s} seed {seed}  mean {row.mean:.4f}  max {row.maximum:.4f}"
                f"  {row.seconds:.0f} s"
            )
            sys.stdout.write((json.dumps(asdict(row)) if asked.json else text) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
