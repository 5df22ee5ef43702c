"""Causal convolution with sums of damped exponentials, stretch by stretch.

The grid is cut into stretches of Q points. Inside a stretch the convolution is one matrix
product with a triangular Toeplitz matrix; what came before it enters through one complex state
a mode, X' = e^{μQΔt} X + (the stretch's own integral). All heavy work is real matrix products,
the cost grows like the number of points, and nothing has cases x modes x points entries. It
beats a padded FFT in time and in memory, and autograd, forward mode and vmap need no help.
"""

from math import ceil
from typing import NamedTuple

import torch
from torch import Tensor

from mflno.operators.quadrature import COLUMNS, exponentials, extrapolation, placement, weights
from mflno.shapes import Float

STRETCH = 64
"""Points of a stretch: its Toeplitz product then costs about as much as the states do."""
GROUP = 32
"""Stretches whose states are chained by one matrix product."""


class Stretch(NamedTuple):
    """What one stretch of Q points does, whatever its place on the grid.

    Attributes:
        inside: From its Q + 4 values (three before it, its start, its points) to its points.
        entering: From the same values to the states at its end, real and imaginary part.
        leaving: From the states at its start to its points, Re e^{zr} X for r = 1 ... Q.
    """

    inside: Float[Tensor, "*K I C O Q"]
    entering: Float[Tensor, "*K I O M 2 C"]
    leaving: Float[Tensor, "*K I O M 2 Q"]


def stretch(
    z: Float[Tensor, "*K I O M 2"],
    scale: Float[Tensor, "*K I O M 2"],
    size: int,
    dtype: torch.dtype,
) -> Stretch:
    """The three maps of a stretch, from z = μ Δt and the residues times Δt."""
    to_lags, to_matrix, to_ends = placement(size, dtype, z.device)
    real, imag = weights(z)
    a, b = scale[..., :1], scale[..., 1:]
    real, imag = (real * a - imag * b).to(dtype), (real * b + imag * a).to(dtype)
    times = torch.arange(size + 1, device=z.device, dtype=z.dtype)
    grow, turn = (e.to(dtype) for e in exponentials(z, times))
    c, d = grow[..., None, :-1], turn[..., None, :-1]
    real, imag = real[..., None], imag[..., None]
    terms = torch.stack([real * c - imag * d, real * d + imag * c], dim=-3).flatten(-2)
    lags = (terms[..., 0, :].sum(-2) @ to_lags).unflatten(-1, (1 + COLUMNS, size))
    later = (lags[..., 0, :] @ to_matrix).unflatten(-1, (size, size))
    inside = torch.cat([lags[..., 1:, :].flip(-2), later], dim=-2).transpose(-3, -2)
    leaving = torch.stack([grow[..., 1:], -turn[..., 1:]], dim=-2)
    return Stretch(inside, terms @ to_ends, leaving)


def chained(
    states: Float[Tensor, "*m 2 P N"], exponent: Float[Tensor, "*m 2"]
) -> Float[Tensor, "*m 2 P N"]:
    """X_p = e^{exponent} X_{p-1} + states_p along P: in groups, then the groups in turn."""
    count, cases = states.shape[-2:]
    size = min(GROUP, count)
    groups = ceil(count / size)
    times = torch.arange(size + 1, device=states.device, dtype=exponent.dtype)
    real, imag = (e.to(states.dtype) for e in exponentials(exponent, times))
    ahead = placement(size, states.dtype, states.device)[1]
    turn, cross = ((e[..., :-1] @ ahead).unflatten(-1, (size, size)).mT for e in (real, imag))
    within = torch.stack([torch.cat([turn, -cross], -1), torch.cat([cross, turn], -1)], dim=-3)
    if groups == 1:
        return (within.flatten(-3, -2) @ states.flatten(-3, -2)).unflatten(-2, (2, size))
    rest = states.new_zeros(*states.shape[:-2], groups * size - count, cases)
    parts = torch.cat([states, rest], dim=-2).unflatten(-2, (groups, size)).transpose(-3, -2)
    parts = parts.flatten(-2).flatten(-3, -2)
    ends = (within[..., -1, :] @ parts).unflatten(-1, (groups, cases))
    before = torch.zeros_like(ends[..., :1, :])
    before = torch.cat([before, chained(ends[..., :-1, :], exponent * size)], dim=-2)
    x, y = real[..., 1:], imag[..., 1:]
    onward = torch.stack([torch.stack([x, -y], -1), torch.stack([y, x], -1)], dim=-3)
    whole = torch.cat([within, onward], dim=-1).flatten(-3, -2)
    chain = whole @ torch.cat([parts, before.flatten(-2)], dim=-2)
    chain = chain.unflatten(-1, (groups, cases)).unflatten(-3, (2, size)).transpose(-3, -2)
    return chain.flatten(-3, -2)[..., :count, :]


def windows_of(
    signal: Float[Tensor, "*K I N T"], ghosts: Float[Tensor, "*K I N g"], size: int
) -> Float[Tensor, "*K P N I C"]:
    """The Q + 4 values of every stretch: three before its start, its start, its points."""
    points = signal.shape[-1]
    count = ceil((points - 1) / size)
    start, body = signal.split([1, points - 1], dim=-1)
    rest = signal.new_zeros(*signal.shape[:-1], count * size + 1 - points)
    body = torch.cat([body, rest], dim=-1).unflatten(-1, (count, size))
    ends = body.split([count - 1, 1], dim=-2)[0].split([size - COLUMNS, COLUMNS], dim=-1)[1]
    before = torch.cat([torch.cat([ghosts, start], dim=-1)[..., None, :], ends], dim=-2)
    turned = (t.movedim(-4, -2).transpose(-4, -3) for t in (before, body))
    return torch.cat([*turned], dim=-1)


def causal_convolution(
    signal: Float[Tensor, "*K I N T"],
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    initial: Float[Tensor, "*K I O M 2"] | None = None,
) -> Float[Tensor, "*K O N T"]:
    """Re Σ_ik ∫_0^t β_iok e^{μ_iok (t-s)} v_i(s) ds, of fifth order in the step.

    `initial` adds the homogeneous response Re Σ_ik c_iok v_i(0) e^{μ_iok t}.
    """
    points = signal.shape[-1]
    size = min(STRETCH, points - 1)
    z = poles * step
    maps = stretch(z, residues * step, size, signal.dtype)
    late, early = extrapolation(signal.dtype, signal.device)
    first = signal[..., :5]
    windows = windows_of(signal, first @ late, size)
    count, cases = windows.shape[-4:-2]

    flat = windows.flatten(-4, -3)
    inside = maps.inside
    local = (flat.flatten(-2) @ inside.flatten(-2).flatten(-3, -2)).unflatten(-1, (-1, size))
    entering = maps.entering.flatten(-4, -2)
    states = entering @ flat.movedim(-2, -3).transpose(-1, -2)
    states = states.unflatten(-1, (count, cases)).unflatten(-3, maps.entering.shape[-4:-1])
    start = torch.zeros_like(states[..., :1, :])
    if initial is not None:
        start = initial.to(signal.dtype)[..., None, None] * _first_value(signal)
    states = chained(torch.cat([start, states[..., :-1, :]], dim=-2), z * size)
    inner = states.flatten(-2).movedim(-5, -4).flatten(-4, -2)
    carried = inner.transpose(-1, -2) @ maps.leaving.movedim(-5, -4).flatten(-4, -2)

    body = (local.transpose(-3, -2) + carried).unflatten(-2, (count, cases))
    body = (
        body.transpose(-3, -2).flatten(-2).split([points - 1, count * size + 1 - points], -1)[0]
    )
    change = torch.einsum("...ins,srg->...inrg", first, early)
    change = torch.einsum("...inrg,...igor->...onr", change, inside[..., :3, :, :3])
    begin = start[..., 0, :, :].sum((-5, -3)).transpose(-1, -2)
    early_body, late_body = body.split([3, points - 4], dim=-1)
    return torch.cat([begin, early_body + change, late_body], dim=-1)


def _first_value(signal: Float[Tensor, "*K I N T"]) -> Float[Tensor, "*K I 1 1 1 1 N"]:
    return signal[..., 0][..., None, None, None, None, :]
