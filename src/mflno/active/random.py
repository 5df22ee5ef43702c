"""Candidates at random: what every other rule must beat."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.active.view import View, demand
from mflno.shapes import Int


@dataclass(frozen=True)
class Random:
    """Free candidates, each as likely as any other."""

    reads_posterior: ClassVar[bool] = False

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices drawn without replacement."""
        return generator.choice(view.free, size=demand(view, batch), replace=False)
