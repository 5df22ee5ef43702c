"""The Laplace neural operator: lift, Laplace blocks, projection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor, nn

from mflno.operators.checking import check_operator_input
from mflno.operators.laplace import Causal, LaplaceLayer, Rule
from mflno.operators.spectrum import Spectrum
from mflno.shapes import Float

Activation = Callable[[Tensor], Tensor]


def identity(value: Tensor) -> Tensor:
    """No activation: what makes an LNO linear."""
    return value


def affine(
    value: Float[Tensor, "*#K I N T"],
    weight: Float[Tensor, "*K O I"],
    bias: Float[Tensor, "*K O"],
) -> Float[Tensor, "*K O N T"]:
    """Weight times channels plus bias, at every case and time."""
    if torch.compiler.is_compiling():
        # Compilers fuse this with what surrounds it, and a library's product is never fused.
        terms = weight[..., None, None] * value.unsqueeze(-4)
        return terms.sum(-3) + bias[..., None, None]
    mapped = weight @ value.flatten(-2) + bias[..., None]
    return mapped.unflatten(-1, value.shape[-2:])


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
        return affine(value, self.weight, self.bias)

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
    ) -> Float[Tensor, "*K O N T"]:
        """The block's answer on the same grid, to the value or to its lift.

        A lift commutes with the convolution: it acts on the kernel, and what is transformed
        is the value itself, which chains share.
        """
        if lift is None:
            return self.activation(self.laplace(value, grid) + self.bypass(value))
        ones = torch.ones_like(value[..., :1, :, :])
        whole, first = torch.cat([value, ones], dim=-3), lift.whole()
        weight = self.bypass.weight @ first
        passed = affine(whole, weight, self.bypass.bias)
        return self.activation(self.laplace(whole, grid, first) + passed)


class Projection(nn.Module):
    """Pointwise layers with an activation between them: the network Q."""

    def __init__(self, layers: Sequence[Pointwise], activation: Activation) -> None:
        super().__init__()
        self.layers, self.activation = nn.ModuleList(layers), activation

    def forward(self, value: Float[Tensor, "*#K I N T"]) -> Float[Tensor, "*K O N T"]:
        """The outputs."""
        for i, layer in enumerate(self.layers):
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
        first, *others = self.blocks
        value = first(inputs.transpose(-3, -2), grid, self.lift)
        for block in others:
            value = block(value, grid)
        return self.projection(value).transpose(-3, -2)

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
