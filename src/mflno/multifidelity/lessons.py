"""What a network is taught: channels, targets, and the sizes its errors are measured by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.data import Trajectories
from mflno.multifidelity.channels import Channels, parameter_channels, scaled_cases
from mflno.multifidelity.learnt import Learnt
from mflno.problems import Problem
from mflno.shapes import Float


@dataclass(frozen=True)
class Lesson:
    """One data set to learn: what goes in, what should come out, on one grid.

    Attributes:
        channels: What the inputs are.
        inputs: Channels of each case.
        targets: Trajectories; for a residual form, less the cheaper ones.
        size: |u|_p of each trajectory by which errors are measured.
        grid: Time.
        seed: Of the starts and of the inference.
        start: An earlier fit to go on from.
    """

    channels: Channels
    inputs: Float[ndarray, "N C T"]
    targets: Float[ndarray, "N O T"]
    size: Float[ndarray, "N O"]
    grid: Float[ndarray, " T"]
    seed: int = 0
    start: Learnt | None = None


def lesson(
    problem: Problem,
    runs: Trajectories,
    lower: Sequence[Float[ndarray, "N O T"]],
    *,
    parameters: str,
    order: float,
    time: bool = False,
    residual: bool = False,
) -> Lesson:
    """What a network that reads these cheaper trajectories is taught about these runs."""
    channels = Channels(
        forcing=runs.inputs.shape[1],
        parameters=parameter_channels(problem, parameters),
        time=time,
        lower=sum(each.shape[1] for each in lower),
    )
    inputs = channels.stacked(runs.inputs, scaled_cases(problem, runs.cases), lower)
    targets = runs.values - lower[-1] if residual and lower else runs.values
    size = np.linalg.norm(runs.values, order, axis=-1)
    # a trajectory that stays at zero is measured by the typical one
    size = np.maximum(size, 1e-6 * size.mean(axis=0))
    return Lesson(channels, inputs, targets, size, runs.grid)
