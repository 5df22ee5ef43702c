"""Derivatives of a network's answers by all of its parameters, for every row of them.

Forward mode would run a Laplace operator once a parameter. But its answer is a pointwise
function of few convolutions: with Y = e^{μt} * v and Z = (t e^{μt}) * v of each mode, and G the
derivative of the output by what the block gives,

    ∂u/∂β = G Re(Y), -G Im(Y)     ∂u/∂μ = G Re(βZ), -G Im(βZ)     ∂u/∂P = Σ G (κ + W) * x

so one pass makes every column. Other networks go through forward mode.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, jvp, vmap

from mflno.multifidelity.forms import Mixed
from mflno.operators import (
    Causal,
    LaplaceBlock,
    LaplaceOperator,
    Packing,
    causal_convolution,
    identity,
)
from mflno.shapes import Float

Columns = dict[str, Float[Tensor, "K p N O T"]]


def jacobian(
    module: nn.Module,
    theta: Float[Tensor, "K P"],
    inputs: Float[Tensor, "*K N C T"],
    grid: Float[Tensor, " T"],
) -> tuple[Float[Tensor, "K N O T"], Float[Tensor, "K P N O T"]]:
    """The answers and their derivatives."""
    if not structured(module):
        return generic_jacobian(module, theta, inputs, grid)
    layout = Packing.of(module)
    values, columns = columns_of(module, layout.unpack(theta), inputs, grid)
    return values, torch.cat([columns[name] for name in layout.names], dim=1)


def structured(module: nn.Module) -> bool:
    """Whether the columns have the closed form."""
    if isinstance(module, Mixed):
        return structured(module.linear) and structured(module.nonlinear)
    if not isinstance(module, LaplaceOperator) or len(module.blocks) != 1:
        return False
    block = module.blocks[0]
    if not isinstance(block, LaplaceBlock):
        return False
    rule = block.laplace.rule
    return type(rule) is Causal and not rule.initial_state and block.activation is identity


def generic_jacobian(
    module: nn.Module, theta: Tensor, inputs: Tensor, grid: Tensor
) -> tuple[Tensor, Tensor]:
    """By forward mode, 64 parameters at a time."""
    layout, values, columns = Packing.of(module), [], []
    for row, each in enumerate(theta):
        own = inputs if inputs.ndim == 3 else inputs[row]

        def answer(parameters: Tensor, own: Tensor = own) -> Tensor:
            arguments = (own, grid)
            return functional_call(
                module, layout.unpack(parameters), arguments, {"checked": False}
            )

        derivative = lambda tangent, at=each, go=answer: along(go, at, tangent)[1]
        values.append(answer(each))
        unit = torch.eye(len(each), dtype=each.dtype, device=each.device)
        columns.append(vmap(derivative, chunk_size=64)(unit))
    return torch.stack(values), torch.stack(columns)


def columns_of(
    module: nn.Module, values: dict[str, Tensor], inputs: Tensor, grid: Tensor
) -> tuple[Tensor, Columns]:
    """The answers, and the derivatives by each named parameter."""
    if isinstance(module, Mixed):
        return mixed_columns(module, values, inputs, grid)
    if not isinstance(module, LaplaceOperator):
        raise TypeError(f"no closed form for {type(module).__name__}")
    return operator_columns(module, values, inputs, grid)


def mixed_columns(
    module: Mixed, values: dict[str, Tensor], inputs: Tensor, grid: Tensor
) -> tuple[Tensor, Columns]:
    """Of α u_l + (1 - α) u_nl; by the free number α(1 - α)(u_l - u_nl)."""
    alpha = torch.sigmoid(values["weight"])[..., None, None]
    parts, columns = [], {}
    for name, share in (("linear", alpha), ("nonlinear", 1 - alpha)):
        own = {k.removeprefix(f"{name}."): v for k, v in values.items() if k.startswith(name)}
        answer, found = columns_of(getattr(module, name), own, inputs, grid)
        columns |= {f"{name}.{k}": share[:, None] * each for k, each in found.items()}
        parts.append(answer)
    linear, nonlinear = parts
    columns["weight"] = (alpha * (1 - alpha) * (linear - nonlinear))[:, None]
    return alpha * linear + (1 - alpha) * nonlinear, columns


def operator_columns(
    module: LaplaceOperator, values: dict[str, Tensor], inputs: Tensor, grid: Tensor
) -> tuple[Tensor, Columns]:
    """Of one lift, one block and a projection."""
    block, own = "blocks.0.laplace.", values
    step = (grid[-1] - grid[0]).double() / (grid.shape[0] - 1)
    poles = torch.stack([-torch.exp(own[block + "decay"]), own[block + "frequency"]], -1)
    residues, bypass = own[block + "residue"], own["blocks.0.bypass.weight"]
    signal = inputs.expand(len(poles), *inputs.shape[-3:]).transpose(-3, -2)
    lifted = affine(own["lift.weight"], own["lift.bias"], signal)
    wave, slope = mode_responses(lifted, poles, step)
    real, imag = residues[..., 0, None, None], residues[..., 1, None, None]
    inner = (real * wave[0] - imag * wave[1]).sum((1, 3))
    inner = inner + affine(bypass, own["blocks.0.bypass.bias"], lifted)
    answer, outer, columns = projection_columns(module, own, inner)

    # letters: K, the outputs e, the block's inputs i and outputs o, modes m, cases n, times t
    spread = lambda what: torch.einsum("keont,kiomnt->kiomnet", outer, what)
    by_decay = poles[..., 0, None, None] * (real * slope[0] - imag * slope[1])
    by_frequency = -(real * slope[1] + imag * slope[0])
    by_residue = torch.stack([spread(wave[0]), -spread(wave[1])], dim=4)
    columns[block + "decay"] = spread(by_decay).flatten(1, 3)
    columns[block + "frequency"] = spread(by_frequency).flatten(1, 3)
    columns[block + "residue"] = by_residue.flatten(1, 4)
    columns["blocks.0.bypass.weight"] = torch.einsum(
        "keont,kint->koinet", outer, lifted
    ).flatten(1, 2)
    columns["blocks.0.bypass.bias"] = outer.permute(0, 2, 3, 1, 4)
    kernels = channel_responses(signal, poles, residues, step)
    direct = torch.einsum("koi,kcnt->kcoint", bypass, signal)
    columns["lift.weight"] = torch.einsum(
        "keont,kcoint->kicnet", outer, kernels[:, :-1] + direct
    ).flatten(1, 2)
    constant = kernels[:, -1] + bypass[..., None, None]
    columns["lift.bias"] = torch.einsum("keont,koint->kinet", outer, constant)
    return answer, columns


def along(
    function: Callable[[Tensor], Tensor], at: Tensor, direction: Tensor
) -> tuple[Tensor, Tensor]:
    """The function's value, and its derivative in a direction."""
    with warnings.catch_warnings():
        # the first use of forward mode makes torch load rules by a way it has deprecated
        warnings.filterwarnings("ignore", ".*torch.jit", DeprecationWarning)
        value, slope = jvp(function, (at,), (direction,))[:2]
    return value, slope


def affine(weight: Tensor, bias: Tensor, value: Tensor) -> Tensor:
    """A pointwise map of the channels."""
    return (weight @ value.flatten(-2) + bias[..., None]).unflatten(-1, value.shape[-2:])


def mode_responses(
    lifted: Float[Tensor, "K I N T"], poles: Float[Tensor, "K I O M 2"], step: Tensor
) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Y and Z of every mode as real and imaginary parts "K I O M N T"."""
    outputs, modes = poles.shape[2:4]
    each = poles.flatten(2, 3)[:, :, None, :, None]
    twice = torch.cat([each, each], dim=3)
    unit = torch.zeros_like(twice)
    # Re(1 Y) and Re(-i Y) = Im(Y)
    unit[..., : outputs * modes, :, 0] = 1.0
    unit[..., outputs * modes :, :, 1] = -1.0
    towards = torch.zeros_like(twice)
    towards[..., 0] = 1.0
    run = lambda at: causal_convolution(lifted[:, :, None], at, unit, step)
    wave, slope = along(run, twice, towards)
    parts = lambda both: tuple(
        part.unflatten(2, (outputs, modes)) for part in both.chunk(2, dim=2)
    )
    return parts(wave), parts(slope)


def channel_responses(
    signal: Float[Tensor, "K C N T"], poles: Tensor, residues: Tensor, step: Tensor
) -> Float[Tensor, "K d O I N T"]:
    """κ_oi * x_c for every channel, and for the constant 1 as the last."""
    size, cases = poles.shape[1:3], signal.shape[2]
    shown = torch.cat([signal, torch.ones_like(signal[:, :1])], dim=1)
    # every channel is a case of its own to every pair of the layer's channels
    one = lambda pairs: pairs.flatten(1, 2)[:, None]
    found = causal_convolution(shown.flatten(1, 2)[:, None], one(poles), one(residues), step)
    return found.unflatten(1, size).unflatten(3, (-1, cases)).permute(0, 3, 2, 1, 4, 5)


def projection_columns(
    module: LaplaceOperator, values: dict[str, Tensor], inner: Float[Tensor, "K W N T"]
) -> tuple[Tensor, Float[Tensor, "K e W N T"], Columns]:
    """The answers, their derivatives by the projection's input, and by its parameters."""
    activation = module.projection.activation
    count = len(module.projection.layers)
    names = [f"projection.layers.{i}." for i in range(count)]
    value, shown, slopes = inner, [], []
    for place, name in enumerate(names):
        if place:
            value, slope = along(activation, value, torch.ones_like(value))
            slopes.append(slope)
        shown.append(value)
        value = affine(values[name + "weight"], values[name + "bias"], value)
    outputs = value.shape[1]
    eye = torch.eye(outputs, dtype=value.dtype, device=value.device)[None, :, :, None, None]
    outer = eye.expand(len(value), outputs, outputs, *value.shape[2:])
    columns: Columns = {}
    for place in range(count - 1, -1, -1):
        name = names[place]
        by_weight = torch.einsum("keont,khnt->kohnet", outer, shown[place])
        columns[name + "weight"] = by_weight.flatten(1, 2)
        columns[name + "bias"] = outer.permute(0, 2, 3, 1, 4)
        outer = torch.einsum("koh,keont->kehnt", values[name + "weight"], outer)
        if place:
            outer = outer * slopes[place - 1][:, None]
    return value.transpose(1, 2), outer, columns
