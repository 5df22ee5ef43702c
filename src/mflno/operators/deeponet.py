"""DeepONet, in the two forms that the comparison needs.

G(f)(t) = Σ_w branch_w(f at the sensors) trunk_w(t, ...) + bias
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu

from mflno.errors import ArgumentError
from mflno.operators.checking import check_operator_input
from mflno.operators.network import Activation
from mflno.shapes import Float


class Dense(nn.Module):
    """Fully connected layers on the last axis, an activation between them."""

    def __init__(
        self,
        widths: Sequence[int],
        activation: Activation = gelu,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.activation = activation
        pairs = list(pairwise(widths))
        draw = lambda a, b: torch.randn(a, b, generator=generator) * (2.0 / (a + b)) ** 0.5
        self.weights = nn.ParameterList([nn.Parameter(draw(a, b)) for a, b in pairs])
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(b)) for _, b in pairs])

    def forward(self, value: Float[Tensor, "*#K N a"]) -> Float[Tensor, "*K N b"]:
        """The last layer's values."""
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            value = (self.activation(value) if i else value) @ weight + bias[..., None, :]
        return value


class DeepONet(nn.Module):
    """An unstacked DeepONet behind the operator contract, tied to its sensors' grid.

    Args:
        branch: Reads the sensors: channels x points, flattened, constants once where asked.
        trunk: Reads the time, scaled to [-1, 1], and the channels of `along`.
        constants: Channels that are constant in time and reach the branch as one number.
        along: Channels that reach the trunk at the query time (input augmentation).
    """

    def __init__(
        self,
        branch: Dense,
        trunk: Dense,
        *,
        constants: Sequence[int] = (),
        along: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.branch, self.trunk = branch, trunk
        self.constants, self.along = tuple(constants), tuple(along)
        self.bias = nn.Parameter(torch.zeros(1))

    def sensors(self, inputs: Float[Tensor, "*K N C T"]) -> Float[Tensor, "*K N m"]:
        """What the branch reads of each case."""
        parts = []
        for channel in range(inputs.shape[-2]):
            if channel in self.along:
                continue
            values = inputs[..., channel, :]
            parts.append(values[..., :1] if channel in self.constants else values)
        return torch.cat(parts, dim=-1)

    def forward(
        self,
        inputs: Float[Tensor, "*#K N C T"],
        grid: Float[Tensor, " T"],
        *,
        checked: bool = True,
    ) -> Float[Tensor, "*K N O T"]:
        """One output function on the grid."""
        sensors = self.sensors(inputs)
        if checked:
            self._check(inputs, grid, sensors)
        time = 2.0 * (grid - grid[0]) / (grid[-1] - grid[0]) - 1.0
        time = time.to(inputs.dtype)
        code = self.branch(sensors)
        if not self.along:
            return (code @ self.trunk(time[:, None]).transpose(-1, -2) + self._bias())[
                ..., None, :
            ]
        there = [inputs[..., channel, :] for channel in self.along]
        query = torch.stack([time.expand(there[0].shape), *there], dim=-1)
        basis = self.trunk(query.flatten(-3, -2)).unflatten(-2, query.shape[-3:-1])
        return ((basis @ code[..., None])[..., 0] + self._bias())[..., None, :]

    def _bias(self) -> Tensor:
        return self.bias[..., None]

    def _check(self, inputs: Tensor, grid: Tensor, sensors: Tensor) -> None:
        weight = self.branch.weights[0]
        if sensors.shape[-1] != weight.shape[-2]:
            rule = f"must give the branch {weight.shape[-2]} numbers a case"
            remedy = "a DeepONet is tied to the grid it was built for"
            raise ArgumentError("DeepONet.inputs", rule, sensors.shape[-1], remedy)
        channels = torch.empty(1, inputs.shape[-2], dtype=inputs.dtype, device=weight.device)
        check_operator_input("DeepONet", inputs, grid, channels)


def paper_deeponet(
    sensors: int, width: int, *, constants: Sequence[int] = (), generator: torch.Generator
) -> DeepONet:
    """The paper's form: branch and trunk of three hidden layers each, GELU.

    Example:
        >>> from mflno.operators import count_parameters
        >>> count_parameters(paper_deeponet(1024, 32, generator=torch.Generator()))
        39201
    """
    branch = Dense((sensors, width, width, width, width), generator=generator)
    trunk = Dense((1, width, width, width, width), generator=generator)
    return DeepONet(branch, trunk, constants=constants)


def residual_deeponet(
    sensors: int,
    width: int = 512,
    *,
    constants: Sequence[int] = (),
    along: Sequence[int],
    generator: torch.Generator,
) -> DeepONet:
    """The published residual form: a linear branch, a deep trunk that also sees u_L(t).

    Its target is u_H - u_L; ReLU, as published.
    """
    branch = Dense((sensors, width), generator=generator)
    widths = (1 + len(along), width, width, width, width)
    trunk = Dense(widths, torch.relu, generator=generator)
    return DeepONet(branch, trunk, constants=constants, along=along)
