"""Stochastic batches: draw without replacement with probability proportional to σ^(2β).

Gumbel noise on β log σ² and the B largest (Kirsch et al. 2023). Cheap diversity, useful when
there are only two or three draws.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.view import View, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class Stochastic:
    """Power sampling of the posterior variance.

    Args:
        relative: Variances of the relative error, per |u|².
        power: β; 0 is random, large is `topb`.
    """

    relative: bool = True
    power: float = 1.0
    reads_posterior: ClassVar[bool] = True

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices in the order drawn."""
        count = demand(view, batch)
        beliefs = view.beliefs.relative() if self.relative else view.beliefs
        spread = (beliefs.spread[: len(view.candidates)] * view.chance)[view.free]
        logs = 2.0 * self.power * np.log(np.maximum(spread, 1e-300))
        keys = logs + generator.gumbel(size=len(logs))
        return view.free[np.argsort(-keys, kind="stable")[:count]]
