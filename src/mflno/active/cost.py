"""Which case and which level next: gain per cost, with costs that are let in slowly.

The gain of a run is by how much it lowers the total variance *at the highest level*,

    gain(j, m) = Σ_i (φ_i^top · φ_j^m)² / (|φ_j^m|² + n),

and the pick is the largest gain / c_m(t). With true costs from the start the cheap level wins
every early round, because anything helps then; so costs begin equal and end true,

    c_m(t) = c_m / (1 + (M c_m - 1) e^-αt),   c_m normalised to Σ c_m = 1

(the annealing of Li, Wang, Kirby, Zhe 2024, multi-resolution active learning). They count
rounds for t; with money to spend it is better counted by the share of it that is gone, because
a round may be one dear run or thirty cheap ones.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from mflno.active.covariance import conditioned_features, noise_floor
from mflno.active.view import best
from mflno.errors import ArgumentError
from mflno.shapes import Bool, Float


@dataclass(frozen=True)
class Pick:
    """One run to ask for.

    Attributes:
        candidate: Index into the pool.
        level: Which level.
        gain: Fall of the total variance at the highest level.
    """

    candidate: int
    level: int
    gain: float


def annealed_costs(
    costs: Float[ndarray, " M"], age: int | float, rate: float = 0.3
) -> Float[ndarray, " M"]:
    """The costs that count at one time: all equal at first, in true proportion at last.

    Args:
        costs: What one run costs at each level.
        age: t.
        rate: α; at 0.3 a cost ratio of 100 is nearly fully felt at an age of 20.

    Example:
        >>> annealed_costs(np.array([1.0, 9.0]), 0).round(3).tolist()
        [0.5, 0.5]
        >>> annealed_costs(np.array([1.0, 9.0]), 100).round(3).tolist()
        [0.1, 0.9]
    """
    if not (np.all(np.isfinite(costs)) and np.all(costs > 0)):
        raise ArgumentError("annealed_costs.costs", "must be positive", costs, "see Level.cost")
    share = costs / costs.sum()
    return share / (1.0 + (len(share) * share - 1.0) * np.exp(-rate * age))


@dataclass(frozen=True)
class Offer:
    """What can be bought.

    Attributes:
        features: Deviation features of every level under one law, on one grid and with one
            sketch, so that levels can be compared; the last level is the highest.
        taken: True where a level's run is done, pending or failed.
        cases: Scaled candidates; they break ties.
        costs: What one run costs at each level.
        chance: How likely each run succeeds; 1 when left out.
    """

    features: Float[ndarray, "M N D"] = field(repr=False)
    taken: Bool[ndarray, "M N"] = field(repr=False)
    cases: Float[ndarray, "N P"] = field(repr=False)
    costs: Float[ndarray, " M"]
    chance: Float[ndarray, "M N"] | None = field(default=None, repr=False)

    @property
    def places(self) -> Float[ndarray, "R E"]:
        """Case and level of each run, level after level."""
        levels, count, _ = self.features.shape
        rows = np.tile(self.cases, (levels, 1))
        return np.concatenate([rows, np.repeat(np.arange(levels), count)[:, None]], axis=1)


@dataclass(frozen=True)
class GainPerCost:
    """Runs over all levels, one after the other, each the most gain for its price.

    Args:
        rate: How fast the true costs come to count.
        noise: What a run leaves unsaid, as a share of the level's mean variance.
        least: The least gain that is worth a run, however cheap it is, as a share of the
            variance of one average candidate.
    """

    rate: float = 0.3
    noise: float = 0.01
    least: float = 0.1

    def choose(
        self, offer: Offer, *, batch: int, age: int | float, money: float = np.inf
    ) -> list[Pick]:
        """The next runs, best first; fewer when nothing is left that is worth its money.

        Args:
            offer: What can be bought.
            batch: How many runs at most.
            age: How far the campaign is, see `annealed_costs`.
            money: What they may cost together, at true costs.
        """
        levels, count, _ = offer.features.shape
        price = annealed_costs(offer.costs, age, self.rate)[:, None]
        noise = [noise_floor(level, self.noise) for level in offer.features]
        flat, taken = offer.features.reshape(levels * count, -1), offer.taken.copy()
        places, chance = offer.places, 1.0 if offer.chance is None else offer.chance
        picks: list[Pick] = []
        while len(picks) < batch:
            dear = (offer.costs > money * (1.0 + 1e-9))[:, None]
            rows = zip(flat.reshape(offer.features.shape), noise, strict=True)
            gain = np.stack([gains(level, flat[-count:], n) for level, n in rows])
            idle = gain < self.least * np.square(flat[-count:]).sum() / count
            if np.all(taken | dear | idle):
                break
            score = np.where(taken | dear | idle, -np.inf, gain * chance / price)
            level, candidate = divmod(best(score.ravel(), places), count)
            picks.append(Pick(candidate, level, float(gain[level, candidate])))
            taken[level, candidate], money = True, money - float(offer.costs[level])
            flat = conditioned_features(flat, flat[level * count + candidate], noise[level])
        return picks


def gains(
    features: Float[ndarray, "N D"], target: Float[ndarray, "N D"], noise: float
) -> Float[ndarray, " N"]:
    """By how much observing each case lowers the summed variance of the target."""
    moment = target.T @ target
    own = np.square(features).sum(1)
    total = np.einsum("nd,de,ne->n", features, moment, features, optimize=True)
    return total / (own + max(noise, 1e-300))
