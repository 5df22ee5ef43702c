"""Causal convolution with sums of damped exponentials, exact for the signal's own quartics.

The poles and residues become two small factors a pair of channels, in float64 where the
exponentials are; what then meets the signal is in the signal's own type. See `quadrature.py`
for the weights and `response.py` for the heavy part.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mflno.operators.exponentials import exponentials
from mflno.operators.quadrature import EARLY
from mflno.operators.response import STRETCH, Factors, count_stretches, response
from mflno.operators.tables import Tables, tables
from mflno.shapes import Float


class Pair(NamedTuple):
    """Real and imaginary part; compilers fuse real arithmetic only."""

    real: Tensor
    imag: Tensor

    def times(self, other: "Pair") -> "Pair":
        """The complex product."""
        (a, b), (c, d) = self, other
        return Pair(torch.addcmul(a * c, b, d, value=-1), torch.addcmul(a * d, b, c))


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
    made = kernel_factors(poles, residues, step, signal.shape[-1], signal.dtype, initial)
    return response(signal, made)


def kernel_factors(
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    points: int,
    dtype: torch.dtype,
    initial: Float[Tensor, "*K I O M 2"] | None = None,
) -> Factors:
    """The factors of the kernel for a grid of so many points."""
    constant = tables(dtype, poles.device)
    count = count_stretches(points)
    stretch = torch.arange(STRETCH, device=poles.device, dtype=torch.float64)
    far = STRETCH * torch.arange(count, device=poles.device, dtype=torch.float64)
    real, imag = _outputs_first(poles * step)
    times = torch.cat([constant.nodes, stretch, far])
    sizes = [len(constant.nodes), STRETCH, count]
    nodes, near, far = exponentials(real.double(), imag.double(), times).split(sizes, dim=-1)
    near, far = near.to(dtype), far.to(dtype)

    few = Pair(*near[..., : EARLY + 1].unbind(-3))
    weight = Pair(*(each[..., None] for each in _outputs_first(residues.double() * step)))
    late, early = _rows(nodes, weight, few, constant)
    if initial is not None:
        start = Pair(*(each[..., None].to(dtype) for each in _outputs_first(initial)))
        late, early = _started(late, early, start.times(few))
    last = Pair(*(each[..., None, :] for each in far.unbind(-3)))
    left = Pair(*(each[..., None] for each in late)).times(last)
    return Factors(torch.cat([left.real, -left.imag], dim=-3), near.flatten(-3, -2), early)


def _rows(
    nodes: Float[Tensor, "*m 2 M g"], weight: Pair, few: Pair, constant: Tables
) -> tuple[Pair, Tensor]:
    """The six rows of the quadrature: each mode's at time 4, and the sum's before it."""
    whole = Pair(*(nodes @ constant.weights.mT).unbind(-3)).times(weight)
    dtype = few.real.dtype
    whole = Pair(*(each[..., None].to(dtype) for each in whole))
    terms = whole.times(Pair(*(each[..., None, :] for each in few)))
    terms = Pair(*(each.flatten(-2) for each in terms))
    early = terms.real.sum(-2) @ constant.early.mT
    late = Pair(*(each @ constant.late.mT for each in terms))
    return late, early.unflatten(-1, (-1, EARLY))


def _started(late: Pair, early: Tensor, start: Pair) -> tuple[Pair, Tensor]:
    """Row 1, which answers the first value, with the homogeneous response in it."""

    def added(values: Tensor, dim: int, extra: Tensor) -> Tensor:
        head, row, rest = values.split([1, 1, values.shape[dim] - 2], dim=dim)
        return torch.cat([head, row + extra, rest], dim=dim)

    late = Pair(*(added(v, -1, e[..., EARLY:]) for v, e in zip(late, start, strict=True)))
    return late, added(early, -2, start.real[..., :EARLY].sum(-2)[..., None, :])


def _outputs_first(pairs: Float[Tensor, "*K I O M 2"]) -> Pair:
    return Pair(*(each.contiguous() for each in pairs.transpose(-4, -3).unbind(-1)))
