"""What is known of the bands: errors found against errors predicted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.campaign import FitRecord
from mflno.shapes import Float


@dataclass(frozen=True)
class Evidence:
    """Predicted spreads against errors found: runs left out, and runs that came back.

    Attributes:
        left_out: Spread and error of each run left out of the last fit.
        returned: Spread and error of each run when it came back.
    """

    left_out: Float[ndarray, "N 2"]
    returned: Float[ndarray, "M 2"]

    @property
    def ratio(self) -> float:
        """Root mean square of error over spread; 1 is what honest bands give."""
        rows = np.concatenate([self.left_out, self.returned])
        rows = rows[(rows > 0).all(1)]
        return float(np.sqrt(np.mean((rows[:, 1] / rows[:, 0]) ** 2))) if len(rows) else np.nan

    def __len__(self) -> int:
        return len(self.left_out) + len(self.returned)


def evidence_of(fits: Sequence[FitRecord]) -> Evidence:
    """Left-out runs of the last fit, and everything that came back."""
    left = fits[-1].left_out if fits else {}
    columns = [left.get(name, []) for name in ("spread", "error")]
    rows = [[each["spread"], each["error"]] for fit in fits for each in fit.returned]
    return Evidence(np.array(columns, dtype=float).T.reshape(-1, 2), as_rows(rows))


def as_rows(rows: Sequence[Sequence[float | int]]) -> Float[ndarray, "N 2"]:
    """Rows of two numbers, also when there are none."""
    return np.array(rows, dtype=float).reshape(-1, 2)
