"""Replica exchange stochastic gradient Langevin dynamics (section 2.3 of the paper).

A ladder of K chains walks the same energy U, each with its own step size η and temperature τ,
coldest first; hot chains roam, cold ones settle. One iteration has five acts:

1. look        U(θ) and g = ∇U(θ) of every chain, on one mini-batch
2. quarantine  a chain that is not finite goes on from its nearest healthy neighbour
3. swap        neighbours exchange θ, m and V where the rule says so      (Eqs. 16, 17)
4. move        θ ← θ - η (g + a A) + √(2ητ) ε                             (Eqs. 14, 15)
5. report      what a doctor wants to know

Row k of a ladder is always the chain at temperature τ_k: a swap moves states between rows, so
a chain's law is read off its row. L independent ladders share one buffer `theta[L*K, P]`.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from mflno.bayes.chance import Dealer, private_generator
from mflno.bayes.collect import All, Collection
from mflno.bayes.draws import Draws, Energy, ladders_of
from mflno.bayes.engine import Chance, Eager, Engine
from mflno.bayes.langevin import Drift, langevin_move
from mflno.bayes.quarantine import donors, healthy_rows
from mflno.bayes.run import Run, finished, proceed
from mflno.bayes.schedule import Cosine, Schedule
from mflno.bayes.state import Info, State, Walk, blank_info
from mflno.bayes.stepper import Stepper
from mflno.bayes.swap import Offer, Paper, Rule, blank_memory, gaps, partners
from mflno.errors import ArgumentError
from mflno.shapes import Float


def rungs(first: float, last: float, chains: int) -> tuple[float, ...]:
    """A geometric ladder from the coldest chain to the hottest; all zero if it starts at zero.

    Example:
        >>> rungs(1.0, 4.0, 3)
        (1.0, 2.0, 4.0)
    """
    if chains == 1 or first == 0:
        return (first,) * chains
    return tuple(first * (last / first) ** (k / (chains - 1)) for k in range(chains))


@dataclass(frozen=True)
class Iteration:
    """Acts 2 to 5 for every chain at once: tensors in, tensors out, no randomness of its own.

    Attributes:
        step_size: η of each chain before the schedule.
        temperature: τ of each chain.
        slope: 1/τ_cold - 1/τ_hot of each pair.
        drift: How a gradient becomes a push.
        swap: When a pair exchanges its states.
    """

    step_size: Float[Tensor, " K"]
    temperature: Float[Tensor, " K"]
    slope: Float[Tensor, " J"]
    drift: Drift
    swap: Rule

    def __call__(
        self,
        walk: Walk,
        energy: Float[Tensor, " R"],
        gradient: Float[Tensor, "R P"],
        chance: Chance,
    ) -> tuple[Walk, Info]:
        """The walk after one iteration, and its report."""
        ladders, chains = walk.replica.shape
        square = gradient.square().sum(-1)
        healthy = healthy_rows(walk.theta, energy, square).view(ladders, chains)
        energy = energy.view(ladders, chains)

        both = healthy[:, :-1] & healthy[:, 1:]
        offer = Offer(gaps(energy), self.slope, chance.uniform, both, chance.step)
        tentative, swapped, swaps = self.swap(walk.swaps, offer)
        partner = partners(swapped)

        # One permutation of rows restarts the broken and swaps the rest, θ, m, V and g alike.
        source = donors(healthy).gather(1, partner)
        first_row = chains * torch.arange(ladders, device=source.device)[:, None]
        rows = (first_row + source).flatten()
        theta, first, second = walk.theta[rows], walk.first[rows], walk.second[rows]

        first, second, drift = self.drift(first, second, gradient[rows], chance.step)
        eta = (self.step_size * chance.factor).repeat(ladders)[:, None]
        tau = self.temperature.repeat(ladders)[:, None]
        theta = langevin_move(theta, drift, chance.noise, eta, tau)

        replica = walk.replica.gather(1, partner)
        norm = square.sqrt().view(ladders, chains)
        info = Info(energy, norm, healthy, walk.replica, tentative, swapped, swaps.buffer)
        return Walk(theta, first, second, replica, swaps), info


@dataclass(frozen=True)
class ReplicaExchange:
    """A ladder of Langevin chains that exchange their states.

    The defaults are the paper's, where it gives them (chains, iterations, step sizes,
    schedule, rule). For a posterior whose width is right take `Drift(weight=0)`, a constant
    or polynomial schedule, and `Metropolis` (all cases in every batch) or `Corrected`
    (mini-batches). One chain makes no swaps; temperature 0 is a ladder of optimisers.

    Args:
        chains: K, how many chains one ladder has.
        steps: Iterations.
        step_size: η of the coldest and of the hottest chain, geometric between.
        temperature: τ of the coldest and of the hottest chain, geometric between.
        drift: How a gradient becomes a push.
        swap: When neighbours exchange their states.
        schedule: Factor of the step sizes over the run.
        batch: Cases of one mini-batch; `None` takes all.
        collect: Which states become draws.
        engine: How an iteration is carried out.

    Example:
        >>> sampler = ReplicaExchange(chains=2, steps=300, step_size=(0.1, 0.2))
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> start, generator = torch.ones(2, 3), torch.Generator().manual_seed(0)
        >>> draws = sampler.sample(bowl, start, cases=1, generator=generator, show=False)
        >>> draws.theta.shape, float(draws.theta.abs().max()) < 0.1
        (torch.Size([2, 3]), True)
    """

    chains: int = 5
    steps: int = 5000
    step_size: tuple[float, float] = (5e-3, 5e-2)
    temperature: tuple[float, float] = (1e-6, 1e-4)
    drift: Drift = field(default_factory=Drift)
    swap: Rule = field(default_factory=Paper)
    schedule: Schedule = field(default_factory=Cosine)
    batch: int | None = None
    collect: Collection = field(default_factory=All)
    engine: Engine = field(default_factory=Eager)

    def __post_init__(self) -> None:
        """Refuse ladders that do not rise and runs of no length."""
        for name in ("chains", "steps"):
            if getattr(self, name) < 1:
                came = getattr(self, name)
                raise ArgumentError(f"ReplicaExchange.{name}", "at least 1", came, "raise it")
        if self.batch is not None and self.batch < 1:
            rule, remedy = "at least 1", "pass None for all cases"
            raise ArgumentError("ReplicaExchange.batch", rule, self.batch, remedy)
        (eta, wide), (tau, hot) = self.step_size, self.temperature
        if not 0 < eta <= wide:
            rule, remedy = "0 < coldest <= hottest", "order the pair"
            raise ArgumentError("ReplicaExchange.step_size", rule, self.step_size, remedy)
        if not (0 < tau <= hot or tau == hot == 0):
            rule, remedy = "0 < coldest <= hottest, or both 0", "order the pair"
            raise ArgumentError("ReplicaExchange.temperature", rule, self.temperature, remedy)

    def start(
        self, theta0: Float[Tensor, "R P"], *, cases: int, generator: torch.Generator
    ) -> Run:
        """A run at its beginning; draws one number of the generator and leaves theta0 alone."""
        ladders = ladders_of("ReplicaExchange.theta0", theta0, self.chains)
        theta = theta0.detach().clone()
        walk = Walk(
            theta=theta,
            first=torch.zeros_like(theta),
            second=torch.zeros_like(theta),
            replica=torch.arange(self.chains, device=theta.device).repeat(ladders, 1),
            swaps=blank_memory(ladders, self.chains - 1, theta),
        )
        own = private_generator(generator, theta.device)
        order = torch.arange(cases, device=theta.device)
        state = State(walk, step=0, order=order, random=own.get_state())
        return Run(state, blank_info(self.steps, ladders, self.chains, theta), {})

    def stepper(self, energy: Energy, state: State) -> Stepper:
        """The pure function state -> (state, info) for chains like this state's."""
        theta = state.theta
        eta, tau = (rungs(*ends, self.chains) for ends in (self.step_size, self.temperature))
        slope = [1 / c - 1 / h if c > 0 else torch.inf for c, h in pairwise(tau)]
        like = theta.new_tensor
        iteration = Iteration(like(eta), like(tau), like(slope), self.drift, self.swap)
        dealer = Dealer.prepared(
            state, batch=self.batch, noisy=tau[-1] > 0, schedule=self.schedule, steps=self.steps
        )
        return Stepper(energy, self.engine(energy, iteration), dealer, self.swap.probe)

    def proceed(self, energy: Energy, run: Run, *, until: int, show: bool = True) -> Run:
        """The run after it has come to `until` moves."""
        step = self.stepper(energy, run.state)
        return proceed(run, step, until=until, collect=self.collect, show=show)

    def finish(self, energy: Energy, run: Run) -> Draws:
        """The draws of a run that came to its end."""
        like = run.state.theta.new_tensor
        factors = like([self.schedule(step, self.steps) for step in range(self.steps)])
        eta, tau = (
            like(rungs(*ends, self.chains)) for ends in (self.step_size, self.temperature)
        )
        ladder = {"step_size": factors[:, None] * eta, "temperature": tau}
        return finished(run, energy, collect=self.collect, **ladder)

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
        run = self.start(theta0, cases=cases, generator=generator)
        run = self.proceed(energy, run, until=self.steps, show=show)
        return self.finish(energy, run)
