"""Auto and the MF-LNO whose poles move: quick methods, weighed by errors at runs left out.

`Auto`, the default, tries every quick method of the room. `MovingMFLNO` keeps to operators: the
cheap level's poles and residues are learnt first and then moved to the expensive runs (the two
phases of the paper, with numbers that are functions of the case), beside a time-varying linear
correction of the cheap solver; a process over the cases takes what they leave.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from mflno.errors import ArgumentError
from mflno.multifidelity.law import Data, Law, Method, Predictor
from mflno.multifidelity.mf_gp import MFGP
from mflno.multifidelity.nargp import NARGP
from mflno.multifidelity.pod_gp import PodGP
from mflno.multifidelity.stack import StackPredictor, tried
from mflno.multifidelity.trended import Trended
from mflno.multifidelity.trends import Gain, Poles


def operators() -> dict[str, Method]:
    """Laplace operators with moving poles, and the time-varying gain, each with a process."""
    return {
        "gain": Trended(Gain()),
        "moved poles, linear": Trended(Poles(2, 1)),
        "moved poles, quadratic": Trended(Poles(2, 2)),
        "moved poles, three": Trended(Poles(3, 1)),
        "own poles, linear": Trended(Poles(2, 1, (1e-4,), cheap=False)),
        "own poles, quadratic": Trended(Poles(2, 2, (1e-4,), cheap=False)),
    }


def quick_methods() -> dict[str, Method]:
    """What `Auto` tries unless told otherwise."""
    return {"pod-gp": PodGP(), "mf-gp": MFGP(), "nargp": NARGP(), **operators()}


@dataclass(frozen=True)
class Auto:
    """Tries methods on the runs there are, and says which count and why.

    Args:
        methods: Those to try, by name.

    Example:
        >>> list(Auto().methods)[:3]
        ['pod-gp', 'mf-gp', 'nargp']
    """

    name: ClassVar[str] = "auto"

    methods: Mapping[str, Method] = field(default_factory=quick_methods)

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> StackPredictor:
        """All of them; the predictor's `story` tells error and weight of each."""
        known = warm if isinstance(warm, StackPredictor) else None
        members, unfit = tried(
            self.methods, data, seed=seed, device=device, warm=known, show=show
        )
        return StackPredictor.of(members, unfit, data, seed)

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """What the fit has already made."""
        if isinstance(predictor, StackPredictor) and predictor.left is not None:
            return predictor.left
        rule, remedy = "must come from this method's fit", "fit again"
        place = f"{type(self).__name__}.left_out"
        raise ArgumentError(place, rule, type(predictor).__name__, remedy)


@dataclass(frozen=True)
class MovingMFLNO(Auto):
    """The MF-LNO with poles and residues that move with the case; operators alone.

    Args:
        methods: The operators to try, by name.

    Example:
        >>> len(MovingMFLNO().methods)
        6
    """

    name: ClassVar[str] = "mflno"

    methods: Mapping[str, Method] = field(default_factory=operators)
