"""Stochastic gradient Hamiltonian Monte Carlo: Langevin dynamics with a velocity.

    v ← (1 - α) v - η f_i g + √(2 α η f_i τ) ε
    θ ← θ + v

Friction α makes the noise of the velocity decay; α = 1 is Langevin dynamics. On a Gaussian
of curvature k the stationary variance is exactly τ / (k (1 - ηk / (4 - 2α))), so its bias in
η is half that of Langevin dynamics at small friction, and it moves 1/α times as far along a
steady slope.
Reference: Chen, Fox, Guestrin, Stochastic gradient Hamiltonian Monte Carlo, 2014.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from mflno.bayes.collect import All, Collection
from mflno.bayes.draws import Draws, Energy
from mflno.bayes.engine import Chance, Eager, Engine
from mflno.bayes.independent import Independent, check_counts, check_positive, lonely_info
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Constant, Schedule
from mflno.bayes.state import Info, Walk
from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class Hamiltonian:
    """One step of every chain at once; `Walk.first` holds the velocity.

    Attributes:
        step_size: η.
        temperature: τ.
        friction: α.
        clip: Largest norm of a chain's gradient, or `None`.
    """

    step_size: float
    temperature: float
    friction: float
    clip: float | None

    def __call__(
        self,
        walk: Walk,
        energy: Float[Tensor, " R"],
        gradient: Float[Tensor, "R P"],
        chance: Chance,
    ) -> tuple[Walk, Info]:
        """The walk after one step, and its report."""
        info = lonely_info(walk, energy, gradient)
        drift = Drift(weight=0.0, clip=self.clip)
        _, _, push = drift(walk.first, walk.second, gradient, chance.step)
        eta = self.step_size * chance.factor
        velocity = (1 - self.friction) * walk.first - eta * push
        if chance.noise is not None:
            scale = (2 * self.friction * self.temperature * eta).sqrt()
            velocity = velocity + scale * chance.noise
        theta = walk.theta + velocity
        return Walk(theta, velocity, walk.second, walk.replica, walk.swaps), info


@dataclass(frozen=True)
class SGHMC:
    """Independent Hamiltonian chains at one temperature.

    Args:
        chains: How many.
        steps: Iterations.
        step_size: η.
        temperature: τ; 0 is gradient descent with momentum 1 - α.
        friction: α, in (0, 1].
        clip: Largest norm of a chain's gradient; longer ones are shortened to it.
        schedule: Factor of the step size over the run.
        batch: Cases of one mini-batch; `None` takes all.
        collect: Which states become draws.
        engine: How a step is carried out.

    Example:
        >>> sampler = SGHMC(chains=2, steps=300, step_size=0.01, temperature=1e-6)
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> start, generator = torch.ones(2, 3), torch.Generator().manual_seed(0)
        >>> draws = sampler.sample(bowl, start, cases=1, generator=generator, show=False)
        >>> float(draws.theta.abs().max()) < 0.1
        True
    """

    chains: int = 5
    steps: int = 5000
    step_size: float = 1e-3
    temperature: float = 1e-4
    friction: float = 0.1
    clip: float | None = None
    schedule: Schedule = field(default_factory=Constant)
    batch: int | None = None
    collect: Collection = field(default_factory=All)
    engine: Engine = field(default_factory=Eager)

    def __post_init__(self) -> None:
        """Refuse friction outside (0, 1] and negative temperatures."""
        check_counts("SGHMC", chains=self.chains, steps=self.steps)
        check_positive("SGHMC", step_size=self.step_size)
        if not 0 < self.friction <= 1:
            raise ArgumentError("SGHMC.friction", "in (0, 1]", self.friction, "pass 0.1")
        if self.temperature < 0:
            rule, remedy = "not negative", "pass 0 for momentum descent"
            raise ArgumentError("SGHMC.temperature", rule, self.temperature, remedy)

    @property
    def run(self) -> Independent:
        """The run behind it, for one that is stopped and resumed."""
        step = Hamiltonian(self.step_size, self.temperature, self.friction, self.clip)
        return Independent(
            step, self.chains, self.steps, self.step_size, self.temperature,
            schedule=self.schedule, batch=self.batch, collect=self.collect,
            engine=self.engine,
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
