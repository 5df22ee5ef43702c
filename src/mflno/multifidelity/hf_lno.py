"""HF-LNO: an operator trained on the expensive runs alone."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from mflno.bayes import DeepEnsemble, Inference
from mflno.multifidelity.forms import LNO, Form
from mflno.multifidelity.grouping import alike
from mflno.multifidelity.law import Data, Predictor
from mflno.multifidelity.lessons import lesson
from mflno.multifidelity.network_law import NetworkPredictor, warm_start
from mflno.multifidelity.training import Trainer


@dataclass(frozen=True)
class HFLNO:
    """A Laplace operator that has never seen a cheap run.

    Args:
        form: The operator's sizes; by default those of the paper's low-fidelity net.
        inference: Trains it.
        parameters: Constant channels: "hidden", "all" or "none".
        order: p of the loss.
        precision: "single" or "double".

    Example:
        >>> HFLNO().form.hidden
        (128,)
    """

    name: ClassVar[str] = "hf-lno"
    form: Form = field(default_factory=LNO)
    inference: Inference = field(default_factory=lambda: DeepEnsemble(chains=5, steps=5000))
    parameters: str = "hidden"
    order: float = 2.0
    precision: str = "single"

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> NetworkPredictor:
        """One training."""
        known = warm_start(warm)
        return self._fitted([data], [seed], warm=known, device=device, show=show)[0]

    def fit_many(
        self,
        datas: Sequence[Data],
        *,
        seeds: Sequence[int],
        device: str = "cpu",
        show: bool = True,
    ) -> list[NetworkPredictor]:
        """A fit a data set, those of one shape in one buffer."""
        found: dict[int, NetworkPredictor] = {}
        for group in alike([(each.problem.name, len(each.high)) for each in datas]):
            own = [datas[i] for i in group], [seeds[i] for i in group]
            some = self._fitted(*own, device=device, show=show)
            found |= dict(zip(group, some, strict=True))
        return [found[i] for i in range(len(datas))]

    def _fitted(
        self,
        datas: Sequence[Data],
        seeds: Sequence[int],
        *,
        warm: NetworkPredictor | None = None,
        device: str,
        show: bool,
    ) -> list[NetworkPredictor]:
        start = warm.stages[-1] if warm else None
        lessons = []
        for data, seed in zip(datas, seeds, strict=True):
            how = {"parameters": self.parameters, "order": self.order}
            taught = lesson(data.problem, data.high, [], **how)
            lessons.append(replace(taught, seed=seed, start=start))
        trainer = Trainer(
            self.form, self.inference, "high alone", self.order, self.precision, device
        )
        return [NetworkPredictor((each,)) for each in trainer.learnt(lessons, show=show)]
