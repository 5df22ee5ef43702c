"""The random numbers of one iteration: a mini-batch, the noise, the swaps' uniforms."""

from dataclasses import dataclass

import torch
from torch import Tensor

from mflno.bayes.engine import Chance
from mflno.bayes.schedule import Schedule
from mflno.bayes.state import State
from mflno.shapes import Float, Int


def private_generator(generator: torch.Generator, device: torch.device) -> torch.Generator:
    """A generator on the device where the chains live, seeded by one draw of the caller's."""
    seed = torch.randint(2**62, (1,), generator=generator, device=generator.device)
    own = torch.Generator(device=device)
    own.manual_seed(int(seed))
    return own


def next_batch(
    order: Int[Tensor, " N"], step: int, size: int | None, generator: torch.Generator
) -> tuple[Int[Tensor, " N"], Int[Tensor, " B"] | None]:
    """The order of the cases and the batch of this step, without replacement in an epoch.

    Cases that do not fill a last batch sit out; the order is drawn anew for each epoch.
    """
    cases = len(order)
    if size is None or size >= cases:
        return order, None
    place = step % (cases // size)
    if place == 0:
        order = torch.randperm(cases, generator=generator, device=order.device)
    return order, order[place * size : (place + 1) * size]


@dataclass(frozen=True)
class Dealer:
    """Deals each iteration its random numbers, from the state's generator and nothing else.

    Attributes:
        batch: Cases of one mini-batch, or `None` for all.
        noisy: Whether any temperature is above zero.
        steps: The iterations' numbers, on the device.
        factors: The schedule's factor at each of them.
        generator: A scratch generator; its state is set before each use.
    """

    batch: int | None
    noisy: bool
    steps: Int[Tensor, " I"]
    factors: Float[Tensor, " I"]
    generator: torch.Generator

    @classmethod
    def prepared(
        cls, state: State, *, batch: int | None, noisy: bool, schedule: Schedule, steps: int
    ) -> "Dealer":
        """A dealer for the chains of this state."""
        theta = state.theta
        count = torch.arange(steps, device=theta.device)
        factors = theta.new_tensor([schedule(step, steps) for step in range(steps)])
        return cls(batch, noisy, count, factors, torch.Generator(device=theta.device))

    def __call__(self, state: State) -> tuple[Chance, Int[Tensor, " N"], Tensor]:
        """This iteration's numbers, then the order of the cases and the generator's state."""
        self.generator.set_state(state.random)
        order, batch = next_batch(state.order, state.step, self.batch, self.generator)
        like = {"device": state.theta.device, "dtype": state.theta.dtype}
        shape, pairs = state.theta.shape, state.walk.swaps.buffer.shape
        noise = torch.randn(shape, generator=self.generator, **like) if self.noisy else None
        uniform = torch.rand(pairs, generator=self.generator, **like)
        now = Chance(batch, noise, uniform, self.steps[state.step], self.factors[state.step])
        return now, order, self.generator.get_state()

    def batches(self, state: State, count: int) -> tuple[list[Tensor | None], Tensor]:
        """Independent random batches, and the generator's state after them."""
        self.generator.set_state(state.random)
        order = state.order
        drawn = [next_batch(order, 0, self.batch, self.generator)[1] for _ in range(count)]
        return drawn, self.generator.get_state()
