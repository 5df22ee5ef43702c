"""LF-LNO: the operator of the cheap level, taken for the expensive one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from mflno.multifidelity.law import Data, Predictor
from mflno.multifidelity.mflno import MFLNO
from mflno.multifidelity.network_law import NetworkPredictor


@dataclass(frozen=True)
class LFLNO:
    """Phase 1 of an MF-LNO and nothing more; it reads no expensive run.

    Args:
        whole: The method whose phase 1 it is.

    Example:
        >>> LFLNO().whole.low.width
        6
    """

    name: ClassVar[str] = "lf-lno"
    whole: MFLNO = field(default_factory=lambda: MFLNO(solver=False))

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> Predictor:
        """Phase 1; an earlier fit is as good as a fresh one."""
        if isinstance(warm, NetworkPredictor):
            return warm
        return self.fit_many([data], seeds=[seed], device=device, show=show)[0]

    def fit_many(
        self,
        datas: Sequence[Data],
        *,
        seeds: Sequence[int],
        device: str = "cpu",
        show: bool = True,
    ) -> list[NetworkPredictor]:
        """A fit a data set; data sets that share cheap runs share the work."""
        stages = self.whole.low_stages(datas, seeds, device=device, show=show)
        return [NetworkPredictor(each) for each in stages]
