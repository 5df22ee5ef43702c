"""How far networks are from their data: an energy, and residuals for Gauss-Newton steps."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from mflno.multifidelity.jacobian import jacobian
from mflno.operators import chain_forward
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class Misfit:
    """The mean over cases of |û - u|_p / |u|_p (Eqs. 11 and 12), for every row of parameters.

    All numbers are normalised; `size` is |u|_p of the trajectory in the same units, so the
    ratio is that of physical trajectories. Data are shared by all rows, or have one set a row.

    Attributes:
        module: The network.
        inputs: Normalised channels.
        targets: Normalised trajectories.
        size: |u|_p of each trajectory, over the normalising spread.
        grid: Time.
        order: p.
    """

    module: nn.Module
    inputs: Float[Tensor, "*R N C T"]
    targets: Float[Tensor, "*R N O T"]
    size: Float[Tensor, "*R N O"]
    grid: Float[Tensor, " T"]
    order: float = 2.0

    def forward(self, theta: Tensor, inputs: Tensor, grid: Tensor) -> Tensor:
        """The answers of each row, normalised."""
        return chain_forward(self.module)(theta, inputs, grid)

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return self.inputs.shape[-3]

    def __call__(
        self, theta: Float[Tensor, "R P"], batch: Int[Tensor, " B"] | None
    ) -> Float[Tensor, " R"]:
        """The loss of each row."""
        inputs, targets, size = self.inputs, self.targets, self.size
        if batch is not None:
            inputs, targets = (each.index_select(-3, batch) for each in (inputs, targets))
            size = size.index_select(-2, batch)
        error = self.forward(theta, inputs, self.grid) - targets
        return (torch.linalg.vector_norm(error, self.order, dim=-1) / size).mean((-1, -2))

    def residuals(self, theta: Float[Tensor, "R P"]) -> Float[Tensor, "R N O T"]:
        """Errors whose sum of squares is the mean square of the relative errors."""
        return (self.forward(theta, self.inputs, self.grid) - self.targets) * self.weight

    def linearised(
        self, theta: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R N O T"], Float[Tensor, "R P N O T"]]:
        """Residuals and their derivatives by the parameters."""
        answer, slopes = jacobian(self.module, theta, self.inputs, self.grid)
        weight = self.weight
        return (answer - self.targets) * weight, slopes.mul_(weight.unsqueeze(-4))

    @property
    def weight(self) -> Float[Tensor, "*R N O 1"]:
        """What turns errors into residuals."""
        count = self.size.shape[-1] * self.size.shape[-2]
        return (1.0 / (self.size * count**0.5))[..., None]

    def thinned(self, stride: int) -> "Misfit":
        """The same on each `stride`-th time, for operators that know no grid."""
        if stride == 1:
            return self
        pick = slice(None, None, stride)
        targets = self.targets[..., pick]
        share = (targets.shape[-1] / self.targets.shape[-1]) ** (1 / self.order)
        return replace(
            self, inputs=self.inputs[..., pick].contiguous(), targets=targets.contiguous(),
            size=self.size * share, grid=self.grid[pick],
        )  # fmt: skip

    def rows(self, chosen: Tensor) -> "Misfit":
        """The same for some of the rows."""
        if self.inputs.ndim == 3:
            return self
        return replace(
            self,
            inputs=self.inputs[chosen],
            targets=self.targets[chosen],
            size=self.size[chosen],
        )
