"""A problem from a file of its solved cases, for machines that lack what its solver needs.

`python -m mflno.study.recorded beam carry/beam.npz` makes such a file.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.errors import SolveFailed
from mflno.problems import Problem, problem_named, study_cases
from mflno.sampling import sample
from mflno.shapes import Float


@dataclass(frozen=True, eq=False)
class Recorded:
    """Solved cases of every level, looked up where a solver would run.

    Attributes:
        name: The problem's.
        version: The problem's.
        parameters: The axes of the box.
        levels: Cheapest first.
        outputs: Names of the output functions.
        rows: The place of each case, by its bytes.
        forcing: Of each level and case.
        values: Of each level and case.
    """

    name: str
    version: str
    parameters: tuple[Parameter, ...]
    levels: tuple[Level, ...]
    outputs: tuple[str, ...]
    rows: dict[bytes, int]
    forcing: tuple[ndarray, ...]
    values: tuple[ndarray, ...]

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The recorded forcing; between recorded cases that of the nearest one."""
        return self.forcing[level][self.row(case)]

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """The recorded trajectory."""
        return self.values[level][self.row(case)]

    def row(self, case: Float[ndarray, " P"]) -> int:
        """The place of a recorded case."""
        found = self.rows.get(np.asarray(case, dtype=float).tobytes())
        if found is None:
            raise SolveFailed("error", f"case {case} was not recorded")
        return found


def record(problem: Problem, path: Path) -> None:
    """Solve candidates and test cases at every level, and write them down."""
    cases = np.concatenate(list(study_cases(problem)))
    # the forcing at the centre and at each parameter's end says which parameters it depends on
    low = np.array([each.low for each in problem.parameters])
    high = np.array([each.high for each in problem.parameters])
    middle = 0.5 * (low + high)
    ends = np.where(np.eye(len(low), dtype=bool), high, middle)
    cases = np.concatenate([cases, middle[None], ends])
    arrays = {"cases": cases, "version": np.array(problem.version)}
    for number in range(len(problem.levels)):
        runs = sample(problem, cases, number)
        arrays |= {f"inputs{number}": runs.inputs, f"values{number}": runs.values}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


def recorded(name: str, path: Path) -> Problem:
    """The problem of this name, its solutions read from the file."""
    like = problem_named(name)
    with np.load(path, allow_pickle=False) as file:
        cases, version = file["cases"], str(file["version"])
        levels = range(len(like.levels))
        forcing = tuple(file[f"inputs{number}"] for number in levels)
        values = tuple(file[f"values{number}"] for number in levels)
    rows = {case.tobytes(): row for row, case in enumerate(cases)}
    return Recorded(
        name, f"{version}-recorded", like.parameters, like.levels, like.outputs,
        rows, forcing, values,
    )  # fmt: skip


if __name__ == "__main__":
    record(problem_named(sys.argv[1]), Path(sys.argv[2]))
