"""What a run's trace says about its health: swaps, round trips, buffers, inert temperatures."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from mflno.bayes.draws import Trace
from mflno.shapes import Bool, Float, Int

INERT = 0.1
"""Largest harmless ratio of squared drift to squared noise."""


@dataclass(frozen=True)
class Diagnosis:
    """Figures on one run, and what is wrong in words.

    Attributes:
        tentative: Share of iterations at which a pair's condition held.
        realised: Share of iterations at which the pair swapped.
        trips: Round trips cold - hot - cold of each replica.
        buffer: Mean correction C of each pair over the second half.
        buffer_drift: Change of C between third and last quarter, in its own deviations.
        ratio: Median of eta |g|^2 / (2 tau) of each chain over the second half.
        restarts: How often a chain was not finite, each chain.
        findings: One sentence for each thing that is wrong; empty if nothing is.
    """

    tentative: Float[ndarray, " J"]
    realised: Float[ndarray, " J"]
    trips: Int[ndarray, "L K"]
    buffer: Float[ndarray, " J"]
    buffer_drift: Float[ndarray, " J"]
    ratio: Float[ndarray, " K"]
    restarts: Int[ndarray, " K"]
    findings: tuple[str, ...]


def diagnosis(trace: Trace) -> Diagnosis:
    """Read a run's trace; ladders are pooled where they have one law.

    Example:
        >>> diagnosis(Trace.empty(ladders=1, chains=3, parameters=2)).trips.tolist()
        [[0, 0, 0]]
    """
    tentative, realised = swap_rates(trace.tentative), swap_rates(trace.swapped)
    trips = round_trips(trace.replica)
    buffer, drift = settled(trace.buffer)
    ratio = _late_median(trace.ratio)
    restarts = (~trace.healthy).sum((0, 1)).cpu().numpy()
    findings = (
        *inert_findings(ratio, trace.parameters),
        *_swap_findings(realised, trips, len(trace.energy)),
        *_buffer_findings(drift),
        *(
            f"chain {chain} was not finite {count} times: lower its step size or clip"
            for chain, count in enumerate(restarts)
            if count
        ),
    )
    return Diagnosis(tentative, realised, trips, buffer, drift, ratio, restarts, findings)


def swap_rates(events: Bool[Tensor, "I L J"]) -> Float[ndarray, " J"]:
    """Share of iterations with an event, for each pair."""
    if events.shape[0] == 0:
        return np.zeros(events.shape[-1])
    return events.double().mean((0, 1)).cpu().numpy()


def round_trips(replica: Int[Tensor, "I L K"]) -> Int[ndarray, "L K"]:
    """How often each replica went from the coldest chain to the hottest and back.

    Args:
        replica: Which replica sits in each chain, at each iteration.

    Example:
        >>> seats = torch.tensor([[0, 1], [1, 0], [0, 1], [1, 0]])[:, None]
        >>> round_trips(seats).tolist()   # the way up from the hot start does not count
        [[1, 1]]
    """
    seats = replica.cpu().numpy()
    length, ladders, chains = seats.shape
    trips = np.zeros((ladders, chains), dtype=np.int64)
    if chains == 1 or length == 0:
        return trips
    row = np.arange(ladders)
    # 0: not yet cold; 1: last end visited was cold; 2: hot, having been cold before
    stage = np.zeros((ladders, chains), dtype=np.int8)
    for now in seats:
        cold, hot = now[:, 0], now[:, -1]
        trips[row, cold] += stage[row, cold] == 2
        stage[row, cold] = 1
        stage[row, hot] = np.where(stage[row, hot] == 1, 2, stage[row, hot])
    return trips


def settled(trace: Float[Tensor, "I L J"]) -> tuple[Float[ndarray, " J"], Float[ndarray, " J"]]:
    """Mean over the second half, and its drift in units of its own deviation there."""
    length = trace.shape[0]
    if length < 4 or trace.shape[-1] == 0:
        return np.zeros(trace.shape[-1]), np.zeros(trace.shape[-1])
    late = trace[length // 2 :].double()
    middle = len(late) // 2
    change = late[middle:].mean((0, 1)) - late[:middle].mean((0, 1))
    deviation = late.std(dim=0).mean(0).clamp_min(1e-300)
    # a constant buffer has a change and a deviation of rounding size alone
    moved = change.abs() > 1e-12 * late.abs().amax((0, 1))
    drift = torch.where(moved, change / deviation, torch.zeros_like(change))
    return late.mean((0, 1)).cpu().numpy(), drift.cpu().numpy()


def inert_findings(ratio: Float[ndarray, " K"], parameters: int) -> tuple[str, ...]:
    """Sentences on chains whose noise is too small beside the drift to shape the draws.

    eta |g|^2 / (2 tau) compares the squared drift of a move with the squared noise along the
    gradient. Per parameter it is eta k / 2 for a Gaussian of curvature k at equilibrium, the
    relative bias of its variance: above 0.1 there the draws have no temperature at all. In
    between, the chain still descends or has many stiff directions.
    """
    found = []
    for chain, value in enumerate(ratio):
        if np.isnan(value) or np.isinf(value) or value <= INERT:
            continue
        start = f"chain {chain}: eta |g|^2 / (2 tau) is {value:.3g}"
        share = value / parameters
        if share > INERT:
            text = f"{start}, {share:.3g} per parameter: its temperature is inert, its spread \
is that of an optimiser; raise tau or lower eta until it is below {INERT} per parameter"
        else:
            text = f"{start}, above {INERT}: drift outweighs noise along the gradient; unless \
it was as large at equilibrium ({share:.2g} per parameter), raise tau or run longer"
        found.append(text)
    return tuple(found)


def _late_median(ratio: Float[Tensor, "I L K"]) -> Float[ndarray, " K"]:
    values = ratio.cpu().numpy().astype(float)
    late = values[len(values) // 2 :].reshape(-1, values.shape[-1])
    if len(late) == 0:
        return np.zeros(values.shape[-1])
    # a broken chain reports NaN for the iteration at which it broke
    late = np.where(np.isnan(late).all(0), np.inf, late)
    return np.nanmedian(late, axis=0)


def _swap_findings(realised: ndarray, trips: ndarray, length: int) -> tuple[str, ...]:
    if len(realised) == 0 or length == 0:
        return ()
    stuck = [str(pair) for pair in np.flatnonzero(realised == 0)]
    found = []
    if stuck:
        found.append(f"pairs {', '.join(stuck)} never swapped: bring temperatures closer")
    if trips.sum() == 0:
        found.append("no replica made a round trip: hot chains brought nothing to the cold one")
    return tuple(found)


def _buffer_findings(drift: ndarray) -> tuple[str, ...]:
    moving = [str(pair) for pair in np.flatnonzero(np.abs(drift) > 1.0)]
    if not moving:
        return ()
    return (f"buffers of pairs {', '.join(moving)} still drift: run longer",)
