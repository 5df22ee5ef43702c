"""How one iteration is carried out: as written, compiled, or replayed as a CUDA graph.

All random numbers are drawn before the iteration and handed in, so the three ways use the
same numbers and nothing in a captured graph depends on a generator.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from mflno.bayes.draws import Energy
from mflno.bayes.langevin import energy_and_gradient
from mflno.shapes import Float, Int

Tensors = Any
"""A nested tuple of tensors or `None`: what of a sampler's state lives on the device."""


class Chance(NamedTuple):
    """Everything an iteration is given from outside."""

    batch: Int[Tensor, " B"] | None
    """Indices of the cases to look at."""
    noise: Float[Tensor, "R P"] | None
    """ε of Eq. 15; None where every temperature is 0."""
    uniform: Float[Tensor, "L J"]
    """What the swaps are decided with."""
    step: Int[Tensor, ""]
    """The iteration."""
    factor: Float[Tensor, ""]
    """The schedule's factor of the step sizes."""


Advance = Callable[[Tensors, Float[Tensor, " R"], Float[Tensor, "R P"], Chance], tuple]
"""(walk, energy, gradient, chance) -> (walk, info): a sampler's own arithmetic, pure."""
Turn = Callable[[Tensors, Chance], tuple]
"""(walk, chance) -> (walk, info): a whole iteration. A walk's first entry is theta."""


@runtime_checkable
class Engine(Protocol):
    """Makes a turn from an energy and a sampler's arithmetic."""

    def __call__(self, energy: Energy, advance: Advance, /) -> Turn:
        """The turn."""
        ...


@dataclass(frozen=True)
class Eager:
    """As written."""

    def __call__(self, energy: Energy, advance: Advance, /) -> Turn:
        """Gradient, then arithmetic."""

        def take(walk: Tensors, chance: Chance) -> tuple:
            values, gradient = energy_and_gradient(energy, walk[0], chance.batch)
            return advance(walk, values, gradient, chance)

        return take


@dataclass(frozen=True)
class Compiled:
    """The energy and the sampler's arithmetic through `torch.compile`, each once.

    The first iteration takes up to a minute.
    """

    def __call__(self, energy: Energy, advance: Advance, /) -> Turn:
        """Compiled gradient, then compiled arithmetic."""
        return Eager()(
            torch.compile(energy, dynamic=False), torch.compile(advance, dynamic=False)
        )


@dataclass(frozen=True)
class Captured:
    """The iteration captured once as a CUDA graph, then replayed: no launch costs.

    The walk that a turn returns is the graph's own memory, overwritten by the next turn:
    clone what must last. Energies must not wait for the device (`.item()`, printing).

    Args:
        inner: What is captured.
        warmup: Iterations run before capture, as libraries allocate on first use.
    """

    inner: Engine = field(default_factory=Eager)
    warmup: int = 3

    def __call__(self, energy: Energy, advance: Advance, /) -> Turn:
        """A turn that captures itself when it is first taken."""
        take = self.inner(energy, advance)
        tape: list[_Tape] = []

        def replay(walk: Tensors, chance: Chance) -> tuple:
            if not tape:
                tape.append(_Tape(take, walk, chance, self.warmup))
            return tape[0].play(walk, chance)

        return replay


def in_place(take: Turn, walk: Tensors, chance: Chance) -> Tensors:
    """The report of a turn whose walk is written over the one it started from."""
    after, info = take(walk, chance)
    # A report may show part of the walk as it was: without a copy it would show it as it is.
    info = mapped(torch.clone, info)
    copy_into(walk, after)
    return info


class _Tape:
    """A captured turn with its fixed places in memory."""

    def __init__(self, take: Turn, walk: Tensors, chance: Chance, warmup: int) -> None:
        self.walk, self.chance = mapped(torch.clone, walk), mapped(torch.clone, chance)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(warmup):
                take(self.walk, self.chance)
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.info = in_place(take, self.walk, self.chance)

    def play(self, walk: Tensors, chance: Chance) -> tuple:
        """Put the inputs in their places, replay, and hand out the places of the outputs."""
        if walk is not self.walk:
            copy_into(self.walk, walk)
        copy_into(self.chance, chance)
        self.graph.replay()
        return self.walk, self.info


def leaves(tree: Tensors) -> list[Tensor]:
    """The tensors of a nested tuple, in order."""
    if tree is None:
        return []
    return (
        [tree] if isinstance(tree, Tensor) else [leaf for part in tree for leaf in leaves(part)]
    )


def mapped(function: Callable[[Tensor], Tensor], tree: Tensors) -> Tensors:
    """The same nested tuple with a function applied to each tensor."""
    if tree is None or isinstance(tree, Tensor):
        return None if tree is None else function(tree)
    parts = [mapped(function, part) for part in tree]
    return type(tree)(*parts) if hasattr(tree, "_fields") else tuple(parts)


def copy_into(places: Tensors, values: Tensors) -> None:
    """Overwrite each tensor of a nested tuple with its counterpart."""
    for place, value in zip(leaves(places), leaves(values), strict=True):
        place.copy_(value)
