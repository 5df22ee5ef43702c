"""What the next iteration needs (`State`), and what a doctor wants to know of one (`Info`)."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from mflno.bayes.swap import Memory
from mflno.shapes import Bool, Float, Int


class Walk(NamedTuple):
    """The part of the state that the device computes on."""

    theta: Float[Tensor, "R P"]
    """Every chain's parameters, ladder after ladder, coldest first."""
    first: Float[Tensor, "R P"]
    """m, the running mean of the gradient."""
    second: Float[Tensor, "R P"]
    """V, the running mean of its square."""
    replica: Int[Tensor, "L K"]
    """Which starting state's descendant sits in each chain."""
    swaps: Memory
    """Buffers C, gates G and rates of each pair."""


@dataclass(frozen=True)
class State:
    """Everything the next step needs; a run that goes on from it cannot tell it was stopped.

    Attributes:
        walk: The chains.
        step: Moves made so far.
        order: This epoch's order of the cases.
        random: The generator's state, as bytes.
    """

    walk: Walk
    step: int
    order: Int[Tensor, " N"]
    random: Tensor

    @property
    def theta(self) -> Float[Tensor, "R P"]:
        """Every chain's parameters."""
        return self.walk.theta


class Info(NamedTuple):
    """One iteration: the chains as they were looked at, then what the swap did.

    `bayes.Trace` tells what each entry means.
    """

    energy: Float[Tensor, "L K"]
    gradient: Float[Tensor, "L K"]
    healthy: Bool[Tensor, "L K"]
    replica: Int[Tensor, "L K"]
    tentative: Bool[Tensor, "L J"]
    swapped: Bool[Tensor, "L J"]
    buffer: Float[Tensor, "L J"]


def blank_info(steps: int, ladders: int, chains: int, like: Tensor) -> Info:
    """Room for the infos of a whole run, one iteration a row."""
    rows = like.new_zeros(steps, ladders, chains)
    pairs = like.new_zeros(steps, ladders, chains - 1)
    return Info(
        energy=rows,
        gradient=rows.clone(),
        healthy=rows.bool(),
        replica=rows.long(),
        tentative=pairs.bool(),
        swapped=pairs.bool(),
        buffer=pairs,
    )
