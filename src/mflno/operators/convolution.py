"""Causal convolution with sums of damped exponentials, exact for the signal's own quartics.

The poles and residues become two small factors a pair of channels, in float64 where the
exponentials are; what then meets the signal is in the signal's own type. See `quadrature.py`
for the weights and `response.py` for the heavy part.
"""

import torch
from torch import Tensor

from mflno.operators.exponentials import exponentials
from mflno.operators.quadrature import EARLY
from mflno.operators.response import STRETCH, count_stretches, response
from mflno.operators.tables import tables
from mflno.shapes import Float


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
    turned = lambda value: value.transpose(-4, -3).unbind(-1)
    dtype = signal.dtype
    constant = tables(dtype, signal.device)
    count = count_stretches(signal.shape[-1])
    ahead = torch.arange(STRETCH, device=signal.device)
    times = torch.cat(
        [
            constant.nodes,
            ahead.double(),
            STRETCH * torch.arange(count, device=signal.device).double(),
        ]
    )

    real, imag = turned(poles * step)
    powers = exponentials(real.double(), imag.double(), times)
    parts = [p.split([len(constant.nodes), STRETCH, count], dim=-2) for p in powers]
    (node_c, c, far_c), (node_s, s, far_s) = parts
    c, s, far_c, far_s = (e.to(dtype) for e in (c, s, far_c, far_s))
    a, b = (r[..., None, :] for r in turned(residues.double() * step))
    node_c, node_s = constant.weights @ node_c, constant.weights @ node_s
    x, y = (node_c * a - node_s * b).to(dtype), (node_c * b + node_s * a).to(dtype)

    x, y = x[..., :, None, :], y[..., :, None, :]
    few_c, few_s = (e[..., None, : EARLY + 1, :] for e in (c, s))
    terms_c = (x * few_c - y * few_s).flatten(-3, -2)
    terms_s = (x * few_s + y * few_c).flatten(-3, -2)
    late_c, late_s = constant.late @ terms_c, constant.late @ terms_s
    early = (constant.early @ terms_c.sum(-1, keepdim=True)).squeeze(-1)
    early = early.unflatten(-1, (-1, EARLY))
    if initial is not None:
        p, q = (r[..., None, :].to(dtype) for r in turned(initial))
        grow, spin = (e[..., : EARLY + 1, :] for e in (c, s))
        start_c, start_s = p * grow - q * spin, p * spin + q * grow
        late_c = _added(late_c, start_c[..., EARLY:, :])
        late_s = _added(late_s, start_s[..., EARLY:, :])
        early = _added(early, start_c[..., :EARLY, :].sum(-1)[..., None, :])
    late_c, late_s = late_c[..., None, :], late_s[..., None, :]
    far_c, far_s = far_c[..., None, :, :], far_s[..., None, :, :]
    left = torch.cat(
        [late_c * far_c - late_s * far_s, -late_c * far_s - late_s * far_c], dim=-1
    )
    right = torch.cat([c, s], dim=-1)
    return response(*_aligned(signal, left, right, early))


def _added(values: Tensor, to_first: Tensor) -> Tensor:
    """Row 1, which answers the first value, with something added."""
    head, row, rest = values.split([1, 1, values.shape[-2] - 2], dim=-2)
    return torch.cat([head, row + to_first, rest], dim=-2)


def _aligned(signal: Tensor, left: Tensor, right: Tensor, early: Tensor) -> list[Tensor]:
    """All four with as many leading axes."""
    axes = ((signal, 3), (left, 5), (right, 4), (early, 4))
    lead = max(value.ndim - own for value, own in axes)
    return [value[(None,) * (lead - value.ndim + own)] for value, own in axes]
