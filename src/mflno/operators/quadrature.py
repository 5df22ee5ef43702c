"""Weights that integrate an exponential against a sampled signal to fifth order.

On each step the signal is the quartic through the last five points, so that no weight looks
ahead: ∫_0^1 e^{z(1-θ)} v(θ) dθ ≈ Σ_s b_s(z) v_s, with s = -3 ... 1 and z = μ Δt. The b_s are
sums of phi-functions; Gauss-Legendre nodes give them without the cancellation of the closed
form near z = 0 and without a series: to 1e-15 for |z| < 50, to 2e-9 for Re z > -200.

Complex numbers are pairs of real tensors throughout, so that compilers can fuse all of it. The
tables are NumPy constants that `tables.py` turns into tensors.
"""

from functools import cache

import numpy as np
from numpy import ndarray

from mflno.shapes import Float

OFFSETS = (-3, -2, -1, 0, 1)
GHOSTS = 3
"""Points before the first one that the first steps would use: extrapolated, not measured."""
FIRST = 5
"""Values at the start that the extrapolation reads."""
EARLY = 4
"""Times at the start that may not read all of the first values."""
NODES = 32


def basis(nodes: tuple[int, ...]) -> Float[ndarray, "s d"]:
    """Coefficients of the Lagrange polynomials: ℓ_s(θ) = Σ_d basis[s, d] θ^d."""
    return np.linalg.inv(np.vander(np.array(nodes, dtype=float), increasing=True)).T


def gauss() -> tuple[Float[ndarray, " g"], Float[ndarray, "s g"]]:
    """1 - θ at the nodes, and the weight of each node for each ℓ_s.

    Example:
        >>> left, table = gauss()
        >>> (table.sum(1) * 720).round(9).tolist()
        [-19.0, 106.0, -264.0, 646.0, 251.0]
    """
    node, weight = np.polynomial.legendre.leggauss(NODES)
    theta = (node + 1) / 2
    values = np.vander(theta, 5, increasing=True) @ basis(OFFSETS).T
    return 1 - theta, (values * weight[:, None] / 2).T


def extrapolation(time: int) -> Float[ndarray, "v g"]:
    """From the first five values to the ghosts -3, -2, -1, as seen at one time.

    At time n < 4 only the values up to n may be used, so the polynomial has degree n there.
    """
    degree = min(time, FIRST - 1)
    table = np.zeros((FIRST, GHOSTS))
    at = np.vander(np.arange(-GHOSTS, 0.0), degree + 1, increasing=True)
    table[: degree + 1] = basis(tuple(range(degree + 1))) @ at.T
    return table


def row_weights(time: int) -> Float[ndarray, "r s n"]:
    """How the response at a time is made of b_s e^{zn}: six rows of weights of (s, n).

    Row 0 is what a value `time` steps ago adds. Row 1 + v is what the v-th value of the signal
    adds besides: as a ghost before the start, and, for v = 0, minus the step before the start
    that row 0 gives it and that does not exist. Step j of the grid, e^{z(time-1-j)} Σ_s b_s
    v_{j+s}, is summed over j = 0 ... time-1.
    """
    table = np.zeros((1 + FIRST, len(OFFSETS), time + 1))
    for s in OFFSETS:
        if time - 1 + s >= 0:
            table[0, s + GHOSTS, time - 1 + s] = 1.0
    table[1, -1, time] = -1.0
    ghosts = extrapolation(time)
    for before in range(1, GHOSTS + 1):
        for s in OFFSETS:
            step = -before - s
            if 0 <= step < time:
                table[1:, s + GHOSTS, time - 1 - step] += ghosts[:, GHOSTS - before]
    return table


@cache
def rows_from_powers() -> tuple[Float[ndarray, "r sn"], Float[ndarray, "rt sn"]]:
    """The rows as weights of b_s e^{zn}, n = 0 ... 4: from time 4 on, and at times 0 ... 3.

    From time 4 on a row is e^{z(time-4)} times its value at time 4; the second table holds the
    rows at the four earlier times, where the signal has fewer values to extrapolate from.
    """
    late = row_weights(EARLY)
    early = np.zeros((1 + FIRST, EARLY, len(OFFSETS), EARLY + 1))
    for time in range(EARLY):
        early[:, time, :, : time + 1] = row_weights(time)
    return late.reshape(1 + FIRST, -1), early.reshape((1 + FIRST) * EARLY, -1)
