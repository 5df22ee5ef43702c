"""A trained network: form, channels, normalising numbers, and one row of parameters a draw."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from mflno.multifidelity.account import Account
from mflno.multifidelity.channels import Channels
from mflno.multifidelity.forms import Form, Site, form_about, form_from
from mflno.multifidelity.normalising import Normalising
from mflno.multifidelity.query import interpolated
from mflno.operators import Spectrum, chain_forward
from mflno.shapes import Float

TOGETHER = 2**25
"""Numbers of predictions that exist at once."""


@dataclass(frozen=True)
class Learnt:
    """A trained network with all its draws.

    Attributes:
        form: Its sizes.
        channels: What it reads.
        normalising: Of what it reads and says.
        grid: Where it was trained.
        theta: One draw a row.
        loss: Of each draw on the training data.
        account: What the sampler's run said of itself, where it was one.
    """

    form: Form
    channels: Channels
    normalising: Normalising
    grid: Float[ndarray, " T"]
    theta: Float[ndarray, "S P"]
    loss: Float[ndarray, " S"]
    account: Account | None = None

    @property
    def outputs(self) -> int:
        """Output functions."""
        return len(self.normalising.output_centre)

    def leading(self, count: int) -> "Learnt":
        """The draws of least loss."""
        return self.only(np.argsort(self.loss, kind="stable")[:count])

    def only(self, chosen: ndarray) -> "Learnt":
        """Some of the draws."""
        return replace(self, theta=self.theta[chosen], loss=self.loss[chosen])

    @cached_property
    def _forward(self) -> Any:  # noqa: ANN401
        site = Site(self.channels, self.outputs, len(self.grid), Spectrum())
        module = self.form.build(site, torch.Generator().manual_seed(0))
        return chain_forward(module)

    def answers(
        self, inputs: Float[ndarray, "N C T"], grid: Float[ndarray, " T"]
    ) -> Float[ndarray, "S N O T"]:
        """What each draw predicts on this grid."""
        if self.form.tied and not np.array_equal(grid, self.grid):
            own = self._answers(interpolated(grid, inputs, self.grid), self.grid)
            flat = interpolated(self.grid, own.reshape(-1, *own.shape[2:]), grid)
            return flat.reshape(*own.shape[:2], *flat.shape[1:])
        return self._answers(inputs, grid)

    def _answers(self, inputs: ndarray, grid: ndarray) -> ndarray:
        # single precision errs by 1e-6 of a trajectory, at half the time
        tensor = lambda array: torch.as_tensor(array, dtype=torch.float32)
        theta = tensor(self.theta)
        shown, times = tensor(self.normalising.shown(inputs)), tensor(grid)
        block = max(1, TOGETHER // (len(theta) * 64 * len(grid)))
        with torch.inference_mode():
            parts: list[Tensor] = [
                self._forward(theta, shown[first : first + block], times)
                for first in range(0, len(shown), block)
            ]
        said = torch.cat(parts, dim=1).double().numpy()
        scale = self.normalising
        return said * scale.output_spread[:, None] + scale.output_centre[:, None]

    def arrays(self, prefix: str) -> dict[str, ndarray]:
        """Its numbers by name."""
        own = {"theta": self.theta, "loss": self.loss, "grid": self.grid}
        named = {f"{prefix}.{name}": value for name, value in own.items()}
        kept = self.account.arrays(prefix) if self.account else {}
        return named | self.normalising.arrays(prefix) | kept

    def about(self) -> dict[str, Any]:
        """The rest of it, as JSON."""
        told = {"form": form_about(self.form), "channels": self.channels.about()}
        return told | ({"findings": list(self.account.findings)} if self.account else {})

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any], prefix: str
    ) -> "Learnt":
        """The same again."""
        own = {name: arrays[f"{prefix}.{name}"] for name in ("theta", "loss", "grid")}
        return cls(
            form=form_from(about["form"]),
            channels=Channels.from_about(about["channels"]),
            normalising=Normalising.from_arrays(arrays, prefix),
            account=Account.from_arrays(arrays, about, prefix),
            **own,
        )
