"""Stochastic weight averaging, Gaussian: the law of an optimiser's late iterates.

A path at a constant step size circles its minimum under the noise of mini-batches. A Gaussian
of the mean of its iterates θ_i, i = 1 ... I, and half a diagonal, half a low-rank covariance,

    Σ = (diag(var θ) + D Dᵀ / (R - 1)) / 2,    D = the last R iterates - mean,

is drawn from; one Gaussian for each chain, a mixture over chains. Without mini-batch noise the
path ends in a point and the Gaussian is one too narrow.
Reference: Maddox, Garipov, Izmailov, Vetrov, Wilson, A simple baseline for Bayesian
uncertainty in deep learning, 2019.
"""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mflno.bayes.chance import private_generator
from mflno.bayes.collect import All
from mflno.bayes.draws import Draws, Energy
from mflno.bayes.ensemble import DeepEnsemble
from mflno.bayes.independent import check_counts, check_positive
from mflno.bayes.schedule import Constant
from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class IterateLaw:
    """A Gaussian with a diagonal and a low-rank part.

    Attributes:
        mean: Of the iterates.
        variance: Of each coordinate, unbiased.
        deviations: Last iterates less the mean.
    """

    mean: Float[Tensor, " P"]
    variance: Float[Tensor, " P"]
    deviations: Float[Tensor, "D P"]

    @classmethod
    def of(cls, iterates: Float[Tensor, "I P"], rank: int) -> "IterateLaw":
        """The law of iterates in the order they came."""
        if not 2 <= rank <= len(iterates):
            rule = f"between 2 and the {len(iterates)} iterates kept"
            remedy = "lower it, or keep more: All(burn=0.5, thin=10)"
            raise ArgumentError("SWAG.rank", rule, rank, remedy)
        mean = iterates.mean(0)
        return cls(mean, iterates.var(0), iterates[-rank:] - mean)

    def draw(
        self, count: int, generator: torch.Generator, *, scale: float = 1.0
    ) -> Float[Tensor, "S P"]:
        """Draws with the covariance times `scale`."""
        rank = len(self.deviations)
        like = {"dtype": self.mean.dtype, "device": self.mean.device, "generator": generator}
        own = torch.randn(count, len(self.mean), **like) * self.variance.sqrt()
        shared = torch.randn(count, rank, **like) @ self.deviations / math.sqrt(rank - 1)
        return self.mean + math.sqrt(scale / 2) * (own + shared)


def swag_path() -> DeepEnsemble:
    """A path at constant step whose second half is kept every tenth iterate."""
    return DeepEnsemble(
        chains=1, step_size=1e-3, schedule=Constant(), collect=All(burn=0.5, thin=10)
    )


@dataclass(frozen=True)
class SWAG:
    """A Gaussian fitted to each chain's late iterates.

    Args:
        path: Descent whose collected states are the iterates; start it from a fit.
        rank: Deviations kept, R.
        draws: Draws of each chain's Gaussian.
        scale: Factor of the covariance.

    Example:
        >>> path = DeepEnsemble(2, 400, 0.1, schedule=Constant(), collect=All(0.5, 5))
        >>> bowl = lambda theta, batch: theta.square().sum(-1)
        >>> start, generator = torch.ones(2, 3), torch.Generator().manual_seed(0)
        >>> swag = SWAG(path, draws=7)
        >>> len(swag.sample(bowl, start, cases=1, generator=generator, show=False))
        14
    """

    path: DeepEnsemble = field(default_factory=swag_path)
    rank: int = 20
    draws: int = 20
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse empty draws and a negative covariance."""
        check_counts("SWAG", draws=self.draws)
        check_positive("SWAG", scale=self.scale)

    @property
    def chains(self) -> int:
        """How many rows of `theta0` one ladder takes."""
        return self.path.chains

    def sample(
        self,
        energy: Energy,
        theta0: Float[Tensor, "R P"],
        *,
        cases: int,
        generator: torch.Generator,
        show: bool = True,
    ) -> Draws:
        """Draws of the Gaussians from `chains` starts a ladder; see `bayes.Inference`."""
        path = self.path.sample(energy, theta0, cases=cases, generator=generator, show=show)
        own = private_generator(generator, theta0.device)
        parts = []
        for row in range(len(theta0)):
            ladder, chain = divmod(row, self.chains)
            mine = path.where((path.ladder == ladder) & (path.chain == chain))
            # a path that broke on its way has no plateau
            if len(mine) and int(mine.step.amax()) == self.path.steps:
                parts.append((self._drawn(mine, own), ladder, chain))
        count = torch.full((self.draws,), 1, device=theta0.device)
        theta = torch.cat([states for states, _, _ in parts])
        return Draws(
            theta,
            ladder=torch.cat([ladder * count for _, ladder, _ in parts]),
            chain=torch.cat([chain * count for _, _, chain in parts]),
            step=torch.cat([self.path.steps * count for _ in parts]),
            temperature=torch.zeros(len(theta), dtype=theta.dtype, device=theta.device),
            trace=path.trace,
        )

    def _drawn(self, iterates: Draws, generator: torch.Generator) -> Float[Tensor, "S P"]:
        states = iterates.theta[iterates.step.argsort()]
        law = IterateLaw.of(states, self.rank)
        return law.draw(self.draws, generator, scale=self.scale)
