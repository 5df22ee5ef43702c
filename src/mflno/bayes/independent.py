"""Chains that walk side by side and never meet: what inferences without swaps share.

All chains go through one buffer and one gradient. A chain that is not finite stays so, is
reported in the trace, and gives no draws; restarting it from a neighbour would make two chains
into one.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from mflno.bayes.chance import Dealer, private_generator
from mflno.bayes.collect import Collection, Final
from mflno.bayes.draws import Draws, Energy, ladders_of
from mflno.bayes.engine import Advance, Eager, Engine
from mflno.bayes.quarantine import healthy_rows
from mflno.bayes.run import Run, finished, proceed
from mflno.bayes.schedule import Constant, Schedule
from mflno.bayes.state import Info, State, Walk, blank_info
from mflno.bayes.stepper import Stepper
from mflno.bayes.swap import blank_memory
from mflno.errors import ArgumentError
from mflno.shapes import Float


def lonely_info(
    walk: Walk, energy: Float[Tensor, " R"], gradient: Float[Tensor, "R P"]
) -> Info:
    """The report of an iteration at which no pair could swap."""
    square = gradient.square().sum(-1)
    shape = walk.replica.shape
    healthy = healthy_rows(walk.theta, energy, square).view(shape)
    never = torch.zeros_like(walk.swaps.buffer, dtype=torch.bool)
    norm = square.sqrt().view(shape)
    buffer = walk.swaps.buffer
    return Info(energy.view(shape), norm, healthy, walk.replica, never, never, buffer)


@dataclass(frozen=True)
class Independent:
    """A run of K independent chains: the door's four verbs for one iteration's arithmetic.

    Attributes:
        advance: One iteration's arithmetic.
        chains: K, rows of one ladder.
        steps: Iterations.
        step_size: Before the schedule, the same for every chain.
        temperature: Of every chain.
        schedule: Factor of the step size over the run.
        batch: Cases of one mini-batch; `None` takes all.
        collect: Which states become draws.
        engine: How an iteration is carried out.
    """

    advance: Advance
    chains: int
    steps: int
    step_size: float
    temperature: float
    schedule: Schedule = field(default_factory=Constant)
    batch: int | None = None
    collect: Collection = field(default_factory=Final)
    engine: Engine = field(default_factory=Eager)

    def start(
        self, theta0: Float[Tensor, "R P"], *, cases: int, generator: torch.Generator
    ) -> Run:
        """A run at its beginning; draws one number of the generator and leaves theta0 alone."""
        ladders = ladders_of("sample.theta0", theta0, self.chains)
        theta = theta0.detach().clone()
        replica = torch.arange(self.chains, device=theta.device).repeat(ladders, 1)
        # no pairs: the trace has nothing to say of swaps, and a member's mini-batches do not
        # depend on how many others there are
        memory = blank_memory(ladders, 0, theta)
        info = blank_info(self.steps, ladders, self.chains, theta)
        none = {
            name: getattr(info, name)[..., :0] for name in ("tentative", "swapped", "buffer")
        }
        zero = torch.zeros_like(theta)
        walk = Walk(theta, zero, zero.clone(), replica, memory)
        own = private_generator(generator, theta.device)
        state = State(walk, 0, torch.arange(cases, device=theta.device), own.get_state())
        return Run(state, info._replace(**none), {})

    def proceed(self, energy: Energy, run: Run, *, until: int, show: bool = True) -> Run:
        """The run after it has come to `until` moves."""
        noisy, steps = self.temperature > 0, self.steps
        how = {"batch": self.batch, "schedule": self.schedule}
        dealer = Dealer.prepared(run.state, noisy=noisy, steps=steps, **how)
        step = Stepper(energy, self.engine(energy, self.advance), dealer, probe=None)
        return proceed(run, step, until=until, collect=self.collect, show=show)

    def finish(self, energy: Energy, run: Run) -> Draws:
        """The draws of a run that came to its end."""
        like = run.state.theta.new_tensor
        factors = like([self.schedule(step, self.steps) for step in range(self.steps)])
        ladder = {
            "step_size": self.step_size * factors[:, None].expand(-1, self.chains),
            "temperature": like([self.temperature] * self.chains),
        }
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
        """Start, proceed to the end, finish."""
        run = self.start(theta0, cases=cases, generator=generator)
        return self.finish(energy, self.proceed(energy, run, until=self.steps, show=show))


def check_counts(place: str, **counts: int) -> None:
    """Raise unless every count is at least one."""
    for name, count in counts.items():
        if count < 1:
            raise ArgumentError(f"{place}.{name}", "at least 1", count, "raise it")


def check_positive(place: str, **numbers: int | float) -> None:
    """Raise unless every number is above zero."""
    for name, number in numbers.items():
        if not number > 0:
            raise ArgumentError(f"{place}.{name}", "above 0", number, "pass a small number")
