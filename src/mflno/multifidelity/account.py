"""What a sampler's run says of itself, small enough to be kept beside the network."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.bayes import Trace, diagnosis
from mflno.shapes import Float, Int

KEPT = 200
"""Iterations whose energies are kept, evenly spread over the run."""


@dataclass(frozen=True)
class Account:
    """One ladder's run; chains are in order of their temperature, the coldest first.

    Attributes:
        step: Iterations whose energies are kept.
        energy: Of each chain at these.
        temperature: Of each chain.
        tentative: Share of iterations at which a pair's condition held.
        realised: Share of iterations at which the pair swapped.
        trips: Round trips cold - hot - cold of each replica.
        restarts: How often a chain was not finite.
        findings: A sentence for each thing that is wrong.
    """

    step: Int[ndarray, " I"]
    energy: Float[ndarray, "I K"]
    temperature: Float[ndarray, " K"]
    tentative: Float[ndarray, " J"]
    realised: Float[ndarray, " J"]
    trips: Int[ndarray, " K"]
    restarts: Int[ndarray, " K"]
    findings: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, ladder: int) -> "Account | None":
        """Of one ladder of a run; none where the inference has no iterations."""
        length = len(trace.energy)
        if length == 0:
            return None
        found = diagnosis(trace.of_ladder(ladder))
        step = np.unique(np.linspace(0, length - 1, min(length, KEPT)).round().astype(np.int64))
        return cls(
            step=step,
            energy=trace.energy[:, ladder].cpu().numpy()[step].astype(np.float32),
            temperature=trace.temperature.cpu().numpy(),
            tentative=found.tentative, realised=found.realised, trips=found.trips[0],
            restarts=found.restarts, findings=found.findings,
        )  # fmt: skip

    def arrays(self, prefix: str) -> dict[str, ndarray]:
        """Its numbers by name."""
        return {f"{prefix}.account.{name}": getattr(self, name) for name in ARRAYS}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any], prefix: str
    ) -> "Account | None":
        """The same again; none in a file of a fit without."""
        if "findings" not in about:
            return None
        own = {name: arrays[f"{prefix}.account.{name}"] for name in ARRAYS}
        return cls(**own, findings=tuple(about["findings"]))


ARRAYS = ("step", "energy", "temperature", "tentative", "realised", "trips", "restarts")
