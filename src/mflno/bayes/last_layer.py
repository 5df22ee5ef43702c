"""Last-layer Laplace: exact Bayesian linear regression on the features a network has learnt.

Predictions are linear in the last layer's weights w: y = X w + offset + noise. With
w ~ N(0, 1/α) and noise ~ N(0, 1/β),

    A = α I + β XᵀX,  mean = β A⁻¹ Xᵀ y,  w | y ~ N(mean, A⁻¹)
    log p(y | α, β) = (F log α + N log β - β |y - X mean|² - α |mean|² - log |A| - N log 2π) / 2

and α, β are those of largest evidence. For a given ratio α/β the best β is in closed form, so
a search over one number finds both.
Reference: MacKay, Bayesian interpolation, 1992.

The law takes all N residuals for independent. Points of one trajectory are not, so for
trajectories it is too narrow by about their number per independent error; `temperature` widens
it, and held-out runs say by how much (`amplitude_scale`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy import ndarray
from scipy.optimize import minimize_scalar
from torch import Tensor

from mflno.bayes.chance import private_generator
from mflno.bayes.draws import Draws, Energy, Trace
from mflno.bayes.independent import check_counts, check_positive
from mflno.errors import ArgumentError
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class LinearPosterior:
    """The Gaussian law of a linear model's weights.

    Attributes:
        mean: Of the weights.
        covariance: Of the weights.
        noise: Standard deviation of one error, 1/√β.
        prior: Standard deviation of one weight before the data, 1/√α.
        evidence: Logarithm of the probability of the data.
    """

    mean: Float[Tensor, " F"]
    covariance: Float[Tensor, "F F"]
    noise: float
    prior: float
    evidence: float

    def predictive(
        self, features: Float[Tensor, "N F"]
    ) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """Mean and standard deviation of the noise-free response."""
        variance = ((features @ self.covariance) * features).sum(-1)
        return features @ self.mean, variance.clamp_min(0).sqrt()

    def draw(self, count: int, generator: torch.Generator) -> Float[Tensor, "S F"]:
        """Draws of the weights."""
        values, vectors = torch.linalg.eigh(self.covariance)
        like = {"dtype": self.mean.dtype, "device": self.mean.device}
        normal = torch.randn(count, len(self.mean), generator=generator, **like)
        return self.mean + (normal * values.clamp_min(0).sqrt()) @ vectors.T


def linear_posterior(
    features: Float[Tensor, "N F"], targets: Float[Tensor, " N"], *, noise: float | None = None
) -> LinearPosterior:
    """The law of a linear model's weights, its precisions chosen by evidence.

    Args:
        features: X.
        targets: y.
        noise: Standard deviation of one error, where it is known; found by evidence if not.

    Example:
        >>> x = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
        >>> law = linear_posterior(x, 3 * x[:, 0], noise=0.01)
        >>> round(float(law.mean), 3)
        3.0
    """
    count = len(features)
    x, y = features.double(), targets.double()
    values, vectors = torch.linalg.eigh(x.T @ x)
    values = values.clamp_min(0)
    turned = vectors.T @ (x.T @ y)
    problem = _Evidence(
        values.cpu().numpy(), turned.cpu().numpy() ** 2, float(y @ y), count, noise
    )
    ratio = problem.best_ratio()
    beta = problem.precision(ratio)
    spread = 1 / (beta * (values + ratio))
    return LinearPosterior(
        mean=vectors @ (turned / (values + ratio)),
        covariance=(vectors * spread) @ vectors.T,
        noise=beta**-0.5,
        prior=(ratio * beta) ** -0.5,
        evidence=float(problem(ratio)),
    )


@dataclass(frozen=True)
class _Evidence:
    """log p(y) as a function of α/β, β being given or the best one."""

    values: ndarray
    squares: ndarray
    target: float
    count: int
    noise: float | None

    def misfit(self, ratio: float) -> float:
        """|y - X mean|² + ratio |mean|²."""
        left = self.target - float((self.squares / (self.values + ratio)).sum())
        # rounding may leave a perfect fit slightly negative
        return max(left, 1e-14 * self.target)

    def precision(self, ratio: float) -> float:
        """β."""
        return self.count / self.misfit(ratio) if self.noise is None else self.noise**-2

    def __call__(self, ratio: float) -> float:
        """The logarithm of the evidence."""
        beta = self.precision(ratio)
        volume = len(self.values) * np.log(ratio) - np.log(self.values + ratio).sum()
        fit = self.count * np.log(beta / (2 * np.pi)) - beta * self.misfit(ratio)
        return 0.5 * float(volume + fit)

    def best_ratio(self) -> float:
        """The best of a wide grid, refined; evidence may have more than one peak."""
        if not self.target > 0 or not self.values.max() > 0:
            rule, remedy = "must vary", "check that targets and features are not all zero"
            raise ArgumentError("linear_posterior.targets", rule, "all zero", remedy)
        grid = np.log(self.values.max()) + np.linspace(-34.0, 14.0, 97)
        best = int(np.argmax([self(float(np.exp(point))) for point in grid]))
        ends = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        found = minimize_scalar(
            lambda point: -self(float(np.exp(point))), bounds=ends, method="bounded",
            options={"xatol": 1e-9},
        )  # fmt: skip
        return float(np.exp(found.x))


@dataclass(frozen=True)
class LastLayer:
    """The exact law of the weights that enter predictions linearly, the others held.

    Each row of `theta0` is a trained network; its draws differ in the last layer alone. The
    energy is not used: the law is that of a Gaussian error with evidence-chosen precisions.

    Args:
        predict: Predictions of the training cases, for each row of parameters.
        targets: What the solver gave.
        columns: Which parameters are the last layer's.
        draws: Draws from each row.
        temperature: Factor of the covariance; 1 takes all points for independent.
        noise: Standard deviation of one error; found by evidence if `None`.

    Example:
        >>> x = torch.linspace(-1, 1, 30)
        >>> predict = lambda theta: theta[:, :1] * x + theta[:, 1:]
        >>> layer = LastLayer(predict, 2 * x + 1, columns=torch.tensor([0, 1]), draws=4)
        >>> start, generator = torch.zeros(1, 2), torch.Generator().manual_seed(0)
        >>> found = layer.sample(lambda t, b: t[:, 0], start, cases=1, generator=generator)
        >>> found.theta.mean(0).round(decimals=2).tolist()
        [2.0, 1.0]
    """

    predict: Callable[[Float[Tensor, "K P"]], Float[Tensor, "K *F"]]
    targets: Float[Tensor, "*F"]
    columns: Int[Tensor, " F"]
    draws: int = 20
    temperature: float = 1.0
    noise: float | None = None

    def __post_init__(self) -> None:
        """Refuse empty draws and a negative covariance."""
        check_counts("LastLayer", draws=self.draws)
        check_positive("LastLayer", temperature=self.temperature)

    @property
    def chains(self) -> int:
        """One network is one start."""
        return 1

    def posterior(self, theta: Float[Tensor, " P"]) -> LinearPosterior:
        """The law of one network's last layer."""
        count = len(self.columns)
        rows = theta.repeat(count + 2, 1)
        rows[:-1, self.columns] = 0
        rows[torch.arange(count), self.columns] = 1
        with torch.no_grad():
            answers = self.predict(rows).reshape(count + 2, -1).double()
        # rows: one for each unit weight, then no weights, then the network as it is
        offset, itself = answers[-2], answers[-1]
        features = (answers[:-2] - offset).T
        gap = features @ theta[self.columns].double() + offset - itself
        size = itself.abs().max() + offset.abs().max() + features.abs().max()
        if not bool(gap.abs().max() <= 1e-3 * size):
            rule = "predictions must be linear in these parameters"
            came = f"a relative gap of {float(gap.abs().max() / size):.2g}"
            raise ArgumentError("LastLayer.columns", rule, came, "name the last layer's own")
        wanted = self.targets.reshape(-1).double() - offset
        return linear_posterior(features, wanted, noise=self.noise)

    def sample(
        self,
        energy: Energy,
        theta0: Float[Tensor, "R P"],
        *,
        cases: int,
        generator: torch.Generator,
        show: bool = True,
    ) -> Draws:
        """Draws around each trained network; see `bayes.Inference`."""
        own = private_generator(generator, theta0.device)
        parts = []
        for theta in theta0.detach():
            law = self.posterior(theta)
            spread = law.draw(self.draws, own) - law.mean
            weights = law.mean + self.temperature**0.5 * spread
            states = theta.repeat(self.draws, 1)
            states[:, self.columns] = weights.to(theta.dtype)
            parts.append(states)
        ladder = torch.arange(len(theta0), device=theta0.device)
        zero = torch.zeros(len(theta0) * self.draws, dtype=torch.long, device=theta0.device)
        return Draws(
            theta=torch.cat(parts),
            ladder=ladder.repeat_interleave(self.draws),
            chain=zero,
            step=zero,
            temperature=torch.full_like(zero, 1, dtype=theta0.dtype) * self.temperature,
            trace=Trace.empty(ladders=len(theta0), chains=1, parameters=theta0.shape[1]),
        )
