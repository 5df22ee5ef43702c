"""When neighbouring chains exchange their states.

Every rule sees the same offer: for each pair of a colder and a hotter chain the gap
U_cold - U_hot, positive where the hotter chain holds the better state. Pairs take turns, even
ones and odd ones, so no chain is in two swaps at once. `Paper` and `Window` swap whenever the
gap is large enough; they are fast at passing good states down, and they narrow the cold
chain's law. `Metropolis` leaves every law as it is when energies are exact, `Corrected` also
when they are noisy.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from mflno.errors import ArgumentError
from mflno.shapes import Bool, Float, Int


class Memory(NamedTuple):
    """What rules remember of each pair; each uses the fields it needs."""

    buffer: Float[Tensor, "L J"]
    """C, the correction in units of energy."""
    gate: Int[Tensor, "L J"]
    """G, iterations since the last swap; for `Window`, 1 until the pair has swapped."""
    rate: Float[Tensor, "L J"]
    """Share of the iterations so far at which the condition held."""
    mean: Float[Tensor, "L J"]
    """Running mean of the gap."""
    square: Float[Tensor, "L J"]
    """Running mean of the squared gap."""
    noise: Float[Tensor, "L J"]
    """Estimated variance of the gap's noise."""


class Offer(NamedTuple):
    """What a rule decides on."""

    gap: Float[Tensor, "L J"]
    """U_cold - U_hot."""
    slope: Float[Tensor, " J"]
    """1/τ_cold - 1/τ_hot."""
    uniform: Float[Tensor, "L J"]
    """Uniform random numbers in [0, 1)."""
    healthy: Bool[Tensor, "L J"]
    """Whether both chains are finite."""
    step: Int[Tensor, ""]
    """The iteration, from 0."""


class Verdict(NamedTuple):
    """What a rule answers."""

    tentative: Bool[Tensor, "L J"]
    """Where its condition on the energies holds."""
    swapped: Bool[Tensor, "L J"]
    """Where the pair exchanges its states."""
    memory: Memory


@runtime_checkable
class Rule(Protocol):
    """Decides which pairs swap."""

    @property
    def probe(self) -> "Probe | None":
        """How the noise of the energies is to be measured, for a rule that needs it."""
        ...

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """Where the condition holds, where the pair swaps, and what to remember."""
        ...


def blank_memory(ladders: int, pairs: int, like: Tensor) -> Memory:
    """Nothing seen yet."""
    zero = like.new_zeros(ladders, pairs)
    return Memory(zero, zero.long(), zero, zero, zero, zero)


def gaps(energy: Float[Tensor, "L K"]) -> Float[Tensor, "L J"]:
    """U_cold - U_hot of each pair of neighbours."""
    return energy[:, :-1] - energy[:, 1:]


def partners(swapped: Bool[Tensor, "L J"]) -> Int[Tensor, "L K"]:
    """The chain whose state each chain takes: its neighbour where they swap, else itself.

    Example:
        >>> partners(torch.tensor([[True, False, True]]))
        tensor([[1, 0, 3, 2]])
    """
    nowhere = swapped.new_zeros(len(swapped), 1)
    up, down = torch.cat([swapped, nowhere], 1), torch.cat([nowhere, swapped], 1)
    place = torch.arange(up.shape[1], device=swapped.device)
    return place + up.long() - down.long()


def turn(pairs: int, count: Int[Tensor, ""]) -> Bool[Tensor, " J"]:
    """Even pairs at even counts, odd pairs at odd ones."""
    return (torch.arange(pairs, device=count.device) + count) % 2 == 0


def window_size(chains: int, target: float) -> int:
    """Eq. 16: ⌈(log K + log log K) / -log(1 - 𝕊)⌉ iterations between two swaps of a pair.

    It makes the round trips of the even-odd scheme shortest when a swap's condition holds at
    a share 𝕊 of the iterations. A single chain has no pairs: the answer is 1.

    Example:
        >>> [window_size(chains, 0.005) for chains in (1, 2, 6, 10)]
        [1, 66, 474, 626]
    """
    if not 0 < target < 1:
        raise ArgumentError("window_size.target", "in (0, 1)", target, "pass 0.005")
    if chains < 2:
        return 1
    wanted = math.log(chains) + math.log(math.log(chains))
    return max(1, math.ceil(wanted / -math.log1p(-target)))


def check_target(place: str, target: float, window: int | None) -> None:
    """Raise unless the target is a share and the window, if given, has iterations."""
    if not 0 < target < 1:
        raise ArgumentError(f"{place}.target", "in (0, 1)", target, "pass 0.005")
    if window is not None and window < 1:
        raise ArgumentError(f"{place}.window", "at least 1", window, "pass None for Eq. 16")


@dataclass(frozen=True)
class Buffer:
    """Eq. 17: C ← C + γ_i (rate - 𝕊), which rises when swaps come too often.

    γ_i = gain · s · min(1/2, 600 / (i^0.8 + 1000)), with s the running standard deviation of
    the gap, so that one gain serves energies of any unit.

    Args:
        cumulative: Take the rate over all iterations so far, as the paper prints it. That
            integrates an average and overshoots; the default is this iteration's event.
        gain: Factor of γ. At 0.5 the rate is within a tenth of 𝕊 = 0.005 after a thousand
            iterations; at 0.1 that takes five.
        horizon: Iterations over which s is taken.
    """

    cumulative: bool = False
    gain: float = 0.5
    horizon: int = 100

    def __post_init__(self) -> None:
        """Refuse a buffer that never moves or runs away from the target."""
        if not self.gain > 0 or self.horizon < 1:
            came, remedy = (self.gain, self.horizon), "pass 0.5 and 100"
            raise ArgumentError("Buffer.gain, horizon", "above 0 and at least 1", came, remedy)

    def __call__(
        self, memory: Memory, tentative: Bool[Tensor, "L J"], offer: Offer, target: float
    ) -> Memory:
        """The memory after one iteration."""
        count = offer.step + 1
        event = tentative.to(offer.gap.dtype)
        rate = memory.rate + (event - memory.rate) / count
        # The spread before this gap: with it, a large gap would weigh its own event more.
        spread = (memory.square - memory.mean.square()).clamp_min(0).sqrt()
        gamma = self.gain * spread * (600 / (count**0.8 + 1000)).clamp_max(0.5)
        buffer = memory.buffer + gamma * ((rate if self.cumulative else event) - target)

        share = 1 / count.clamp_max(self.horizon)
        gap = torch.where(offer.healthy, offer.gap, memory.mean)
        mean = memory.mean + share * (gap - memory.mean)
        square = memory.square + share * (gap.square() - memory.square)
        return memory._replace(buffer=buffer, rate=rate, mean=mean, square=square)


@dataclass(frozen=True)
class Paper:
    """The paper's rule: swap where U_hot + C < U_cold and G >= W.

    G counts the iterations since the pair's last swap, W is Eq. 16's window, C is Eq. 17's
    buffer. Not a Metropolis rule: good states flow down only, and the cold chain's law
    becomes narrower than exp(-U/τ), the more so the higher the target.

    Args:
        target: 𝕊, the share of iterations at which the condition shall hold.
        window: W; `None` takes Eq. 16.
        buffer: How C follows the rate.
    """

    target: float = 0.005
    window: int | None = None
    buffer: Buffer = field(default_factory=Buffer)
    probe = None

    def __post_init__(self) -> None:
        """Refuse a target that is no share, and a window without iterations."""
        check_target("Paper", self.target, self.window)

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """Condition, gate and turn."""
        pairs = offer.gap.shape[-1]
        width = self.window or window_size(pairs + 1, self.target)
        tentative = offer.healthy & (offer.gap > memory.buffer)
        swapped = tentative & (memory.gate >= width) & turn(pairs, offer.step)
        memory = self.buffer(memory, tentative, offer, self.target)
        gate = torch.where(swapped, 0, memory.gate + 1)
        return Verdict(tentative, swapped, memory._replace(gate=gate))


@dataclass(frozen=True)
class Window:
    """Even and odd pairs take turns by windows of W; a pair swaps at most once in its window.

    The condition and the buffer are `Paper`'s, and so is the narrowing.

    Args:
        target: 𝕊, the share of iterations at which the condition shall hold.
        window: W; `None` takes Eq. 16.
        buffer: How C follows the rate.
    """

    target: float = 0.005
    window: int | None = None
    buffer: Buffer = field(default_factory=Buffer)
    probe = None

    def __post_init__(self) -> None:
        """Refuse a target that is no share, and a window without iterations."""
        check_target("Window", self.target, self.window)

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """Condition, gate and turn."""
        pairs = offer.gap.shape[-1]
        width = self.window or window_size(pairs + 1, self.target)
        tentative = offer.healthy & (offer.gap > memory.buffer)
        gate = torch.where(offer.step % width == 0, 1, memory.gate)
        swapped = tentative & (gate > 0) & turn(pairs, offer.step // width)
        memory = self.buffer(memory, tentative, offer, self.target)
        return Verdict(tentative, swapped, memory._replace(gate=torch.where(swapped, 0, gate)))


@dataclass(frozen=True)
class Metropolis:
    """Swap with probability min(1, exp((1/τ_cold - 1/τ_hot)(U_cold - U_hot))).

    Leaves the product of all chains' laws as it is, when the energies are exact: use it with
    all cases in every batch.
    """

    probe = None

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """Metropolis' condition, in turn."""
        tentative = offer.healthy & (offer.uniform.log() < offer.slope * offer.gap)
        return Verdict(tentative, tentative & turn(offer.gap.shape[-1], offer.step), memory)


@dataclass(frozen=True)
class Probe:
    """The variance of the noise in a pair's gap, measured while the chains run.

    Args:
        every: Iterations between two measurements, each of two evaluations of the energy on
            independent batches, without gradients.
        horizon: Measurements over which the variance is averaged.
    """

    every: int = 10
    horizon: int = 500

    def __post_init__(self) -> None:
        """Refuse a probe that never measures."""
        if self.every < 1 or self.horizon < 1:
            came, remedy = (self.every, self.horizon), "pass 10 and 500"
            raise ArgumentError("Probe.every, horizon", "at least 1", came, remedy)

    def measured(
        self,
        memory: Memory,
        gap: Float[Tensor, "L J"],
        again: Float[Tensor, "L J"],
        step: int,
    ) -> Memory:
        """Take in two evaluations of the gap: half their squared difference has mean s²."""
        count = min(step // self.every + 1, self.horizon)
        change = ((gap - again).square() / 2 - memory.noise) / count
        return memory._replace(noise=memory.noise + change.nan_to_num(0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Corrected:
    """Metropolis for energies with Gaussian noise: the penalty method.

    With δ = 1/τ_cold - 1/τ_hot and s² the variance of the noise in U_cold - U_hot, swap with
    probability min(1, exp(δ(U_cold - U_hot) - δ²s²/2)). The penalty keeps detailed balance
    on average over the noise (Ceperley and Dewing, J. Chem. Phys. 110, 9812, 1999).

    Args:
        probe: How s² is measured.
    """

    probe: Probe = field(default_factory=Probe)

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """The penalised condition, in turn."""
        penalty = offer.slope.square() * memory.noise / 2
        penalty = torch.where(memory.noise > 0, penalty, 0.0)
        condition = offer.uniform.log() < offer.slope * offer.gap - penalty
        tentative = offer.healthy & condition
        return Verdict(tentative, tentative & turn(offer.gap.shape[-1], offer.step), memory)


@dataclass(frozen=True)
class Never:
    """No swaps: independent chains, each at its own temperature."""

    probe = None

    def __call__(self, memory: Memory, offer: Offer, /) -> Verdict:
        """Nowhere."""
        nowhere = torch.zeros_like(offer.healthy)
        return Verdict(nowhere, nowhere, memory)
