"""Cyclical stochastic gradient Langevin dynamics: restarts find modes, cold ends sample them.

The step size falls along a cosine in each of M cycles. Over the first share of a cycle the
chain descends without noise, from steps large enough to leave its basin; over the rest it
samples where it came to, and the last states of each cycle are the draws.

    θ ← θ - η f_i (g + a A) + [r_i >= share] √(2 η f_i τ) ε,    r_i: place in the cycle

Reference: Zhang, Li, Zhang, Chen, Wilson, Cyclical stochastic gradient MCMC for Bayesian deep
learning, 2020.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mflno.bayes.draws import Draws, Energy
from mflno.bayes.engine import Chance, Eager, Engine
from mflno.bayes.independent import Independent, check_counts, check_positive, lonely_info
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Cyclical
from mflno.bayes.state import Info, Walk
from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class CycleEnds:
    """The last states of each cycle.

    Example:
        >>> ends = CycleEnds(cycles=2, kept_each=2, thin=5)
        >>> [step for step in range(41) if ends.due(step, 40)]
        [15, 20, 35, 40]
    """

    cycles: int = 4
    kept_each: int = 3
    thin: int = 10

    def due(self, step: int, steps: int) -> bool:
        """Whether the state after `step` of `steps` moves is kept."""
        length = math.ceil(steps / self.cycles)
        end = min(math.ceil(step / length) * length, steps)
        back, rest = divmod(end - step, self.thin)
        return step > 0 and rest == 0 and back < self.kept_each

    def kept(self, chains: int) -> int:
        """All of them."""
        return chains


@dataclass(frozen=True)
class CyclicalMove:
    """One step of every chain at once.

    Attributes:
        step_size: η at the top of a cycle.
        temperature: τ.
        length: Iterations of one cycle.
        quiet: How many of them, from the first, go without noise.
        drift: How a gradient becomes a push.
    """

    step_size: float
    temperature: float
    length: int
    quiet: int
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
        eta = self.step_size * chance.factor
        theta = walk.theta - eta * push
        if chance.noise is not None:
            sampling = chance.step % self.length >= self.quiet
            theta = theta + (2 * self.temperature * eta * sampling).sqrt() * chance.noise
        return Walk(theta, first, second, walk.replica, walk.swaps), info


@dataclass(frozen=True)
class CyclicalSGLD:
    """Independent Langevin chains under cosine restarts.

    Args:
        chains: How many.
        steps: Iterations.
        step_size: η at the top of each cycle.
        temperature: τ while sampling.
        cycles: How many restarts.
        share: Part of each cycle that descends without noise.
        collect: Which states become draws; `None` takes three over each sampling part.
        drift: How a gradient becomes a push.
        batch: Cases of one mini-batch; `None` takes all.
        engine: How a step is carried out.

    Example:
        >>> sampler = CyclicalSGLD(chains=2, steps=200, step_size=0.1, temperature=1e-6)
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> start, generator = torch.ones(2, 3), torch.Generator().manual_seed(0)
        >>> len(sampler.sample(bowl, start, cases=1, generator=generator, show=False))
        24
    """

    chains: int = 1
    steps: int = 8000
    step_size: float = 1e-2
    temperature: float = 1e-4
    cycles: int = 4
    share: float = 0.8
    collect: CycleEnds | None = None
    drift: Drift = field(default_factory=lambda: Drift(weight=0.0))
    batch: int | None = None
    engine: Engine = field(default_factory=Eager)

    def __post_init__(self) -> None:
        """Refuse cycles without a sampling part."""
        check_counts("CyclicalSGLD", chains=self.chains, steps=self.steps, cycles=self.cycles)
        check_positive("CyclicalSGLD", step_size=self.step_size, temperature=self.temperature)
        if not 0 <= self.share < 1:
            rule, remedy = "in [0, 1)", "leave part of the cycle to sampling"
            raise ArgumentError("CyclicalSGLD.share", rule, self.share, remedy)
        if self.sampling < 1:
            rule, remedy = "enough for each cycle to sample", "raise it, or lower share"
            raise ArgumentError("CyclicalSGLD.steps", rule, self.steps, remedy)
        # A state of the noiseless part is a point of a descent, no draw.
        back = (self.ends.kept_each - 1) * self.ends.thin
        if self.ends.cycles != self.cycles or back >= self.sampling:
            rule = f"must keep the last {self.sampling} states of {self.cycles} cycles or fewer"
            remedy = "pass None, or lower kept_each * thin"
            raise ArgumentError("CyclicalSGLD.collect", rule, self.collect, remedy)

    @property
    def length(self) -> int:
        """Iterations of one cycle; the last one may be shorter."""
        return math.ceil(self.steps / self.cycles)

    @property
    def quiet(self) -> int:
        """Iterations of a cycle without noise."""
        return math.ceil(self.share * self.length)

    @property
    def sampling(self) -> int:
        """Iterations with noise in the shortest cycle, the last."""
        return self.steps - (self.cycles - 1) * self.length - self.quiet

    @property
    def ends(self) -> CycleEnds:
        """Which states become draws."""
        kept, thin = min(3, self.sampling), max(1, self.sampling // 3)
        return self.collect or CycleEnds(self.cycles, kept, thin)

    @property
    def run(self) -> Independent:
        """The run behind it, for one that is stopped and resumed."""
        step = CyclicalMove(
            self.step_size, self.temperature, self.length, self.quiet, self.drift
        )
        return Independent(
            step, self.chains, self.steps, self.step_size, self.temperature,
            schedule=Cyclical(self.cycles), batch=self.batch,
            collect=self.ends, engine=self.engine,
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
        """Draws from `chains` starting states a ladder; see `bayes.Inference`."""
        return self.run.sample(energy, theta0, cases=cases, generator=generator, show=show)
