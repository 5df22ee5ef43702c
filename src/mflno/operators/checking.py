"""What an operator refuses, said at its door."""

import torch
from torch import Tensor

from mflno.errors import ArgumentError
from mflno.operators.quadrature import EARLY


def check_operator_input(owner: str, inputs: Tensor, grid: Tensor, weight: Tensor) -> None:
    """Raise unless inputs and grid fit each other and the operator.

    Under a compiler or a function transform, where values cannot be read, shapes, types and
    devices are still checked.
    """
    _check_kinds(owner, inputs, grid, weight)
    _check_shapes(owner, inputs, grid, weight)
    if not torch.compiler.is_compiling():
        _check_values(owner, inputs, grid)


def _check_kinds(owner: str, inputs: Tensor, grid: Tensor, weight: Tensor) -> None:
    for name, value in (("inputs", inputs), ("grid", grid)):
        if not value.is_floating_point():
            rule, remedy = "must be a floating-point tensor", "call .float() on it"
            raise ArgumentError(f"{owner}.{name}", rule, value.dtype, remedy)
        if value.device != weight.device:
            rule = f"must be on the operator's device {weight.device}"
            raise ArgumentError(
                f"{owner}.{name}", rule, value.device, "move it with .to(device)"
            )
    if inputs.dtype != weight.dtype:
        rule = f"must have the operator's type {weight.dtype}"
        remedy = "convert the inputs, or the operator with .to(dtype)"
        raise ArgumentError(f"{owner}.inputs", rule, inputs.dtype, remedy)


def _check_shapes(owner: str, inputs: Tensor, grid: Tensor, weight: Tensor) -> None:
    place, shape = f"{owner}.inputs", tuple(inputs.shape)
    if inputs.ndim < 3:
        raise ArgumentError(
            place, "must have axes (cases, channels, time)", shape, "reshape it"
        )
    if inputs.shape[-2] != weight.shape[-1]:
        rule = f"must have {weight.shape[-1]} channels"
        raise ArgumentError(place, rule, shape, "stack forcing and parameters as channels")
    if inputs.shape[-3] == 0:
        raise ArgumentError(place, "must hold at least one case", shape, "check the selection")
    if grid.ndim != 1 or grid.shape[0] != inputs.shape[-1]:
        rule = "must be one row of times, as many as the inputs have points"
        raise ArgumentError(
            f"{owner}.grid", rule, tuple(grid.shape), "pass the inputs' own grid"
        )
    if grid.shape[0] < EARLY:
        rule, remedy = f"needs at least {EARLY} times", "sample the signal more finely"
        raise ArgumentError(f"{owner}.grid", rule, grid.shape[0], remedy)


def _check_values(owner: str, inputs: Tensor, grid: Tensor) -> None:
    try:
        finite = bool(torch.isfinite(inputs).all())
        steps = torch.diff(grid.double())
        # The times themselves are rounded, which shows in the steps of long and fine grids.
        rounding = 4 * torch.finfo(grid.dtype).eps * float(grid.abs().max())
        uneven = float(steps.max() - steps.min())
        uniform = float(steps.min()) > 0 and uneven < 1e-3 * float(steps.mean()) + rounding
    except RuntimeError:  # a function transform hides the values
        return
    if not finite:
        remedy = "drop the failed cases first"
        raise ArgumentError(f"{owner}.inputs", "must be finite", "NaN or infinity", remedy)
    if not uniform:
        remedy = "interpolate to a uniform grid"
        raise ArgumentError(
            f"{owner}.grid", "must rise in uniform steps", "it does not", remedy
        )
