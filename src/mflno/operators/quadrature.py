"""Weights that integrate an exponential against a sampled signal to fifth order.

On each step the signal is the quartic through the last five points, so that no weight looks
ahead: ∫_0^1 e^{z(1-θ)} v(θ) dθ ≈ Σ_s b_s(z) v_s, with s = -3 ... 1 and z = μ Δt. The b_s are
sums of phi-functions; Gauss-Legendre nodes give them without the cancellation of the closed
form near z = 0 and without a series: to 1e-15 for |z| < 50, to 2e-9 for Re z > -200.

The same weights at every step make a convolution. Only the start differs: there the first steps
would read points before the first one. The first `EARLY` times are therefore written out, with
those points extrapolated. For all later times what the start adds decays or swings as e^{zn}
mode by mode, so that impulses at the first points say it as well (`impulses`).

The tables are NumPy constants that `tables.py` turns into tensors.
"""

from functools import cache

import numpy as np
from numpy import ndarray
from scipy.linalg import null_space

from mflno.shapes import Complex, Float

OFFSETS = (-3, -2, -1, 0, 1)
GHOSTS = 3
"""Points before the first one that the first steps would use: extrapolated, not measured."""
FIRST = 5
"""Values at the start that the extrapolation reads."""
EARLY = 16
"""Times at the start that are written out; by then impulses are out of the weights' reach."""
IMPULSES = 12
"""Points at the start that impulses are added to."""
EXACT, SWING = 6, 1.5
"""Order to which impulses say the start as z goes to 0; |z| up to which they fit it best."""
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


def kernel_weights(lag: int) -> Float[ndarray, "s n"]:
    """How a value so many steps ago is weighed, as weights of b_s e^{zn}."""
    table = np.zeros((len(OFFSETS), EARLY + 1))
    for s in OFFSETS:
        if lag - 1 + s >= 0:
            table[s + GHOSTS, lag - 1 + s] = 1.0
    return table


def start_weights(time: int) -> Float[ndarray, "v s n"]:
    """How each of the early values enters the response at an early time.

    Step j of the grid adds e^{z(time-1-j)} Σ_s b_s v_{j+s}; ghosts are read where j + s < 0.
    """
    table = np.zeros((EARLY, len(OFFSETS), EARLY + 1))
    ghosts = extrapolation(time)
    for step in range(time):
        for s in OFFSETS:
            entry = np.s_[s + GHOSTS, time - 1 - step]
            if step + s >= 0:
                table[step + s][entry] += 1.0
            else:
                table[(slice(FIRST), *entry)] += ghosts[:, step + s + GHOSTS]
    return table


@cache
def early_from_moments() -> Float[ndarray, "e sn"]:
    """The kernel at the early lags, then the start's map (value, time), from b_s e^{zn}."""
    kernel = np.stack([kernel_weights(lag) for lag in range(EARLY)])
    start = np.stack([start_weights(time) for time in range(EARLY)], axis=1)
    return np.concatenate([kernel, start.reshape(EARLY**2, *start.shape[2:])]).reshape(
        EARLY + EARLY**2, -1
    )


def start_share(z: Complex[ndarray, " z"]) -> Complex[ndarray, "z v"]:
    """What each of the first five values adds at the start, in units of the late kernel.

    The late response is e^{zn} Σ_v v_v (X_v + B e^{-zv}): the kernel's own part, of factor
    B = Σ_s b_s e^{z(s-1)}, and what the ghosts add and the missing step before the start takes
    away. This is X / B.
    """
    left, table = gauss()
    b = np.exp(z[:, None] * left) @ table.T
    late = extrapolation(FIRST - 1)
    total = np.zeros((len(z), FIRST), dtype=complex)
    total[:, 0] -= b[:, -1]
    for step in range(GHOSTS):
        for s in OFFSETS:
            if step + s < 0:
                size = b[:, s + GHOSTS] * np.exp(-z * (1 + step))
                total += size[:, None] * late[:, step + s + GHOSTS]
    return total / (b * np.exp(z[:, None] * (np.array(OFFSETS) - 1))).sum(1)[:, None]


@cache
def impulses() -> Float[ndarray, "d v"]:
    """Impulses at the first points, from the first values, that stand for the start.

    Σ_d e^{-zd} a_d = X / B holds to the order `EXACT` in z, and in least squares for z = iθ up
    to `SWING`: to 1e-9 for 60 points a period of the mode, 1e-5 for 15, 1e-3 for 6, 0.03 for 4.
    Damped modes forget the start before the early times end.
    """
    places = np.arange(IMPULSES)
    ring = 0.5 * np.exp(2j * np.pi * np.arange(64) / 64)
    powers = np.arange(EXACT)
    series = (np.fft.fft(start_share(ring), axis=0) / 64).real[:EXACT] / 0.5 ** powers[:, None]
    factorials = np.cumprod(np.maximum(powers, 1))
    exact = (-places.astype(float)) ** powers[:, None] / factorials[:, None]
    theta = np.linspace(0.02, SWING, 80)[:, None]
    fits, shares = np.exp(-1j * theta * places), start_share(1j * theta[:, 0])
    # The division makes what is left over grow with θ as smoothly as the quadrature's error.
    rows = lambda table: np.vstack([table.real, table.imag]) / np.tile(theta, (2, 1)) ** EXACT
    free = null_space(exact)
    some = np.linalg.lstsq(exact, series, rcond=None)[0]
    rest = np.linalg.lstsq(rows(fits @ free), rows(shares - fits @ some), rcond=None)[0]
    return some + free @ rest
