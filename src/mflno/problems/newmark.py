"""Newmark's method with constant average acceleration, for any linear system in motion."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy import ndarray
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

from mflno.shapes import Float

Solver = Callable[[ndarray], ndarray]

ABREAST = 4096
"""How many oscillators are stepped side by side: more would not fit into the cache."""


class Motion(NamedTuple):
    """The state of a system at one time."""

    displacement: ndarray
    velocity: ndarray
    acceleration: ndarray


@runtime_checkable
class System(Protocol):
    """M ü + C u̇ + K u = f p(t), for several scalar loads p side by side."""

    def load(self, strengths: Float[ndarray, " L"]) -> ndarray:
        """The force f p, one case a load."""
        ...

    def internal(self, displacement: ndarray, velocity: ndarray) -> ndarray:
        """C u̇ + K u."""
        ...

    def solver(self, step: float) -> Solver:
        """The inverse of M + (h/2) C + (h²/4) K; of M alone when the step h is 0."""
        ...

    def tip(self, displacement: ndarray) -> Float[ndarray, "... L"]:
        """The deflection at the tip under each load."""
        ...


def newmark(
    system: System,
    loads: Float[ndarray, "L T"],
    step: float,
    *,
    start: tuple[ndarray, ndarray] | None = None,
) -> Iterator[Motion]:
    """The motion at each time of the loads, from rest or from a start.

    ```
    u' = u + h u̇ + (h²/4) (ü + ü'),    u̇' = u̇ + (h/2) (ü + ü'),    M ü' + C u̇' + K u' = f p'
    ```

    Second order, stable at any step, and without damping it keeps the energy exactly.

    Args:
        system: What moves.
        loads: Strength of each load at each time.
        step: Time between two columns of the loads.
        start: Displacement and velocity at the first time; None is rest.
    """
    force = system.load(loads[:, 0])
    displacement, velocity = (0.0 * force, 0.0 * force) if start is None else start
    # Rest in a load that is not zero is no equilibrium: the first acceleration follows from
    # the equation of motion, or the method falls to first order.
    acceleration = system.solver(0.0)(force - system.internal(displacement, velocity))
    solve = system.solver(step)
    yield Motion(displacement, velocity, acceleration)
    for strengths in loads.T[1:]:
        displacement = displacement + step * velocity + 0.25 * step**2 * acceleration
        velocity = velocity + 0.5 * step * acceleration
        residual = system.load(strengths) - system.internal(displacement, velocity)
        acceleration = solve(residual)
        displacement = displacement + 0.25 * step**2 * acceleration
        velocity = velocity + 0.5 * step * acceleration
        yield Motion(displacement, velocity, acceleration)


@dataclass(frozen=True)
class Modes:
    """Independent oscillators q̈ + c q̇ + ω² q = f p(t); several systems side by side.

    Attributes:
        squares: ω² of each mode, one row a system.
        damping: c, the same for all modes.
        force: What a load of one does to each mode.
        deflection: What each mode does to the tip.
    """

    squares: Float[ndarray, "N R"]
    damping: float
    force: Float[ndarray, "N R"]
    deflection: Float[ndarray, "N R"]

    def load(self, strengths: Float[ndarray, " L"]) -> Float[ndarray, "N L R"]:
        """See `System`."""
        return self.force[:, None, :] * strengths[:, None]

    def internal(self, displacement: ndarray, velocity: ndarray) -> ndarray:
        """See `System`."""
        return self.damping * velocity + self.squares[:, None, :] * displacement

    def solver(self, step: float) -> Solver:
        """See `System`."""
        weight = 1.0 + 0.5 * step * self.damping + 0.25 * step**2 * self.squares[:, None, :]
        return lambda force: force / weight

    def tip(self, displacement: Float[ndarray, "N L R"]) -> Float[ndarray, "N L"]:
        """See `System`."""
        return (self.deflection[:, None, :] * displacement).sum(axis=-1)

    def tips(
        self, loads: Float[ndarray, "L T"], step: float, *, every: int = 1
    ) -> Float[ndarray, "N L S"]:
        """The tip from rest, every so many steps: what `newmark` gives, some times faster.

        ```
        w = v - s̄ q,    s = -c/2 + iν,    ν² = ω² - c²/4:    ẇ = s w + f p,    q = Im w / ν
        w' = (1 + hs/2) / (1 - hs/2) w + (h/2) f (p + p') / (1 - hs/2)
        ```

        For a linear system Newmark's method with constant average acceleration is the
        trapezoidal rule, which each mode follows by itself.
        """
        if not (4.0 * self.squares > self.damping**2).all():
            shown = islice(newmark(self, loads, step), 0, None, every)
            return np.stack([self.tip(motion.displacement) for motion in shown], axis=-1)
        sums = loads[:, :-1] + loads[:, 1:]
        found = np.zeros((len(self.squares), len(loads), 1 + sums.shape[1] // every))
        size = max(1, ABREAST // (self.squares.shape[1] * len(loads)))
        for first in range(0, len(found), size):
            part = slice(first, first + size)
            free = np.sqrt(self.squares[part] - 0.25 * self.damping**2)
            below = 1.0 - 0.5 * step * (-0.5 * self.damping + 1j * free)
            turn = ((2.0 - below) / below)[:, None, :]
            gain = self.force[part] * self.deflection[part] * (0.5 * step) / (free * below)
            state = np.zeros((len(free), len(loads), free.shape[1]), dtype=complex)
            for number in range(len(sums.T)):
                state *= turn
                state += gain[:, None, :] * sums[:, number, None]
                if (number + 1) % every == 0:
                    found[part, :, (number + 1) // every] = np.imag(state).sum(axis=-1)
        return found


@dataclass(frozen=True)
class Matrices:
    """M ü + c M u̇ + K u = f p(t) with sparse symmetric matrices.

    Attributes:
        mass: M.
        stiffness: K.
        damping: c, in units of M.
        force: f.
        tip_row: Which unknown is the deflection at the tip.
    """

    mass: csc_array
    stiffness: csc_array
    damping: float
    force: Float[ndarray, " D"]
    tip_row: int

    def load(self, strengths: Float[ndarray, " L"]) -> Float[ndarray, "D L"]:
        """See `System`."""
        return self.force[:, None] * strengths

    def internal(self, displacement: ndarray, velocity: ndarray) -> ndarray:
        """See `System`."""
        return self.mass @ (self.damping * velocity) + self.stiffness @ displacement

    def solver(self, step: float) -> Solver:
        """See `System`."""
        weight = 1.0 + 0.5 * step * self.damping
        return factorised(weight * self.mass + 0.25 * step**2 * self.stiffness)

    def tip(self, displacement: Float[ndarray, "D L"]) -> Float[ndarray, " L"]:
        """See `System`."""
        return displacement[self.tip_row]


def factorised(matrix: csc_array) -> Solver:
    """The inverse of a symmetric positive matrix, as a function."""
    # Pivoting is needless for such a matrix and an ordering made for symmetric ones halves
    # the fill of SuperLU's default.
    options = {"SymmetricMode": True}
    ordering = "MMD_AT_PLUS_A"
    factors = splu(matrix, permc_spec=ordering, diag_pivot_thresh=0.0, options=options)
    return factors.solve
