"""Parameters as one flat row a chain, and back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

from mflno.shapes import Float


@dataclass(frozen=True)
class Packing:
    """The layout of a module's parameters in a flat row.

    Example:
        >>> layout = Packing.of(nn.Linear(2, 1))
        >>> {name: tuple(v.shape) for name, v in layout.unpack(torch.zeros(5, 3)).items()}
        {'weight': (5, 1, 2), 'bias': (5, 1)}
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, module: nn.Module) -> "Packing":
        """The layout of this module."""
        items = [(name, tuple(p.shape)) for name, p in module.named_parameters()]
        return cls(tuple(n for n, _ in items), tuple(s for _, s in items))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Entries of each parameter."""
        return tuple(int(torch.Size(shape).numel()) for shape in self.shapes)

    def pack(self, modules: Sequence[nn.Module]) -> Float[Tensor, "K P"]:
        """One row a module."""
        rows = [torch.cat([p.detach().reshape(-1) for p in m.parameters()]) for m in modules]
        return torch.stack(rows)

    def unpack(self, theta: Float[Tensor, "*K P"]) -> dict[str, Tensor]:
        """Views of the rows, by name, the chains leading."""
        parts = theta.split(self.sizes, dim=-1)
        lead = theta.shape[:-1]
        items = zip(self.names, self.shapes, parts, strict=True)
        return {name: part.reshape(*lead, *shape) for name, shape, part in items}


def chain_forward(module: nn.Module) -> Callable[..., Tensor]:
    """`f(theta[K, P], inputs, grid)`: the module's answer for every chain in one call."""
    layout = Packing.of(module)

    def forward(theta: Tensor, inputs: Tensor, grid: Tensor) -> Tensor:
        arguments = (inputs, grid)
        return functional_call(module, layout.unpack(theta), arguments, {"checked": False})

    return forward
