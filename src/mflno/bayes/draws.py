"""What an inference gives back: the draws, where each came from, and the run's trace.

Letters of this room beside the house's: L ladders (independent repetitions batched in one
buffer), K chains of a ladder, coldest first, J = K - 1 neighbouring pairs, I iterations.
A buffer of parameters has one row a chain, ladder after ladder: row `l * K + k`.
"""

from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from mflno.errors import ArgumentError
from mflno.shapes import Bool, Float, Int


@runtime_checkable
class Energy(Protocol):
    """What a posterior is made of: one number a chain, exp(-energy / τ) up to a constant.

    `batch` holds the indices of the cases to look at, `None` means all of them. A row's
    energy depends on that row alone, so the gradient of the sum is each chain's gradient.
    It is always given the whole buffer, so ladders may have data of their own: row r belongs
    to ladder r // K. All ladders look at the same case numbers.
    """

    def __call__(
        self, theta: Float[Tensor, "K P"], batch: Int[Tensor, " B"] | None, /
    ) -> Float[Tensor, " K"]:
        """The energy of every chain."""
        ...


@dataclass(frozen=True)
class Trace:
    """What happened at each iteration, for diagnosis.

    Attributes:
        energy: Of each chain (rung of the ladder, coldest first), as the swap saw it.
        gradient: Norm of each chain's gradient, before clipping.
        step_size: η of each chain.
        temperature: τ of each chain.
        healthy: False where a chain was not finite and was restarted from a healthy one.
        replica: Which of the K starting states' descendants sits in the chain.
        tentative: Where the rule's condition held, whatever its gate and turn.
        swapped: Where the pair (j, j + 1) exchanged its states.
        buffer: The correction C of the pair, in units of energy.
        parameters: How many numbers a state has.
    """

    energy: Float[Tensor, "I L K"]
    gradient: Float[Tensor, "I L K"]
    step_size: Float[Tensor, "I K"]
    temperature: Float[Tensor, " K"]
    healthy: Bool[Tensor, "I L K"]
    replica: Int[Tensor, "I L K"]
    tentative: Bool[Tensor, "I L J"]
    swapped: Bool[Tensor, "I L J"]
    buffer: Float[Tensor, "I L J"]
    parameters: int

    @property
    def ratio(self) -> Float[Tensor, "I L K"]:
        """η|g|²/(2τ): squared drift against squared noise of one coordinate; inf where τ = 0.

        Over P coordinates the noise adds up: `ratio / parameters` compares the whole moves,
        and is ηk/2 for a Gaussian of curvature k. Where that is not small, the temperature
        does not shape the draws.
        """
        eta = self.step_size[:, None, :]
        return eta * self.gradient.square() / (2 * self.temperature)

    def of_ladder(self, ladder: int) -> "Trace":
        """One ladder's trace alone."""
        rows = ("energy", "gradient", "healthy", "replica", "tentative", "swapped", "buffer")
        return replace(
            self, **{name: getattr(self, name)[:, ladder : ladder + 1] for name in rows}
        )

    @classmethod
    def empty(cls, *, ladders: int, chains: int, parameters: int) -> "Trace":
        """A trace of no iterations, for an inference in closed form."""
        rows, pairs = torch.zeros(0, ladders, chains), torch.zeros(0, ladders, chains - 1)
        return cls(
            energy=rows, gradient=rows, step_size=rows[:, 0], temperature=torch.zeros(chains),
            healthy=rows.bool(), replica=rows.long(), tentative=pairs.bool(),
            swapped=pairs.bool(), buffer=pairs, parameters=parameters,
        )  # fmt: skip


@dataclass(frozen=True)
class Draws:
    """Draws of the posterior; each carries where it came from.

    Attributes:
        theta: One state a row.
        ladder: Which of the independent repetitions.
        chain: Which chain of the ladder, 0 the coldest.
        step: After how many moves.
        temperature: Of that chain.
        trace: The run they are from.

    Example:
        >>> one = torch.zeros(2)
        >>> where = torch.tensor([0, 1])
        >>> trace = Trace.empty(ladders=1, chains=2, parameters=3)
        >>> draws = Draws(torch.zeros(2, 3), where * 0, where, where * 0 + 9, one, trace)
        >>> len(draws), len(draws.where(draws.chain == 0))
        (2, 1)
    """

    theta: Float[Tensor, "S P"]
    ladder: Int[Tensor, " S"]
    chain: Int[Tensor, " S"]
    step: Int[Tensor, " S"]
    temperature: Float[Tensor, " S"]
    trace: Trace

    def __len__(self) -> int:
        return len(self.theta)

    def where(self, chosen: Bool[Tensor, " S"]) -> "Draws":
        """The chosen draws."""
        return Draws(
            self.theta[chosen], self.ladder[chosen], self.chain[chosen],
            self.step[chosen], self.temperature[chosen], self.trace,
        )  # fmt: skip


@runtime_checkable
class Inference(Protocol):
    """From an energy to draws of exp(-energy / τ): the door every method of this room has.

    An inference is a frozen dataclass; its fields are its configuration.
    """

    @property
    def chains(self) -> int:
        """How many rows of `theta0` one ladder takes."""
        ...

    def sample(
        self,
        energy: Energy,
        theta0: Float[Tensor, "R P"],
        *,
        cases: int,
        generator: torch.Generator,
        show: bool = True,
    ) -> Draws:
        """Draws from starting states.

        Args:
            energy: One number a row.
            theta0: Starting states, `chains` rows for each independent ladder.
            cases: How many cases the energy is made of, for mini-batches.
            generator: The only source of randomness.
            show: Whether a progress line may be drawn.
        """
        ...


def last_states(draws: Draws, otherwise: Float[Tensor, "R P"]) -> Float[Tensor, "R P"]:
    """Where each chain of a run ended, to start the next one from.

    Args:
        draws: A run's draws; those after its last move are taken, by ladder and chain.
        otherwise: One row a chain; kept where the run left no such draw, because the chain
            was not finite or is not collected.

    Example:
        >>> from mflno.bayes import DeepEnsemble
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> fit, draw = DeepEnsemble(2, 100, 0.05), torch.Generator().manual_seed(0)
        >>> draws = fit.sample(bowl, torch.ones(4, 3), cases=1, generator=draw, show=False)
        >>> float(last_states(draws, torch.ones(4, 3)).abs().max()) < 0.1
        True
    """
    ended = draws.where(draws.step == draws.step.amax())
    rows = ended.ladder * len(draws.trace.temperature) + ended.chain
    if len(rows.unique()) < len(rows):
        rule, came = "must have one last state a chain", f"{len(rows)} draws"
        remedy = "go on from the states of the descent, not from draws around them"
        raise ArgumentError("last_states.draws", rule, came, remedy)
    if int(rows.amax()) >= len(otherwise) or ended.theta.shape[1] != otherwise.shape[1]:
        rule = "must have a row for each chain, as many parameters wide as the draws"
        came, remedy = tuple(otherwise.shape), "pass starts for every ladder and chain"
        raise ArgumentError("last_states.otherwise", rule, came, remedy)
    states = otherwise.detach().clone()
    states[rows] = ended.theta.to(states)
    return states


def ladders_of(place: str, theta0: Float[Tensor, "R P"], chains: int) -> int:
    """How many ladders the starting states fill; refuse what cannot start."""
    if len(theta0) == 0 or len(theta0) % chains:
        rule = f"must have {chains} rows for each ladder"
        raise ArgumentError(place, rule, f"{len(theta0)} rows", "pass chains × ladders rows")
    if not theta0.is_floating_point():
        # Noise of a complex number has half the variance in each part, and g² a phase.
        remedy = "store real and imaginary parts side by side"
        raise ArgumentError(place, "must be real", theta0.dtype, remedy)
    if not bool(torch.isfinite(theta0).all()):
        rule, remedy = "must be finite", "check the initial parameters"
        raise ArgumentError(place, rule, "NaN or infinity", remedy)
    return len(theta0) // chains
