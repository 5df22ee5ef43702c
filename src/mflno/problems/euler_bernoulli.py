"""The cheap beam: Euler-Bernoulli bending, by finite differences."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.problems.newmark import Modes
from mflno.shapes import Float


@dataclass(frozen=True)
class EulerBernoulli:
    """A thin cantilever with one effective bending stiffness for its whole section.

    ```
    ρ w_tt + c w_t + κ w_xxxx = 0,    w = w_x = 0 at x = 0,    w_xx = 0, κ w_xxx = g(t) at x = L
    κ = κ₀ (1 + s (ξ₂ / ξ₀ - 1))
    ```

    It knows neither holes nor shear. Stiffness and sensitivity are fitted to the errors the
    paper prints; they are not derived from the section.

    Args:
        length: L.
        intervals: How many the beam is cut into.
        density: ρ, mass by length.
        damping: c.
        stiffness: κ₀, at the reference core.
        sensitivity: s, how much of a change of the core the section feels.
        reference: ξ₀, Young's modulus of the reference core.
    """

    length: float = 10.0
    intervals: int = 100
    density: float = 1.0
    damping: float = 0.0215
    stiffness: float = 1400.0
    sensitivity: float = 0.17
    reference: float = 1e4

    def __post_init__(self) -> None:
        """Refuse a beam too coarse for fourth differences."""
        if self.intervals < 4:
            place, rule = "EulerBernoulli.intervals", "must be at least 4"
            raise ArgumentError(place, rule, self.intervals, "use 100")

    def bending_stiffness(self, core: Float[ndarray, " N"]) -> Float[ndarray, " N"]:
        """κ for each Young's modulus ξ₂ of the core."""
        return self.stiffness * (1.0 + self.sensitivity * (core / self.reference - 1.0))

    def modes(self, core: Float[ndarray, " N"]) -> Modes:
        """All modes of the discrete beam, for each core; nothing is left out."""
        spacing = self.length / self.intervals
        mass = np.full(self.intervals, self.density * spacing)
        mass[-1] *= 0.5
        scale = 1.0 / np.sqrt(mass)
        stiffness = curvature_energy(self.intervals) / spacing**3
        squares, shapes = np.linalg.eigh(scale[:, None] * stiffness * scale)
        tip = scale[-1] * shapes[-1]
        rows = np.tile(tip, (len(core), 1))
        squares = self.bending_stiffness(core)[:, None] * squares
        # The load pulls the tip down, where the deflection is counted as negative.
        return Modes(squares, self.damping / self.density, -rows, rows)


def curvature_energy(intervals: int) -> Float[ndarray, "K K"]:
    """The matrix of central fourth differences at nodes 1 to K, both ends built in.

    It is Bᵀ B with B the second differences: at the clamp the mirrored node makes w₀'' equal
    2 w₁ (counted half), at the tip w'' is 0. Written out, the last rows are the usual ones of
    a free end with its ghost nodes eliminated, the last of them halved as its mass is.
    """
    second = np.zeros((intervals, intervals))
    second[0, 0] = np.sqrt(2.0)
    for row in range(1, intervals):
        second[row, row] = 1.0
        second[row, row - 1] = -2.0
        if row > 1:
            second[row, row - 2] = 1.0
    return second.T @ second
