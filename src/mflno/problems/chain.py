"""A chain of masses and springs: its solution is known in closed form at every parameter."""

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.checking import checked_case, checked_cases, checked_level
from mflno.shapes import Float

SPAN = 20.0
DRIVE = np.pi
MASSES = 1, 6, 24


class Chain:
    """An elastic rod of unit mass as n masses on springs, pushed to and fro at its free end.

    ```
    m_i ẍ_i = n κ (x_{i-1} - 2 x_i + x_{i+1}) - c m_i ẋ_i,    x_0 = 0,    m_i = 1/n    (i < n)
    m_n ẍ_n = n κ (x_{n-1} - x_n) - c m_n ẋ_n + sin Ωt,    m_n = 1/2n,    Ω = π
    x = ẋ = 0 at t = 0;    u = x_n
    ```

    The last mass is half as heavy: the chain is then one half of a symmetric chain, whose modes
    are known, and tends to the rod with the square of 1/n. The three levels have 1, 6 and 24
    masses. The drive meets the first mode inside the box, near κ = 4, so that amplitude and
    phase change fast there. Costs are those of an explicit time stepper: the number of masses
    times the number of steps its fastest mode asks for, thus n², relative to the dearest level.

    Example:
        >>> Chain().solve(np.array([3.0, 0.2]), level=2).shape
        (1, 512)
    """

    name = "chain"
    version = "1"
    outputs = ("u",)
    parameters = (Parameter("kappa", 2.0, 6.0), Parameter("c", 0.1, 0.5))
    levels = (
        Level("one mass", np.linspace(0.0, SPAN, 128), cost=(MASSES[0] / MASSES[2]) ** 2),
        Level("fewer masses", np.linspace(0.0, SPAN, 256), cost=(MASSES[1] / MASSES[2]) ** 2),
        Level("exact", np.linspace(0.0, SPAN, 512), cost=1.0),
    )

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The force sin Ωt, the same in every case."""
        return self.inputs_many(checked_case(self, case)[None], level)[0]

    def inputs_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N C T"]:
        """The forcing of many cases."""
        force = np.sin(DRIVE * self.levels[checked_level(self, level)].grid)
        return np.tile(force, (len(checked_cases(self, cases)), 1, 1))

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """The displacement of the free end; `solve_many` gives the same bits."""
        return self.solve_many(checked_case(self, case)[None], level)[0]

    def solve_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N O T"]:
        """The free end in many cases: a sum over the modes, one after another."""
        cases, level = checked_cases(self, cases), checked_level(self, level)
        stiffness, damping = cases.T
        frequencies, shapes = modes(MASSES[level], 1.0)
        time = self.levels[level].grid
        total = np.zeros((len(cases), len(time)))
        for frequency, tip in zip(frequencies, shapes[:, -1], strict=True):
            total += tip**2 * driven(np.sqrt(stiffness) * frequency, damping, time)
        return total[:, None]


def modes(masses: int, stiffness: float) -> tuple[Float[ndarray, " M"], Float[ndarray, "M D"]]:
    """Frequencies and shapes of the chain, the shapes scaled to unit modal mass.

    ```
    θ_j = (2j - 1) π / 2n,    ω_j = 2 n sqrt(κ) sin(θ_j / 2),    φ_j(i) = sqrt(2) sin(i θ_j)
    ```
    """
    angles = (2.0 * np.arange(1, masses + 1) - 1.0) * np.pi / (2.0 * masses)
    frequencies = 2.0 * masses * np.sqrt(stiffness) * np.sin(angles / 2.0)
    shapes = np.sqrt(2.0) * np.sin(angles[:, None] * np.arange(1, masses + 1))
    return frequencies, shapes


def driven(
    frequency: Float[ndarray, " N"], damping: Float[ndarray, " N"], time: Float[ndarray, " T"]
) -> Float[ndarray, "N T"]:
    """The oscillators q̈ + c q̇ + ω² q = sin Ωt from rest; each must be underdamped.

    ```
    q = r sin Ωt + s cos Ωt - exp(-ct/2) (s cos νt + b sin νt),    ν² = ω² - c²/4
    G = r + is = 1 / (ω² - Ω² + icΩ),    ν b = Ω r + (c/2) s
    ```
    """
    gain = 1.0 / (frequency**2 - DRIVE**2 + 1j * damping * DRIVE)
    free = np.sqrt(frequency**2 - damping**2 / 4.0)
    real, imaginary = gain.real, gain.imag
    sine = (DRIVE * real + 0.5 * damping * imaginary) / free
    rows = (real, imaginary, sine, free, 0.5 * damping)
    real, imaginary, sine, free, fading = (row[:, None] for row in rows)
    steady = real * np.sin(DRIVE * time) + imaginary * np.cos(DRIVE * time)
    ringing = imaginary * np.cos(free * time) + sine * np.sin(free * time)
    return steady - np.exp(-fading * time) * ringing
