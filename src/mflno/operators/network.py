"""The Laplace neural operator: lift, Laplace blocks, projection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mflno.operators.checking import check_operator_input
from mflno.operators.convolution import mixed
from mflno.operators.laplace import Causal, LaplaceLayer, Rule
from mflno.operators.response import combined
from mflno.operators.spectrum import Spectrum
from mflno.shapes import Float

Activation = Callable[[Tensor], Tensor]


def identity(value: Tensor) -> Tensor:
    """No activation: what makes an LNO linear."""
    return value


class Affine(NamedTuple):
    """Weight and bias of an affine map of the channels."""

    weight: Float[Tensor, "*K O I"]
    bias: Float[Tensor, "*K O"]

    def at(self, value: Float[Tensor, "*#K I N T"]) -> Float[Tensor, "*K O N T"]:
        """Weight times channels plus bias, at every case and time."""
        return mixed(value, self.weight) + self.bias[..., None, None]

    def after(self, other: "Affine") -> "Affine":
        """This map of the other's answer, as one map."""
        weight = combined(self.weight, other.weight)
        bias = combined(self.weight, other.bias[..., None])[..., 0] + self.bias
        return Affine(weight, bias)


class Pointwise(nn.Module):
    """The same affine map of the channels at every case and time."""

    def __init__(self, inputs: int, outputs: int, *, generator: torch.Generator) -> None:
        super().__init__()
        bound = inputs**-0.5
        draw = lambda *shape: (torch.rand(*shape, generator=generator) * 2 - 1) * bound
        self.weight = nn.Parameter(draw(outputs, inputs))
        self.bias = nn.Parameter(draw(outputs))

    def forward(self, value: Float[Tensor, "*#K I N T"]) -> Float[Tensor, "*K O N T"]:
        """Weight times channels plus bias."""
        return self.map().at(value)

    def map(self) -> Affine:
        """The map, as its two tensors."""
        return Affine(self.weight, self.bias)

    def whole(self) -> Float[Tensor, "*K O J"]:
        """Weight and bias as one matrix, for signals that have a channel of ones at the end."""
        return torch.cat([self.weight, self.bias[..., None]], dim=-1)


class LaplaceBlock(nn.Module):
    """σ(κ * v + W v), Eq. 1: a Laplace layer, a pointwise bypass, an activation."""

    def __init__(
        self, laplace: LaplaceLayer, bypass: Pointwise, activation: Activation
    ) -> None:
        super().__init__()
        self.laplace, self.bypass, self.activation = laplace, bypass, activation

    def forward(
        self,
        value: Float[Tensor, "*#K J N T"],
        grid: Float[Tensor, " T"],
        lift: Pointwise | None = None,
        onward: Affine | None = None,
    ) -> Float[Tensor, "*K O N T"]:
        """The block's answer on the same grid, to the value or to its lift.

        A lift commutes with the convolution: it acts on the kernel, and what is transformed
        is the value itself, which chains share. So does a map that follows with no activation
        between: `onward` is one, and what is transformed back is its answer.
        """
        bypass, mixing = self.bypass.map(), None
        merging = None if onward is None else onward.weight
        if onward is not None:
            bypass = onward.after(bypass)
        if lift is not None:
            mixing = lift.whole()
            bypass = bypass._replace(weight=combined(bypass.weight, mixing))
            value = torch.cat([value, torch.ones_like(value[..., :1, :, :])], dim=-3)
        answer = self.laplace(value, grid, mixing, merging) + bypass.at(value)
        return answer if onward is not None else self.activation(answer)


class Projection(nn.Module):
    """Pointwise layers with an activation between them: the network Q."""

    def __init__(self, layers: Sequence[Pointwise], activation: Activation) -> None:
        super().__init__()
        self.layers, self.activation = nn.ModuleList(layers), activation

    def opening(self) -> list[Affine]:
        """The first layers that are one affine map, if it is one that adds no channel."""
        count = len(self.layers) if self.activation is identity else 1
        maps = [layer.map() for layer in self.layers[:count]]  # pyright: ignore
        return maps if maps[-1].bias.shape[-1] <= maps[0].weight.shape[-1] else []

    def forward(
        self, value: Float[Tensor, "*#K I N T"], done: int = 0
    ) -> Float[Tensor, "*K O N T"]:
        """The outputs, from the value or from what its first layers have made of it."""
        for i, layer in enumerate(self.layers[done:], done):
            value = layer(self.activation(value) if i else value)
        return value


class LaplaceOperator(nn.Module):
    """An operator from input functions to output functions, on any uniform grid.

    Args:
        lift: Channels to width.
        blocks: Laplace blocks, width to width.
        projection: Width to outputs.

    Example:
        >>> operator = build_operator(2, 1, generator=torch.Generator().manual_seed(0))
        >>> grid = torch.linspace(0.0, 20.0, 256)
        >>> operator(torch.randn(7, 2, 256), grid).shape
        torch.Size([7, 1, 256])
    """

    def __init__(
        self, lift: Pointwise, blocks: Sequence[LaplaceBlock], projection: Projection
    ) -> None:
        super().__init__()
        self.lift, self.blocks, self.projection = lift, nn.ModuleList(blocks), projection

    def forward(
        self,
        inputs: Float[Tensor, "*#K N C T"],
        grid: Float[Tensor, " T"],
        *,
        checked: bool = True,
    ) -> Float[Tensor, "*K N O T"]:
        """Output functions on the grid; `checked=False` trusts the caller's tensors."""
        if checked:
            check_operator_input("LaplaceOperator", inputs, grid, self.lift.weight)
        value, lift, last = inputs.transpose(-3, -2), self.lift, self.blocks[-1]
        for block in self.blocks[:-1]:
            value, lift = block(value, grid, lift), None
        maps = self.projection.opening() if last.activation is identity else []
        onward = reduce(lambda found, each: each.after(found), maps) if maps else None
        value = last(value, grid, lift, onward)
        return self.projection(value, len(maps)).transpose(-3, -2)

    def poles(self) -> list[Tensor]:
        """The poles μ of each Laplace layer."""
        return [block.laplace.poles() for block in self.blocks]  # pyright: ignore

    def residues(self) -> list[Tensor]:
        """The residues β of each Laplace layer."""
        return [block.laplace.residues() for block in self.blocks]  # pyright: ignore


@dataclass(frozen=True)
class Architecture:
    """The sizes of an LNO; the defaults are the paper's low-fidelity net.

    Attributes:
        width: Channels between lift and projection.
        modes: Poles a pair of channels.
        hidden: Widths of the projection's hidden layers.
        layers: Laplace blocks.
        activation: Between the projection's layers; `identity` makes the net linear.
        inner: After each block.
        rule: How the Laplace layers are evaluated.
    """

    width: int = 3
    modes: int = 8
    hidden: tuple[int, ...] = (128,)
    layers: int = 1
    activation: Activation = torch.sin
    inner: Activation = identity
    rule: Rule = field(default_factory=Causal)


def build_operator(
    inputs: int,
    outputs: int,
    architecture: Architecture | None = None,
    *,
    spectrum: Spectrum | None = None,
    generator: torch.Generator,
) -> LaplaceOperator:
    """An LNO of the given sizes with fresh parameters."""
    sizes = architecture or Architecture()
    lift = Pointwise(inputs, sizes.width, generator=generator)
    blocks = []
    for _ in range(sizes.layers):
        laplace = LaplaceLayer(
            sizes.width, sizes.width, sizes.modes,
            rule=sizes.rule, spectrum=spectrum, generator=generator,
        )  # fmt: skip
        bypass = Pointwise(sizes.width, sizes.width, generator=generator)
        blocks.append(LaplaceBlock(laplace, bypass, sizes.inner))
    widths = (sizes.width, *sizes.hidden, outputs)
    layers = [Pointwise(a, b, generator=generator) for a, b in pairwise(widths)]
    return LaplaceOperator(lift, blocks, Projection(layers, sizes.activation))
