"""How the levels hang together: one law over all of them, for choosing which to buy.

A level is a multiple of the one below and a process of its own,

    u_k(x) = ρ_k u_{k-1}(x) + δ_k(x),    δ_k ~ GP(s_k² κ(x, x')),    u_0 = δ_0

so that with ψ(x) the features of κ, ψ · ψ' = κ, and P_lm = ρ_{l+1} ... ρ_m,

    φ^m(x) = (P_0m s_0 ψ(x), ..., P_mm s_m ψ(x), 0, ..., 0)

has inner products that are the covariances of any two cases at any two levels. ρ_k and s_k are
measured at cases that two levels share; κ is the prior of `Planned`.
Reference: Kennedy, O'Hagan, Predicting the output from a complex computer code when fast
approximations are available, 2000.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.shapes import Float


@dataclass(frozen=True)
class Agreement:
    """What a level says of the one above.

    Attributes:
        slopes: ρ_k of each level on the one below; that of the cheapest is 0.
        sizes: s_k, root mean square over cases, outputs and times of what is a level's own.
    """

    slopes: Float[ndarray, " M"]
    sizes: Float[ndarray, " M"]

    def features(self, prior: Float[ndarray, "N D"]) -> Float[ndarray, "M N E"]:
        """Features of every case at every level, from those of κ.

        Example:
            >>> law = Agreement(np.array([0.0, 0.5]), np.array([2.0, 1.0]))
            >>> law.features(np.ones((1, 1)))[:, 0].tolist()
            [[2.0, 0.0], [1.0, 1.0]]
        """
        levels = len(self.sizes)
        reached = np.eye(levels)
        for level in range(1, levels):
            reached[level, :level] = self.slopes[level] * reached[level - 1, :level]
        weights = reached * self.sizes
        return np.einsum("ml,nd->mnld", weights, prior).reshape(levels, len(prior), -1)

    @property
    def explained(self) -> list[float]:
        """Share of each level's variance that the level below explains, from the second on."""
        variances = np.square(self.sizes)
        total, shares = float(variances[0]), []
        for slope, own in zip(self.slopes[1:].tolist(), variances[1:].tolist(), strict=True):
            told = slope**2 * total
            total = told + own
            shares.append(told / max(total, 1e-300))
        return shares


def agreement(
    cases: Sequence[Float[ndarray, "_ P"]], values: Sequence[Float[ndarray, "_ O T"]]
) -> Agreement:
    """ρ and s by least squares over the cases that two neighbouring levels share.

    Levels that share fewer than two cases are taken to say nothing of each other.

    Args:
        cases: Of each level's runs, cheapest level first.
        values: Their trajectories, all on one grid.
    """
    slopes, sizes = [0.0], [spread_of(values[0])]
    for level in range(1, len(cases)):
        below, above = shared(cases[level - 1], cases[level])
        if len(above) < 2:
            slopes.append(0.0)
            sizes.append(spread_of(values[level]))
            continue
        low = centred(values[level - 1][below])
        high = centred(values[level][above])
        slope = float((low * high).sum() / max(float(np.square(low).sum()), 1e-300))
        slopes.append(slope)
        sizes.append(spread_of(high - slope * low))
    return Agreement(np.array(slopes), np.array(sizes))


def centred(values: Float[ndarray, "N O T"]) -> Float[ndarray, "N O T"]:
    """Trajectories less their mean."""
    return values - values.mean(0)


def spread_of(values: Float[ndarray, "N O T"]) -> float:
    """Root mean square about the mean of the cases."""
    rest = float(np.square(centred(values)).mean((1, 2)).sum())
    return float(np.sqrt(rest / max(len(values) - 1, 1)))


def shared(
    below: Float[ndarray, "N P"], above: Float[ndarray, "M P"]
) -> tuple[list[int], list[int]]:
    """Rows of the cases that both have, in the order of the second."""
    rows = {case.tobytes(): row for row, case in enumerate(below)}
    pairs = [(rows.get(case.tobytes()), row) for row, case in enumerate(above)]
    both = [(first, second) for first, second in pairs if first is not None]
    return [first for first, _ in both], [second for _, second in both]
