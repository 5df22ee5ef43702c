"""Weights that integrate an exponential against a sampled signal to fifth order.

On each step the signal is the quartic through the last five points, so that no weight looks
ahead: ∫_0^1 e^{z(1-θ)} v(θ) dθ ≈ Σ_s b_s(z) v_s, with s = -3 ... 1 and z = μ Δt. The b_s are
sums of phi-functions; Gauss-Legendre nodes give them without the cancellation of the closed
form near z = 0 and without a series: to 1e-15 for |z| < 50, to 2e-9 for Re z > -200.

Complex numbers are pairs of real tensors throughout, so that compilers can fuse all of it.
"""

from functools import cache

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from mflno.shapes import Float

OFFSETS = (-3, -2, -1, 0, 1)
GHOSTS = 3
"""Points before the first one that the first steps would use: extrapolated, not measured."""
COLUMNS = GHOSTS + 1
"""Values at or before the start of a stretch: only the steps inside the stretch see them."""
NODES = 32


def basis(nodes: tuple[int, ...]) -> Float[ndarray, "s d"]:
    """Coefficients of the Lagrange polynomials: ℓ_s(θ) = Σ_d basis[s, d] θ^d."""
    return np.linalg.inv(np.vander(np.array(nodes, dtype=float), increasing=True)).T


def exponentials(
    z: Float[Tensor, "*m 2"], times: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "*m n"], Float[Tensor, "*m n"]]:
    """Real and imaginary part of e^{z t}."""
    size = torch.exp(z[..., :1] * times)
    angle = z[..., 1:] * times
    return size * torch.cos(angle), size * torch.sin(angle)


@cache
def _gauss(device: torch.device) -> tuple[Tensor, Tensor]:
    """1 - θ at the nodes, and the weight of each node for each ℓ_s."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    theta = (node + 1) / 2
    values = np.vander(theta, 5, increasing=True) @ basis(OFFSETS).T
    values = torch.from_numpy(values * weight[:, None] / 2)
    return torch.from_numpy(1 - theta).to(device), values.to(device)


def weights(
    z: Float[Tensor, "*m 2"],
) -> tuple[Float[Tensor, "*m s"], Float[Tensor, "*m s"]]:
    """The five weights b_s(z), real and imaginary part.

    Example:
        >>> (weights(torch.zeros(1, 2, dtype=torch.float64))[0] * 720).round(decimals=9)
        tensor([[ -19.,  106., -264.,  646.,  251.]], dtype=torch.float64)
    """
    left, table = _gauss(z.device)
    real, imag = exponentials(z, left)
    return real @ table, imag @ table


@cache
def placement(
    size: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Which b_s e^{zn} stands where, for a stretch of `size` points; tables of 0 and 1.

    Time r = 1 ... Q of a stretch sees its steps i = 0 ... r-1, step i the values i-3 ... i+1
    counted from the start. Three tables:

    - from (s, n) to five sequences: what acts on later values at lag 0 ... Q-1, then what acts
      on the values 0, 1, 2, 3 points before the start at time 1 ... Q;
    - from the first of those sequences to the triangular Toeplitz matrix (value, time);
    - from (s, n) to what each of the Q + 4 values adds to the state at the end.
    """
    sequences = np.zeros((5, size, 1 + COLUMNS, size))
    ends = np.zeros((5, size, size + COLUMNS))
    for lag in range(size):
        for s in OFFSETS:
            if lag + s - 1 >= 0:
                sequences[s + 3, lag + s - 1, 0, lag] = 1.0
            ends[s + 3, size - 1 - lag, lag + s + 3] = 1.0
        for before in range(COLUMNS):
            for i in range(min(lag + 1, COLUMNS - before)):
                sequences[-before - i + 3, lag - i, 1 + before, lag] = 1.0
    later = np.stack([np.eye(size, k=lag) for lag in range(size)])
    shapes = ((5 * size, -1), (size, -1), (5 * size, -1))
    tables = zip((sequences, later, ends), shapes, strict=True)
    first, second, third = (torch.from_numpy(t.reshape(s)).to(device, dtype) for t, s in tables)
    return first, second, third


@cache
def extrapolation(dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """From the first five values to the ghosts -3, -2, -1, and what early times must change.

    At time n < 4 only the values up to n may be used, so the polynomial has degree n there; the
    second table is that minus the first, for n = 1, 2, 3.
    """
    tables = []
    for n in range(1, 5):
        table = np.zeros((5, GHOSTS))
        at = np.vander(np.arange(-GHOSTS, 0.0), n + 1, increasing=True)
        table[: n + 1] = basis(tuple(range(n + 1))) @ at.T
        tables.append(table)
    late = tables.pop()
    early = torch.from_numpy(np.stack(tables, axis=1) - late[:, None])
    return torch.from_numpy(late).to(device, dtype), early.to(device, dtype)
