"""The constant tables of the quadrature as tensors, one set a type and device."""

from functools import cache
from threading import Thread
from typing import NamedTuple

import torch
from numpy import ndarray
from torch import Tensor

from mflno.operators.quadrature import early_from_moments, gauss, impulses
from mflno.shapes import Float


class Tables(NamedTuple):
    """Constants of the quadrature.

    Attributes:
        nodes: 1 - θ at the Gauss-Legendre nodes, in float64 always.
        weights: From the exponentials at the nodes to b_s.
        early: From the moments Re Σ β b_s e^{zn} to the kernel and the map at the early times.
        impulses: From the first values to what is added to the first points.
    """

    nodes: Float[Tensor, " g"]
    weights: Float[Tensor, "s g"]
    early: Float[Tensor, "e sn"]
    impulses: Float[Tensor, "d v"]


@torch.compiler.assume_constant_result
def tables(dtype: torch.dtype, device: torch.device) -> Tables:
    """The tables, made once a type and device; a constant to compilers."""
    return _tables(dtype, device)


@cache
def _tables(dtype: torch.dtype, device: torch.device) -> Tables:
    made: list[Tables] = []

    def make() -> None:
        tensor = lambda array, kind: torch.from_numpy(array).to(device, kind)
        arrays: tuple[ndarray, ...] = (*gauss(), early_from_moments(), impulses())
        kinds = (torch.float64, dtype, dtype, dtype)
        made.append(Tables(*(tensor(a, k) for a, k in zip(arrays, kinds, strict=True))))

    # A cached tensor must belong to no function transform and no inference mode that happens
    # to be on: those follow the thread, so a thread of its own has none.
    worker = Thread(target=make)
    worker.start()
    worker.join()
    return made[0]
