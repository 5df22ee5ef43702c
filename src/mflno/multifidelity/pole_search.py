"""Moving poles fitted to trajectories: damped Gauss-Newton steps from several starts.

    Σ_i |y(c_i; Θ) - u_i|² / (N |u_i|²) + Σ_bq Λ_bq (Θ_bq - Θ⁰_bq)²,  Λ_bq = λ (κ^d_b / s_q)²

d_b is the degree of a monomial and s_q the usual size of a number: how a case's numbers change
over the box is thought small until the runs say otherwise. Θ⁰ are the numbers of the cheap
level where there are any, else zero.

The normal matrix is a sum over cases of (b bᵀ) ⊗ (Sᵀ S), S the derivatives by a case's own few
numbers, so a step costs about as much as the answers themselves.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy import ndarray

from mflno.multifidelity.moving_poles import MovingPoles, monomials
from mflno.operators import Spectrum
from mflno.shapes import Float

FEWEST, FINENESS = 256, 0.5
"""Least number of times a fit looks at; largest step times highest frequency."""
GROWTH = 3.0
"""κ."""


@dataclass(frozen=True)
class Runs:
    """What is fitted: scaled cases, their forcing, their trajectories on one grid."""

    cases: Float[ndarray, "N P"]
    signal: Float[ndarray, "N C T"]
    values: Float[ndarray, "N O T"]
    grid: Float[ndarray, " T"]

    def thinned(self, band: float) -> "Runs":
        """On as few times as still resolve this frequency."""
        step = float(self.grid[1] - self.grid[0])
        most = min(len(self.grid) // FEWEST, int(FINENESS / (band * step)))
        some = slice(None, None, max(1, most))
        return Runs(
            self.cases, np.ascontiguousarray(self.signal[..., some]),
            self.values[..., some], self.grid[some],
        )  # fmt: skip

    def without(self, index: int) -> "Runs":
        """The same without one run."""
        keep = np.arange(len(self.cases)) != index
        return replace(
            self, cases=self.cases[keep], signal=self.signal[keep], values=self.values[keep]
        )

    @property
    def band(self) -> float:
        """The frequencies that the trajectories fill."""
        return Spectrum.of(torch.from_numpy(self.values), torch.from_numpy(self.grid)).band


@dataclass(frozen=True)
class Belief:
    """Where parameters are thought to lie: Θ⁰ and Λ."""

    mean: Float[ndarray, "B Q"]
    precision: Float[ndarray, "B Q"] = field(repr=False)


def sizes(model: MovingPoles, runs: Runs) -> Float[ndarray, " Q"]:
    """s: the usual size of each number."""
    size = float(np.sqrt(np.square(runs.values).mean()))
    force = float(np.sqrt(np.square(runs.signal).mean())) if runs.signal.size else 1.0
    usual = {
        "decay": 1.5, "frequency": runs.band / 4, "residue": size / max(force, 1e-300),
        "bypass": size / max(force, 1e-300), "level": size, "start": size,
    }  # fmt: skip
    counts = [int(np.prod(shape)) for shape in model.shapes.values()]
    return np.repeat([usual[name] for name in model.shapes], counts)


def precision(model: MovingPoles, runs: Runs, ridge: float) -> Float[ndarray, "B Q"]:
    """Λ."""
    degrees = monomials(runs.cases[:1], model.degree)[1]
    return ridge * (GROWTH ** degrees[:, None] / sizes(model, runs)) ** 2


@dataclass(frozen=True)
class Fitted:
    """Parameters and what is left of the sum."""

    theta: Float[ndarray, "B Q"]
    loss: float


def loss_of(model: MovingPoles, runs: Runs, theta: ndarray, belief: Belief) -> float:
    """The sum."""
    table = monomials(runs.cases, model.degree)[0]
    with np.errstate(all="ignore"):
        off = (model.answer(table @ theta, runs.signal, runs.grid) - runs.values) * weights(
            runs
        )
        about = (belief.precision * (theta - belief.mean) ** 2).sum()
        return float(np.square(off).sum() + about)


def weights(runs: Runs) -> Float[ndarray, "N 1 1"]:
    """Root of 1 / (N |u_i|²); a trajectory at rest counts as a thousandth of the usual."""
    square = np.square(runs.values).sum((1, 2))
    square = np.maximum(square, 1e-6 * square.mean() + 1e-300)
    return (1.0 / np.sqrt(len(square) * square))[:, None, None]


def descended(
    model: MovingPoles, runs: Runs, start: Fitted, belief: Belief, *, steps: int
) -> Fitted:
    """The end of at most so many steps; each lowers the sum."""
    table = monomials(runs.cases, model.degree)[0]
    now, damping = start, 1e-2
    for _ in range(steps):
        slope, matrix = normal_equations(model, runs, now.theta, belief, table)
        for _ in range(8):
            theta = now.theta + step_of(slope, matrix, damping).reshape(now.theta.shape)
            loss = loss_of(model, runs, theta, belief)
            if np.isfinite(loss) and loss < now.loss:
                break
            damping = max(5 * damping, 1e-8)
        else:
            return now
        gain, now = 1.0 - loss / now.loss, Fitted(theta, loss)
        damping = max(damping / 6, 1e-10)
        if gain < 1e-5:
            return now
    return now


def normal_equations(
    model: MovingPoles, runs: Runs, theta: ndarray, belief: Belief, table: ndarray
) -> tuple[ndarray, ndarray]:
    """Half the slope of the sum, and its Gauss-Newton matrix."""
    answer, columns = model.linearised(table @ theta, runs.signal, runs.grid)
    weight = weights(runs)
    off = ((answer - runs.values) * weight).reshape(len(answer), -1)
    columns = columns.reshape(*columns.shape[:2], -1) * weight
    own = columns @ columns.transpose(0, 2, 1)
    slope = np.einsum("nb,nqr,nr->bq", table, columns, off, optimize=True)
    matrix = np.einsum("na,nb,npq->apbq", table, table, own, optimize=True)
    size = theta.size
    matrix = matrix.reshape(size, size) + np.diag(belief.precision.ravel())
    return (slope + belief.precision * (theta - belief.mean)).ravel(), matrix


def step_of(slope: ndarray, matrix: ndarray, damping: float) -> ndarray:
    """The damped step."""
    size = np.sqrt(np.diag(matrix))
    scaled = matrix / np.outer(size, size)
    return -np.linalg.solve(scaled + damping * np.eye(len(size)), slope / size) / size


def drawn_start(
    model: MovingPoles, runs: Runs, generator: np.random.Generator
) -> Float[ndarray, "B Q"]:
    """Poles spread over the band of the data, the same in every case; small residues."""
    usual, modes, band = sizes(model, runs), model.modes, runs.band
    span = float(runs.grid[-1] - runs.grid[0])
    theta = np.zeros((len(monomials(runs.cases[:1], model.degree)[1]), model.count))
    low, high = 1.0 / span, max(band / 5, 2.0 / span)
    theta[0, :modes] = np.log(low * (high / low) ** generator.random(modes))
    theta[0, modes : 2 * modes] = band * (np.arange(modes) + generator.random(modes)) / modes
    rest = model.count - 2 * modes
    theta[0, 2 * modes :] = 0.1 * usual[2 * modes :] * generator.standard_normal(rest)
    return theta


def searched(
    model: MovingPoles,
    runs: Runs,
    ridge: float,
    generator: np.random.Generator,
    *,
    starts: int = 6,
) -> tuple[Fitted, Belief]:
    """The best of several starts; the worse ones are dropped after a trial."""
    stiff = precision(model, runs, ridge)
    tried: list[tuple[Fitted, Belief]] = []
    for _ in range(starts):
        theta = drawn_start(model, runs, generator)
        # A pole is drawn towards where it started, all else towards zero.
        mean = np.zeros_like(theta)
        mean[0, : 2 * model.modes] = theta[0, : 2 * model.modes]
        belief = Belief(mean, stiff)
        start = Fitted(theta, loss_of(model, runs, theta, belief))
        if np.isfinite(start.loss):
            tried.append((descended(model, runs, start, belief, steps=12), belief))
    tried.sort(key=lambda pair: pair[0].loss)
    ended = [
        (descended(model, runs, found, belief, steps=50), belief) for found, belief in tried[:2]
    ]
    return min(ended, key=lambda pair: pair[0].loss)


def moved(
    model: MovingPoles, runs: Runs, theta: Float[ndarray, "B Q"], ridge: float
) -> tuple[Fitted, Belief]:
    """From the parameters of a cheaper level, which are also where they are thought to lie."""
    belief = Belief(theta, precision(model, runs, ridge))
    start = Fitted(theta, loss_of(model, runs, theta, belief))
    return descended(model, runs, start, belief, steps=50), belief
