"""Which case and which level next: gain per cost, with costs that are let in slowly.

The gain of a run is by how much it lowers the total variance *at the highest level*,

    gain(j, m) = Σ_i (φ_i^top · φ_j^m)² / (|φ_j^m|² + n),

and the pick is the largest gain / c_m(t). With true costs from the start the cheap level wins
every early round, because anything helps then; so costs begin equal and end true,

    c_m(t) = c_m / (1 + (M c_m - 1) e^-αt),   c_m normalised to Σ c_m = 1

(the annealing of Li, Wang, Kirby, Zhe 2024, multi-resolution active learning).
"""

from dataclasses import dataclass

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
    costs: Float[ndarray, " M"], round_number: int, rate: float = 0.3
) -> Float[ndarray, " M"]:
    """The costs that count in one round: all equal in round 0, in true proportion at last.

    Args:
        costs: What one run costs at each level.
        round_number: t.
        rate: α; at 0.3 a cost ratio of 100 is nearly fully felt after 20 rounds.

    Example:
        >>> annealed_costs(np.array([1.0, 9.0]), 0).round(3).tolist()
        [0.5, 0.5]
        >>> annealed_costs(np.array([1.0, 9.0]), 100).round(3).tolist()
        [0.1, 0.9]
    """
    if not (np.all(np.isfinite(costs)) and np.all(costs > 0)):
        raise ArgumentError("annealed_costs.costs", "must be positive", costs, "see Level.cost")
    share = costs / costs.sum()
    return share / (1.0 + (len(share) * share - 1.0) * np.exp(-rate * round_number))


@dataclass(frozen=True)
class GainPerCost:
    """Runs over all levels, one after the other, each the most gain for its price.

    Args:
        rate: How fast the true costs come to count.
        noise: What a run leaves unsaid, as a share of the level's mean variance.
    """

    rate: float = 0.3
    noise: float = 0.01

    def choose(
        self,
        features: Float[ndarray, "M N D"],
        taken: Bool[ndarray, "M N"],
        cases: Float[ndarray, "N P"],
        costs: Float[ndarray, " M"],
        *,
        batch: int,
        round_number: int,
    ) -> list[Pick]:
        """The next runs, best first; fewer when all is taken.

        Args:
            features: Deviation features of every level from the same draws on one grid and
                with one sketch, so that levels can be compared; the last is the highest.
            taken: True where a level's run is done, pending or failed.
            cases: Scaled candidates; they break ties.
            costs: What one run costs at each level.
            batch: How many runs.
            round_number: How many rounds were before this one.
        """
        levels, count, _ = features.shape
        price = annealed_costs(costs, round_number, self.rate)[:, None]
        noise = [noise_floor(level, self.noise) for level in features]
        flat, taken = features.reshape(levels * count, -1), taken.copy()
        places = np.concatenate(
            [np.tile(cases, (levels, 1)), np.repeat(np.arange(levels), count)[:, None]], 1
        )
        picks: list[Pick] = []
        while len(picks) < batch and not taken.all():
            gain = np.stack(
                [
                    gains(level, flat[-count:], n)
                    for level, n in zip(flat.reshape(features.shape), noise, strict=True)
                ]
            )
            score = np.where(taken, -np.inf, gain / price)
            level, candidate = divmod(best(score.ravel(), places), count)
            picks.append(Pick(candidate, level, float(gain[level, candidate])))
            taken[level, candidate] = True
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
