"""A chain of masses and springs: its solution is known in closed form at every parameter."""

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.checking import checked_case, checked_level
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
        checked_case(self, case)
        return np.sin(DRIVE * self.levels[checked_level(self, level)].grid)[None]

    def solve(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "O T"]:
        """The displacement of the free end: a sum over the modes."""
        stiffness, damping = checked_case(self, case)
        level = checked_level(self, level)
        frequencies, shapes = modes(MASSES[level], stiffness)
        time = self.levels[level].grid
        return (shapes[:, -1] ** 2 @ driven(frequencies, damping, time))[None]


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
    frequencies: Float[ndarray, " M"], damping: float, time: Float[ndarray, " T"]
) -> Float[ndarray, "M T"]:
    """The oscillators q̈ + c q̇ + ω² q = sin Ωt from rest; each must be underdamped.

    ```
    q = Im[G exp(iΩt)] - exp(-ct/2) (a cos νt + b sin νt),    ν² = ω² - c²/4
    G = 1 / (ω² - Ω² + icΩ),    a = Im G,    ν b = Ω Re G + (c/2) Im G
    ```
    """
    omega = frequencies[:, None]
    gain = 1.0 / (omega**2 - DRIVE**2 + 1j * damping * DRIVE)
    free = np.sqrt(omega**2 - damping**2 / 4.0)
    cosine = gain.imag
    sine = (DRIVE * gain.real + 0.5 * damping * gain.imag) / free
    fading = np.exp(-0.5 * damping * time)
    steady = (gain * np.exp(1j * DRIVE * time)).imag
    return steady - fading * (cosine * np.cos(free * time) + sine * np.sin(free * time))
