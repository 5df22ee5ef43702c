"""The forced Lorenz system, and the low fidelity the paper derives from it (Section 3.1)."""

import math

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.checking import checked_case, checked_cases, checked_level
from mflno.problems.integration import checked_refinement, states_on_grid
from mflno.shapes import Float

SPAN = 20.0
PRANDTL, GEOMETRY = 10.0, 8.0 / 3.0
FORCING = 2.0 * math.pi
LONGEST_STEP = 0.01


class Lorenz:
    """Lorenz's model of convection, its first variable driven.

    ```
    u̇ = σ (y - u) + (0.2 + 5a) sin 2πt,    ẏ = u (ρ - z) - y,    ż = u y - β z
    σ = 10,  β = 8/3,    u(0) = 1,  y(0) = z(0) = 0,    t in [0, 20]
    u_L(t) = u_H(t) (1 + 0.3 sin t) + 1.5 + 0.0225 t
    ```

    In this box the system is not chaotic: each case settles to a forced oscillation about a
    fixed point. The low fidelity has 512 points, the high fidelity 2,048; the cost of the low
    one is stated as its share of the points, what it would be if a coarser solver had made it.

    Args:
        refinement: How many times shorter the solver's steps are than by default.

    Example:
        >>> Lorenz().solve(np.array([0.5, 6.0]), level=0).shape
        (1, 512)
    """

    name = "lorenz"
    outputs = ("u",)
    parameters = (Parameter("a", 0.01, 1.0), Parameter("rho", 5.0, 8.0))
    levels = (
        Level("distorted", np.linspace(0.0, SPAN, 512), cost=0.25),
        Level("ODE", np.linspace(0.0, SPAN, 2048), cost=1.0),
    )

    def __init__(self, *, refinement: int = 1) -> None:
        self.refinement = checked_refinement("Lorenz", refinement)
        self.version = "1" if refinement == 1 else f"1-{refinement}"

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The forcing (0.2 + 5a) sin 2πt; both levels feel the same."""
        return self.inputs_many(checked_case(self, case)[None], level)[0]

    def inputs_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N C T"]:
        """The forcing of many cases."""
        forcing = checked_cases(self, cases)[:, :1]
        grid = self.levels[checked_level(self, level)].grid
        return ((0.2 + 5.0 * forcing) * np.sin(FORCING * grid))[:, None]

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """One case; `solve_many` gives the same bits."""
        return self.solve_many(checked_case(self, case)[None], level)[0]

    def solve_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N O T"]:
        """Many cases in about the time of one."""
        cases, level = checked_cases(self, cases), checked_level(self, level)
        grid = self.levels[level].grid
        values = convection(cases, grid, refinement=self.refinement)
        if level == 0:
            values = values * (1.0 + 0.3 * np.sin(grid)) + 1.5 + 0.0225 * grid
        return values[:, None]


def convection(
    cases: Float[ndarray, "N P"], grid: Float[ndarray, " T"], *, refinement: int = 1
) -> Float[ndarray, "N T"]:
    """The solution u on a grid."""
    forcing, rayleigh = cases.T
    amplitude = 0.2 + 5.0 * forcing

    def rate(time: float, state: ndarray) -> ndarray:
        u, y, z = state
        force = amplitude * math.sin(FORCING * time)
        return np.array(
            [PRANDTL * (y - u) + force, u * (rayleigh - z) - y, u * y - GEOMETRY * z]
        )

    start = np.zeros((3, len(cases)))
    start[0] = 1.0
    substeps = refinement * math.ceil((grid[1] - grid[0]) / LONGEST_STEP)
    return states_on_grid(rate, start, grid, substeps=substeps)[:, 0].T
