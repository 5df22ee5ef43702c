"""What networks answer: a chain of trained networks, the last one with its draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.multifidelity.law import Law, Predictor
from mflno.multifidelity.learnt import TOGETHER, Learnt
from mflno.multifidelity.query import Query
from mflno.seeds import numpy_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class NetworkPredictor:
    """Trained networks, cheapest level first; the spread of the last one's draws is the band.

    Attributes:
        stages: One network a level that has one.
        solver: Whether the first one reads the cheapest solver's own trajectory.
        residual: Whether the last one says the difference to the next cheaper trajectory.
    """

    kind: ClassVar[str] = "networks"
    stages: tuple[Learnt, ...]
    solver: bool = False
    residual: bool = False

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Mean and spread over the draws; draw s is one function of the whole box."""
        members = len(self.stages[-1].theta)
        points = len(query.grid) * self.stages[-1].outputs
        block = max(1, TOGETHER // (members * points))
        parts = [
            self._law(query, slice(first, first + block), draws)
            for first in range(0, len(query.cases), block)
        ]
        if len(parts) == 1:
            return parts[0]
        kept = [part.draws for part in parts if part.draws is not None]
        return Law(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.std for part in parts]),
            np.concatenate(kept, axis=1) if kept else None,
        )

    def _law(self, query: Query, rows: slice, draws: int) -> Law:
        found = self.members(query, rows)
        mean = found.mean(axis=0)
        std = found.std(axis=0, ddof=1) if len(found) > 1 else np.zeros_like(mean)
        return Law(mean, std, joint_draws(found, draws) if draws else None)

    def members(self, query: Query, rows: slice = slice(None)) -> Float[ndarray, "S N O T"]:
        """Each draw's prediction of these rows of the query."""
        forcing, scaled = query.inputs[rows], query.scaled[rows]
        first = [query.cheapest[rows]] if self.solver else []
        lower = chained(self.stages[:-1], forcing, scaled, query.grid, first)
        top = self.stages[-1]
        found = top.answers(top.channels.stacked(forcing, scaled, lower), query.grid)
        return found + lower[-1] if self.residual else found

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Every stage's numbers, and what they are."""
        named: dict[str, ndarray] = {}
        for place, stage in enumerate(self.stages):
            named |= stage.arrays(f"stage{place}")
        stages = [stage.about() for stage in self.stages]
        return named, {"stages": stages, "solver": self.solver, "residual": self.residual}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "NetworkPredictor":
        """The same predictor again."""
        stages = tuple(
            Learnt.from_arrays(arrays, each, f"stage{place}")
            for place, each in enumerate(about["stages"])
        )
        return cls(stages, about["solver"], about["residual"])


def chained(
    stages: Sequence[Learnt],
    forcing: Float[ndarray, "N C T"],
    scaled: Float[ndarray, "N P"],
    grid: Float[ndarray, " T"],
    first: Sequence[Float[ndarray, "N O T"]] = (),
) -> list[Float[ndarray, "N O T"]]:
    """What the last of these networks says, each reading the one before, the first `first`."""
    lower = list(first)
    for stage in stages:
        inputs = stage.channels.stacked(forcing, scaled, lower)
        lower = [stage.answers(inputs, grid).mean(axis=0)]
    return lower


def joint_draws(members: Float[ndarray, "S N O T"], count: int) -> Float[ndarray, "D N O T"]:
    """The members themselves; beyond them, Gaussian functions of their mean and covariance.

    Draw s is the same combination of members wherever it is asked for, so draws of different
    cases belong together.
    """
    have = len(members)
    if count <= have:
        return members[np.arange(count) * have // count]
    if have == 1:
        return np.repeat(members, count, axis=0)
    mean = members.mean(axis=0)
    normal = numpy_stream(0, "joint draws", have).standard_normal((count - have, have))
    more = np.tensordot(normal / (have - 1) ** 0.5, members - mean, axes=1)
    return np.concatenate([members, mean + more])


def warm_start(warm: Predictor | None) -> NetworkPredictor | None:
    """The earlier predictor, if networks made it."""
    if warm is None or isinstance(warm, NetworkPredictor):
        return warm
    remedy = "pass the predictor of an earlier fit by the same method"
    raise ArgumentError("fit.warm", "must be made of networks", warm.kind, remedy)
