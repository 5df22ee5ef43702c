"""Second-order training: damped Gauss-Newton steps from several starts at once.

For residuals r whose squares sum to the mean square relative error, and J their derivatives,

    δ = -D⁻¹ (D⁻¹ JᵀJ D⁻¹ + λ)⁻¹ D⁻¹ Jᵀ r        D: root of the largest diagonal of JᵀJ so far

Each step tries three dampings λ and takes the best; where none descends, λ rises. The system is
solved in the smaller of parameter and residual space. Starts differ much: the better share
goes on after a trial, the best are kept. Early steps look at few times, later ones at more.
Reference: Moré, The Levenberg-Marquardt algorithm: implementation and theory, 1978.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from mflno.bayes import Draws, Energy, Trace
from mflno.errors import ArgumentError
from mflno.progress import progress
from mflno.shapes import Bool, Float

TRIES = (0.2, 1.0, 5.0)
"""Dampings that a step tries, as factors of the last one that was good."""
WEAKEST, STRONGEST = 1e-12, 1e8
"""Where the damping is held."""


@runtime_checkable
class LeastSquares(Protocol):
    """An energy that knows its residuals and their derivatives, row by row."""

    def residuals(self, theta: Float[Tensor, "R P"]) -> Float[Tensor, "R F"]:
        """What is squared and summed."""
        ...

    def linearised(
        self, theta: Float[Tensor, "R P"]
    ) -> tuple[Float[Tensor, "R F"], Float[Tensor, "R P F"]]:
        """Residuals and their derivatives."""
        ...

    def thinned(self, stride: int) -> "LeastSquares":
        """The same on fewer times."""
        ...

    def rows(self, chosen: Tensor) -> "LeastSquares":
        """The same for some of the rows."""
        ...


class Walkers(NamedTuple):
    """Starts under way."""

    theta: Float[Tensor, "R P"]
    loss: Float[Tensor, " R"]
    damping: Float[Tensor, " R"]
    size: Float[Tensor, "R P"]
    """D."""
    origin: Tensor
    """Which row of the starts each one was."""
    anchor: Float[Tensor, "R P"]
    """The start, from which the ridge keeps it from straying."""

    def where(self, chosen: Tensor) -> "Walkers":
        """Some of them."""
        return Walkers(*(each[chosen] for each in self))


@dataclass(frozen=True)
class GaussNewton:
    """Levenberg-Marquardt from several starts; its draws are the best ends.

    Args:
        chains: Starts a ladder.
        kept: How many of them are kept as draws.
        trial: Steps after which the worse starts are dropped.
        survivors: How many go on.
        steps: Steps at each fineness of the time grid, trial included in the first.
        points: Least number of times looked at in each of these.
        ridge: Weight of |θ - start|² beside the mean square relative error. An end is then the
            mode of a posterior whose prior was drawn from: the ends together are draws of it
            (randomised maximum a posteriori), and what data leave open stays spread.

    Example:
        >>> GaussNewton(chains=4, kept=2).chains
        4
    """

    chains: int = 8
    kept: int = 3
    trial: int = 10
    survivors: int = 4
    steps: tuple[int, ...] = (30, 20)
    points: tuple[int, ...] = (128, 256)
    ridge: float = 1e-8

    def __post_init__(self) -> None:
        """Refuse counts that do not fit each other."""
        if not 1 <= self.kept <= self.survivors <= self.chains:
            came = (self.kept, self.survivors, self.chains)
            rule, remedy = "1 <= kept <= survivors <= chains", "raise `chains`"
            raise ArgumentError("GaussNewton.kept", rule, came, remedy)
        if len(self.steps) != len(self.points) or not self.steps:
            came = (self.steps, self.points)
            rule, remedy = "as many steps as points", "give both for each stage"
            raise ArgumentError("GaussNewton.steps", rule, came, remedy)

    def sample(
        self,
        energy: Energy,
        theta0: Float[Tensor, "R P"],
        *,
        cases: int,
        generator: torch.Generator,
        show: bool = True,
    ) -> Draws:
        """The best ends of `chains` starts a ladder; see `bayes.Inference`."""
        del cases, generator
        if not isinstance(energy, LeastSquares):
            rule, remedy = "must know its residuals", "use a gradient method"
            raise ArgumentError("GaussNewton.energy", rule, type(energy).__name__, remedy)
        walkers = begun(theta0)
        with progress("second-order steps", sum(self.steps), show=show) as line:
            for stage, (steps, points) in enumerate(zip(self.steps, self.points, strict=True)):
                part = coarse(energy, points)
                walkers = restarted(walkers, part, self.ridge)
                for step in range(steps):
                    if stage == 0 and step == self.trial:
                        walkers = self.best(walkers, self.survivors)
                    walkers = advanced(walkers, part.rows(walkers.origin), self.ridge)
                    line.advance()
                    if step % 10 == 0:
                        line.note(f"error {float(walkers.loss.min()) ** 0.5:.3g}")
        walkers = self.best(walkers, self.kept)
        return self.draws(walkers, theta0)

    def best(self, walkers: Walkers, count: int) -> Walkers:
        """The best of each ladder."""
        ladder = walkers.origin // self.chains
        chosen = []
        for each in ladder.unique():
            own = (ladder == each).nonzero()[:, 0]
            chosen.append(own[walkers.loss[own].argsort()[:count]])
        return walkers.where(torch.cat(chosen))

    def draws(self, walkers: Walkers, theta0: Tensor) -> Draws:
        """Every kept end as a draw."""
        zero = torch.zeros_like(walkers.origin)
        ladders = len(theta0) // self.chains
        return Draws(
            theta=walkers.theta,
            ladder=walkers.origin // self.chains,
            chain=walkers.origin % self.chains,
            step=zero + sum(self.steps),
            temperature=torch.zeros_like(walkers.loss),
            trace=Trace.empty(ladders=ladders, chains=self.chains, parameters=theta0.shape[1]),
        )


def coarse(energy: LeastSquares, points: int) -> LeastSquares:
    """On every second, third, ... time, so that no fewer than these are left."""
    grid = getattr(energy, "grid", None)
    if grid is None:
        return energy
    return energy.thinned(max(1, (len(grid) - 1) // (points - 1)))


def begun(theta0: Tensor) -> Walkers:
    """Before the first step."""
    theta = theta0.detach().clone()
    infinite = theta.new_full(theta.shape[:1], torch.inf)
    origin = torch.arange(len(theta), device=theta.device)
    damping = torch.full_like(infinite, 1e-2)
    return Walkers(theta, infinite, damping, torch.zeros_like(theta), origin, theta.clone())


def restarted(walkers: Walkers, energy: LeastSquares, ridge: float) -> Walkers:
    """The same on another grid: losses anew, damping not too small."""
    loss = losses(energy.rows(walkers.origin), walkers.theta, walkers.anchor, ridge)
    return walkers._replace(loss=loss, damping=walkers.damping.clamp_min(1e-6))


def losses(
    energy: LeastSquares, theta: Tensor, anchor: Tensor, ridge: float
) -> Float[Tensor, " R"]:
    """What each row has to lower; infinite where it is not finite."""
    with torch.no_grad():
        found = energy.residuals(theta).flatten(1).square().sum(-1)
    found = found + ridge * (theta - anchor).square().sum(-1)
    return found.nan_to_num(torch.inf, torch.inf, torch.inf)


def advanced(walkers: Walkers, energy: LeastSquares, ridge: float) -> Walkers:
    """One step of every start, to the best of the dampings tried or not at all."""
    with torch.no_grad():
        residuals, slopes = energy.linearised(walkers.theta)
    residuals, slopes = residuals.flatten(1), slopes.flatten(2)
    size = torch.maximum(walkers.size, slopes.square().sum(-1).sqrt())
    safe = size.clamp_min(1e-3 * size.amax(-1, keepdim=True)).clamp_min(1e-30)
    weight = ridge / safe.square()
    pull = ridge * (walkers.theta - walkers.anchor) / safe
    solve = damped_solver(slopes / safe[..., None], residuals, weight, pull)
    tried = walkers.damping[:, None] * walkers.theta.new_tensor(TRIES)
    theta = torch.stack([walkers.theta - solve(tried[:, k]) / safe for k in range(len(TRIES))])
    loss = torch.stack([losses(energy, each, walkers.anchor, ridge) for each in theta])
    best = loss.argmin(0)
    row = torch.arange(len(best), device=best.device)
    better: Bool[Tensor, " R"] = loss[best, row] < walkers.loss
    damping = torch.where(better, tried[row, best], tried[:, -1] * TRIES[-1])
    return walkers._replace(
        theta=torch.where(better[:, None], theta[best, row], walkers.theta),
        loss=torch.where(better, loss[best, row], walkers.loss),
        damping=damping.clamp(WEAKEST, STRONGEST),
        size=torch.where(better[:, None], size, walkers.size),
    )


def damped_solver(
    slopes: Float[Tensor, "R P F"],
    residuals: Float[Tensor, "R F"],
    weight: Float[Tensor, "R P"],
    pull: Float[Tensor, "R P"],
) -> Callable[[Float[Tensor, " R"]], Float[Tensor, "R P"]]:
    """λ -> (J Jᵀ + W + λ)⁻¹ (J r + pull), J having a row a parameter, W diagonal.

    With fewer residuals than parameters by (V + J Jᵀ)⁻¹ = V⁻¹ - V⁻¹J (1 + JᵀV⁻¹J)⁻¹ JᵀV⁻¹,
    V = W + λ, the system has as many rows as there are residuals.
    """
    few = slopes.shape[1] <= slopes.shape[2]
    gram = slopes @ slopes.mT if few else None
    target = (slopes @ residuals[..., None])[..., 0] + pull

    def solve(damping: Tensor) -> Tensor:
        diagonal = weight + damping[:, None]
        if gram is not None:
            shifted = gram.clone()
            shifted.diagonal(dim1=1, dim2=2).add_(diagonal)
            return factored(shifted, target)
        light = slopes / diagonal[..., None]
        shifted = slopes.mT @ light
        shifted.diagonal(dim1=1, dim2=2).add_(1.0)
        first = target / diagonal
        inner = factored(shifted, (slopes.mT @ first[..., None])[..., 0])
        return first - (light @ inner[..., None])[..., 0]

    return solve


def factored(matrix: Float[Tensor, "R n n"], target: Float[Tensor, "R n"]) -> Tensor:
    """The solution by Cholesky; not finite where the matrix cannot be factored."""
    factor, failed = torch.linalg.cholesky_ex(matrix)
    found = torch.cholesky_solve(target[..., None], factor)[..., 0]
    return torch.where((failed == 0)[:, None], found, torch.nan)
