"""Causal convolution with sums of damped exponentials, exact for the signal's own quartics.

The poles and residues become two small factors a pair of channels, in float64 where the
exponentials are; what then meets the signal is in the signal's own type. See `quadrature.py`
for the weights and `response.py` for the heavy part.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mflno.operators.exponentials import exponentials
from mflno.operators.quadrature import EARLY, OFFSETS
from mflno.operators.response import (
    STRETCH,
    Factors,
    combined,
    count_stretches,
    is_fused,
    late_kernel,
    response,
)
from mflno.operators.tables import tables
from mflno.shapes import Float


class Pair(NamedTuple):
    """Real and imaginary part; compilers fuse real arithmetic only."""

    real: Tensor
    imag: Tensor

    def times(self, other: "Pair") -> "Pair":
        """The complex product."""
        (a, b), (c, d) = self, other
        return Pair(torch.addcmul(a * c, b, d, value=-1), torch.addcmul(a * d, b, c))

    def stacked(self, dim: int) -> Tensor:
        """Real and minus the imaginary part, such that products with waves give Re Σ."""
        return torch.cat([self.real, -self.imag], dim=dim)


def causal_convolution(
    signal: Float[Tensor, "*#K J N T"],
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    initial: Float[Tensor, "*K I O M 2"] | None = None,
    mixing: Float[Tensor, "*K I J"] | None = None,
    merging: Float[Tensor, "*K A O"] | None = None,
) -> Float[Tensor, "*K A N T"]:
    """Re Σ_ik ∫_0^t β_iok e^{μ_iok (t-s)} v_i(s) ds, of fifth order in the step.

    Args:
        signal: v, or with `mixing` the signals it is mixed from.
        poles: μ.
        residues: β.
        step: Of the grid.
        initial: Adds the homogeneous response Re Σ_ik c_iok v_i(0) e^{μ_iok t}.
        mixing: v_i = Σ_j mixing_ij signal_j, which is never formed.
        merging: Answers Σ_o merging_ao of the response's channels, which are never formed.
    """
    points, dtype = signal.shape[-1], signal.dtype
    factors = kernel_factors(poles, residues, step, points, dtype)
    total = response(signal, factors, mixing, merging)
    if initial is None:
        return total
    start = signal[..., 0] if mixing is None else mixing @ signal[..., 0]
    return total + mixed(homogeneous(start, poles, initial, step, points), merging)


def mixed(
    signal: Float[Tensor, "*#K J N T"], mixing: Float[Tensor, "*K I J"] | None
) -> Float[Tensor, "*K I N T"]:
    """Σ_j mixing_ij signal_j, or the signal itself."""
    if mixing is None:
        return signal
    return combined(mixing, signal.flatten(-2)).unflatten(-1, signal.shape[-2:])


def kernel_factors(
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    points: int,
    dtype: torch.dtype,
) -> Factors:
    """The factors of the kernel for a grid of so many points."""
    constant = tables(dtype, poles.device)
    since = EARLY - len(OFFSETS) + 1
    nodes, near, far = waves(poles, step, (points, since), constant.nodes, dtype)
    size = outputs_first((residues.double() * step).to(dtype))
    weight = Pair(*(each[..., None] for each in size))
    b = Pair(*_weighted(nodes, constant.weights).unbind(-3)).times(weight)

    few = near[..., : EARLY + 1].flatten(-3, -2)
    moments = combined(b.stacked(-2).mT, few).flatten(-2)
    terms = b.times(Pair(*near[..., : len(OFFSETS)].unbind(-3)))
    last = Pair(terms.real.sum(-1)[..., None], terms.imag.sum(-1)[..., None])
    left = last.times(Pair(*far.unbind(-3))).stacked(-2)
    return Factors(left, near.flatten(-3, -2), moments @ constant.early.mT)


def _weighted(nodes: Tensor, weights: Tensor) -> Tensor:
    """Σ_g weights_sg nodes_g: a sum that compilers fuse, or a product of two matrices."""
    if is_fused():
        return (nodes.unsqueeze(-2) * weights).sum(-1)
    return nodes @ weights.mT


def homogeneous(
    start: Float[Tensor, "*#K I N"],
    poles: Float[Tensor, "*K I O M 2"],
    initial: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    points: int,
) -> Float[Tensor, "*K O N T"]:
    """Re Σ_ik c_iok v_i(0) e^{μ_iok t}."""
    none = torch.empty(0, dtype=torch.float64, device=poles.device)
    _, near, far = waves(poles, step, (points + EARLY, 0), none, start.dtype)
    size = Pair(*(each[..., None] for each in outputs_first(initial.to(start.dtype))))
    left = size.times(Pair(*far.unbind(-3))).stacked(-2)
    kernel = late_kernel(left, near.flatten(-3, -2))[..., :points]
    return start.mT.unsqueeze(-3) @ kernel


def waves(
    poles: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
    late: tuple[int, int],
    nodes: Float[Tensor, " g"],
    dtype: torch.dtype,
) -> tuple[Tensor, Tensor, Tensor]:
    """e^{μt} at the nodes, within a stretch, and where each stretch starts.

    `late` is how many points there are, and which of them begins the first stretch.
    """
    points, since = late
    count = count_stretches(points)
    stretch = torch.arange(STRETCH, device=poles.device, dtype=torch.float64)
    far = STRETCH * torch.arange(count, device=poles.device, dtype=torch.float64) + since
    times = torch.cat([nodes, stretch, far])
    sizes = [len(nodes), STRETCH, count]
    real, imag = outputs_first((poles * step).double())
    parts = exponentials(real, imag, times, dtype).split(sizes, dim=-1)
    if torch.compiler.is_exporting():
        # The strides of a slice tie an export to some grids, as does the end of one.
        parts = tuple(part.contiguous() for part in parts)
    return parts[0], parts[1], parts[2]


def outputs_first(pairs: Float[Tensor, "*K I O M 2"]) -> Pair:
    """Real and imaginary parts, "*K O I M"."""
    return Pair(*(each.contiguous() for each in pairs.transpose(-4, -3).unbind(-1)))
