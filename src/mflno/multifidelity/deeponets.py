"""MF-DeepONet in two forms: the paper's mixture, and the published residual form.

The published form (Lu et al., 2022) learns u_H - u_L, and shows u_L(t) to its trunk at the time
that is asked for. The paper's counts belong to another: α times a linear plus (1 - α) times a
nonlinear DeepONet, the cheap trajectory being read by the branches like the forcing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from mflno.bayes import DeepEnsemble, Inference
from mflno.multifidelity.forms import Deep, DeepMixture, DeepResidual
from mflno.multifidelity.law import Data, Predictor
from mflno.multifidelity.mflno import MFLNO
from mflno.multifidelity.network_law import NetworkPredictor

WIDTHS = {"duffing": 256}
"""Width of the paper's networks where it is not 32."""


def adam(chains: int, batch: int | None) -> Inference:
    """Adam at the step size that DeepONets are trained with."""
    return DeepEnsemble(chains=chains, steps=5000, step_size=1e-3, batch=batch)


@dataclass(frozen=True)
class MFDeepONet:
    """The paper's MF-DeepONet: 39,201 + 203,041 + 203,041 parameters and α for Lorenz.

    The paper gives sizes and nothing of the training; here Adam for as many epochs as the
    MF-LNO. Its count for Duffing's low-fidelity net means 512 numbers read by the branch, while
    its low-fidelity trajectories have 1,024 points and a parameter: here the branch reads all.

    Args:
        width: Of every layer; `None` takes the paper's for the problem.
        once: Constant channels reach the branch as one number each, as the beam's count tells.
        low_inference: Trains the low-fidelity net.
        low_epochs: Passes over the cheap runs.
        inference: Trains the correction.
        parameters: Constant channels: "hidden", "all" or "none".

    Example:
        >>> MFDeepONet().whole("beam").form
        DeepMixture(width=32, once=True)
    """

    name: ClassVar[str] = "mf-deeponet"
    width: int | None = None
    once: bool | None = None
    low_inference: Inference = field(default_factory=lambda: adam(1, 20))
    low_epochs: int | None = 2000
    inference: Inference = field(default_factory=lambda: adam(5, None))
    parameters: str = "hidden"

    def whole(self, problem: str) -> MFLNO:
        """The same two phases with DeepONets in all three places."""
        width = self.width or WIDTHS.get(problem, 32)
        once = problem == "beam" if self.once is None else self.once
        return MFLNO(
            low=Deep(width, once), low_inference=self.low_inference, low_epochs=self.low_epochs,
            low_cases=None, form=DeepMixture(width, once), inference=self.inference,
            solver=False, parameters=self.parameters, time=False, precision="single",
        )  # fmt: skip

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> NetworkPredictor:
        """Phase 1 and phase 2."""
        whole = self.whole(data.problem.name)
        return whole.fit(data, seed=seed, device=device, warm=warm, show=show)

    def fit_many(
        self,
        datas: Sequence[Data],
        *,
        seeds: Sequence[int],
        device: str = "cpu",
        show: bool = True,
    ) -> list[NetworkPredictor]:
        """A fit a data set of one problem."""
        whole = self.whole(datas[0].problem.name)
        return whole.fit_many(datas, seeds=seeds, device=device, show=show)


@dataclass(frozen=True)
class ResidualDeepONet:
    """The published multi-fidelity DeepONet: residual learning and input augmentation.

    Args:
        width: Of every layer.
        low: The low-fidelity net.
        low_inference: Trains it.
        low_epochs: Passes over the cheap runs.
        inference: Trains the residual.
        parameters: Constant channels: "hidden", "all" or "none".

    Example:
        >>> ResidualDeepONet().whole.residual
        True
    """

    name: ClassVar[str] = "mf-deeponet-residual"
    width: int = 128
    low: Deep = field(default_factory=lambda: Deep(128, once=True))
    low_inference: Inference = field(default_factory=lambda: adam(1, 20))
    low_epochs: int | None = 2000
    inference: Inference = field(default_factory=lambda: adam(5, None))
    parameters: str = "all"

    @property
    def whole(self) -> MFLNO:
        """The same two phases with this form."""
        return MFLNO(
            low=self.low, low_inference=self.low_inference, low_epochs=self.low_epochs,
            low_cases=None, form=DeepResidual(self.width), inference=self.inference,
            solver=False, parameters=self.parameters, time=False, residual=True,
            precision="single",
        )  # fmt: skip

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> NetworkPredictor:
        """Phase 1 and phase 2."""
        return self.whole.fit(data, seed=seed, device=device, warm=warm, show=show)

    def fit_many(
        self,
        datas: Sequence[Data],
        *,
        seeds: Sequence[int],
        device: str = "cpu",
        show: bool = True,
    ) -> list[NetworkPredictor]:
        """A fit a data set."""
        return self.whole.fit_many(datas, seeds=seeds, device=device, show=show)


def deep_ensemble(chains: int = 5, steps: int = 5000, step_size: float = 5e-3) -> MFLNO:
    """MF-LNOs of the paper's sizes trained apart: no temperature, no swaps.

    Example:
        >>> deep_ensemble(chains=10).inference.chains
        10
    """
    paper = MFLNO.paper()
    low = DeepEnsemble(chains=1, step_size=step_size, batch=20)
    members = DeepEnsemble(chains=chains, steps=steps, step_size=step_size)
    return replace(paper, low_inference=low, inference=members)
