"""The Duffing oscillator, and the low fidelity the paper derives from it (Section 3.2)."""

import math

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.checking import checked_case, checked_cases, checked_level
from mflno.problems.integration import checked_refinement, states_on_grid
from mflno.shapes import Float

SPAN = 20.0
GRID = np.linspace(0.0, SPAN, 2048)
DOWNSAMPLING = 2
CUTOFF = 64
FORCING = 2.0 * math.pi


class Duffing:
    """An oscillator with a hardening spring, driven from rest.

    ```
    ü + c u̇ + u + u³ = C sin 2πt,    u(0) = u̇(0) = 0,    t in [0, 20]            (Eq. 20)
    ```

    The high fidelity is the solution at 2,048 points. The low fidelity is made of it: slower,
    smoother, scaled and drifting, see `low_fidelity`. Its cost is stated as its share of the
    points, what it would be if a solver with a step twice as long had made it.

    Args:
        name: Change it with the box: the low fidelity depends on the box too.
        amplitude: Lowest and highest C.
        damping: Lowest and highest c.
        frequency: Of the drive, in place of 2π, in radians.
        refinement: How many times shorter the solver's steps are than by default.

    Example:
        >>> duffing = Duffing()
        >>> duffing.solve(np.array([7.0, 0.45]), level=1).shape
        (1, 2048)
    """

    outputs = ("u",)
    levels = (
        Level("low pass", GRID[::DOWNSAMPLING], cost=1 / DOWNSAMPLING),
        Level("ODE", GRID, cost=1.0),
    )

    def __init__(
        self,
        name: str = "duffing",
        *,
        amplitude: tuple[float, float] = (6.0, 8.0),
        damping: tuple[float, float] = (0.40, 0.50),
        frequency: float = FORCING,
        refinement: int = 1,
    ) -> None:
        self.name, self.frequency = name, frequency
        self.refinement = checked_refinement("Duffing", refinement)
        # What a name and a box do not tell; the version is part of the cache key.
        other = (frequency, refinement) != (FORCING, 1)
        self.version = f"1-{frequency!r}-{refinement}" if other else "1"
        self.parameters = (Parameter("C", *amplitude), Parameter("c", *damping))

    @classmethod
    def wide(cls) -> "Duffing":
        """A box so wide that the free oscillation fades at once or outlives the span.

        Its trajectories need twice as many shapes, and still change smoothly: so fast a drive
        meets no resonance of this oscillator.
        """
        return cls("duffing-wide", amplitude=(1.0, 10.0), damping=(0.08, 0.50))

    @classmethod
    def jump(cls) -> "Duffing":
        """The wide box under the drive C sin 3t, in which the response jumps.

        Along a curve from C = 5.5 at the lowest damping to 7.5 at the highest the oscillator
        climbs from small swings to large ones: neighbours differ as much there as cases from
        opposite ends of the box. Where one samples matters.
        """
        return cls("duffing-jump", amplitude=(1.0, 10.0), damping=(0.08, 0.50), frequency=3.0)

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing C sin 2πt; both levels feel the same."""
        return self.inputs_many(checked_case(self, case)[None], level)[0]

    def inputs_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N C T"]:
        """The forcing of many cases."""
        amplitude = checked_cases(self, cases)[:, :1]
        grid = self.levels[checked_level(self, level)].grid
        return (amplitude * np.sin(self.frequency * grid))[:, None]

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One case; `solve_many` gives the same bits."""
        return self.solve_many(checked_case(self, case)[None], level)[0]

    def solve_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N O T"]:
        """Many cases in about the time of one."""
        cases, level = checked_cases(self, cases), checked_level(self, level)
        high = displacement(cases, self.frequency, substeps=self.refinement)
        if level == 1:
            return high[:, None]
        scaled = [
            [p.scaled(x) for p, x in zip(self.parameters, case, strict=True)] for case in cases
        ]
        low = [low_fidelity(row, *pair) for row, pair in zip(high, scaled, strict=True)]
        return np.stack(low)[:, None]


def displacement(
    cases: Float[ndarray, "N P"], frequency: float = FORCING, *, substeps: int = 1
) -> Float[ndarray, "N T"]:
    """The solution u of Eq. 20 on the grid; one step from a point to the next is enough."""
    amplitude, damping = cases.T

    def rate(time: float, state: ndarray) -> ndarray:
        u, speed = state
        force = amplitude * math.sin(frequency * time)
        return np.array([speed, force - damping * speed - u - u * u * u])

    return states_on_grid(rate, np.zeros((2, len(cases))), GRID, substeps=substeps)[:, 0].T


def low_fidelity(
    high: Float[ndarray, " T"], amplitude: float, damping: float
) -> Float[ndarray, " L"]:
    """The paper's map of one high-fidelity trajectory to its low fidelity.

    ```
    u_L(t_j) = a P_K u_H(α t_j) + b(t_j),    j = 0, 2, 4, ...                     (Eq. 21)
    P_K u_H(t) = Σ_{|k| ≤ K} û_k exp(2πikt / T),    K = 64,  T = 20         (Eqs. 22, 23)
    a = 0.7 + 0.3 C̃,    α = 0.95 + 0.05 c̃,    b(t) = 0.7 C̃ t / T                (Eq. 24)
    ```

    The paper leaves open how P_K u_H is had between the grid points. Here the Fourier series
    itself is evaluated at the stretched times α t; since α ≤ 1 they never leave [0, T]. The
    series has the period T of Eq. 22, so t = 0 and t = T are one point of it, and it takes
    the mean of both ends there (u_H is not periodic: the low fidelity rings near the ends).

    Args:
        high: u_H on the grid.
        amplitude: C̃, the amplitude scaled to [-1, 1].
        damping: c̃, the damping scaled to [-1, 1].
    """
    time = GRID[::DOWNSAMPLING]
    circle = high[:-1].copy()
    circle[0] = 0.5 * (high[0] + high[-1])
    coefficients = np.fft.rfft(circle, norm="forward")[: CUTOFF + 1]
    # A real series: the terms of k and -k are conjugates, so the positive ones count twice.
    coefficients[1:] *= 2.0
    turn = np.exp(2j * np.pi / SPAN * (0.95 + 0.05 * damping) * time)
    smooth = np.polynomial.polynomial.polyval(turn, coefficients).real
    return (0.7 + 0.3 * amplitude) * smooth + 0.7 * amplitude * time / SPAN
