"""Deep ensemble: networks trained alike from different starts, all in one batch.

No noise and no swaps: each member descends by Adam under a cosine schedule, and the spread of
what they predict is the error bar. It samples no posterior, yet few methods are better
calibrated for the money, so it is what a sampler has to beat.

    θ ← θ - η f_i m̂ / (√v̂ + ρ)        m̂, v̂: running moments with Adam's bias correction

Reference: Lakshminarayanan, Pritzel, Blundell, Simple and scalable predictive uncertainty
estimation using deep ensembles, 2017.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from mflno.bayes.collect import Collection, Final
from mflno.bayes.draws import Draws, Energy
from mflno.bayes.engine import Chance, Eager, Engine
from mflno.bayes.independent import Independent, check_counts, check_positive, lonely_info
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Cosine, Schedule
from mflno.bayes.state import Info, Walk
from mflno.shapes import Float

ADAM = Drift(weight=1.0, gradient=0.0, unbiased=True)
"""Adam's push, in the words of Eq. 14; `Drift(weight=0)` is plain gradient descent."""


@dataclass(frozen=True)
class Descent:
    """One optimiser step of every member at once.

    Attributes:
        step_size: η.
        drift: How a gradient becomes a push.
    """

    step_size: float
    drift: Drift

    def __call__(
        self,
        walk: Walk,
        energy: Float[Tensor, " R"],
        gradient: Float[Tensor, "R P"],
        chance: Chance,
    ) -> tuple[Walk, Info]:
        """The walk after one step, and its report."""
        info = lonely_info(walk, energy, gradient)
        first, second, push = self.drift(walk.first, walk.second, gradient, chance.step)
        theta = walk.theta - self.step_size * chance.factor * push
        return Walk(theta, first, second, walk.replica, walk.swaps), info


@dataclass(frozen=True)
class DeepEnsemble:
    """Members trained side by side; each gives its last state as a draw.

    Members see the same mini-batches; they differ by their starts alone.

    Args:
        chains: How many members.
        steps: Optimiser steps.
        step_size: η at the beginning.
        drift: How a gradient becomes a push; Adam.
        schedule: Factor of the step size over the run.
        batch: Cases of one mini-batch; `None` takes all.
        collect: Which states become draws.
        engine: How a step is carried out.

    Example:
        >>> ensemble = DeepEnsemble(chains=2, steps=200, step_size=0.1)
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> start, generator = torch.ones(2, 3), torch.Generator().manual_seed(0)
        >>> draws = ensemble.sample(bowl, start, cases=1, generator=generator, show=False)
        >>> draws.theta.shape, float(draws.theta.abs().max()) < 0.01
        (torch.Size([2, 3]), True)
    """

    chains: int = 5
    steps: int = 5000
    step_size: float = 5e-3
    drift: Drift = ADAM
    schedule: Schedule = field(default_factory=Cosine)
    batch: int | None = None
    collect: Collection = field(default_factory=Final)
    engine: Engine = field(default_factory=Eager)

    def __post_init__(self) -> None:
        """Refuse empty ensembles and runs of no length."""
        check_counts("DeepEnsemble", chains=self.chains, steps=self.steps)
        check_positive("DeepEnsemble", step_size=self.step_size)

    @property
    def run(self) -> Independent:
        """The run behind it, for one that is stopped and resumed."""
        return Independent(
            Descent(self.step_size, self.drift), self.chains, self.steps, self.step_size,
            temperature=0.0, schedule=self.schedule, batch=self.batch,
            collect=self.collect, engine=self.engine,
        )  # fmt: skip

    def sample(
        self,
        energy: Energy,
        theta0: Float[Tensor, "R P"],
        *,
        cases: int,
        generator: torch.Generator,
        show: bool = True,
    ) -> Draws:
        """The trained members from `chains` starts a ladder; see `bayes.Inference`."""
        return self.run.sample(energy, theta0, cases=cases, generator=generator, show=show)
