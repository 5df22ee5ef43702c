"""Covariance of functions over cases: stationary terms, a trend, a nugget; with gradients."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy import ndarray
from scipy import special
from scipy.stats import qmc

from mflno.errors import ArgumentError
from mflno.shapes import Float


@dataclass(frozen=True)
class Kernel:
    """A covariance over rows of numbers, up to a factor.

    ```
    k(x, x') = c + b² Σ_d x_d x'_d + Σ_j w_j² s(r_j),    r_j² = Σ_d ((x_d - x'_d) / ℓ_jd)²
    se: s = e^(-r²/2)
    matern52: s = (1 + a + a²/3) e^-a, a = √5 r
    matern32: s = (1 + a) e^-a, a = √3 r
    ```

    The first term has weight 1: the factor in front of all is estimated apart. What is learnt
    is θ: logarithms of every ℓ, of the weights from the second term on, of b where there are
    columns with a slope, of the nugget.

    Args:
        terms: The columns each term sees.
        shape: One of `SHAPES`.
        constant: Prior variance c of an unknown level.
        linear: Columns with a slope of prior deviation b.

    Example:
        >>> Kernel(((0, 1),)).size
        3
    """

    SHAPES: ClassVar = ("se", "matern52", "matern32")

    terms: tuple[tuple[int, ...], ...]
    shape: str = "se"
    constant: float = 1.0
    linear: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a shape that is not known."""
        if self.shape not in self.SHAPES:
            rule = f"must be one of {', '.join(self.SHAPES)}"
            raise ArgumentError("Kernel.shape", rule, repr(self.shape), "pass 'se'")

    @property
    def lengths(self) -> int:
        """How many lengthscales there are."""
        return sum(map(len, self.terms))

    @property
    def size(self) -> int:
        """How many numbers θ has."""
        return self.lengths + len(self.terms) + bool(self.linear)

    def slope(self, theta: Float[ndarray, " H"]) -> float:
        """Prior variance b² of the slopes."""
        return float(np.exp(2.0 * theta[-2])) if self.linear else 0.0

    def nugget(self, theta: Float[ndarray, " H"]) -> float:
        """What stands on the diagonal beside the covariance."""
        return float(np.exp(theta[-1]))

    def scales(self, theta: Float[ndarray, " H"]) -> list[tuple[float, ndarray]]:
        """Squared weight and lengthscales of each term."""
        cuts = np.cumsum([len(term) for term in self.terms])
        lengths = np.split(np.exp(theta[: cuts[-1]]), cuts[:-1])
        weights = np.concatenate(
            [[1.0], np.exp(2.0 * theta[cuts[-1] : self.size - 1 - bool(self.linear)])]
        )
        return [(float(w), each) for w, each in zip(weights, lengths, strict=True)]

    def __call__(
        self,
        theta: Float[ndarray, " H"],
        left: Float[ndarray, "N D"],
        right: Float[ndarray, "M D"],
    ) -> Float[ndarray, "N M"]:
        """Covariance of every left row with every right one, without the nugget."""
        total = self.constant + self.slope(theta) * self.products(left, right)
        for term, (weight, lengths) in zip(self.terms, self.scales(theta), strict=True):
            columns = list(term)
            total += weight * correlation(
                self.shape, squares(left[:, columns] / lengths, right[:, columns] / lengths)
            )
        return total

    def diagonal(self, theta: Float[ndarray, " H"], rows: ndarray) -> Float[ndarray, " N"]:
        """Prior variance at every row."""
        total = self.constant + sum(weight for weight, _ in self.scales(theta))
        return total + self.slope(theta) * np.square(rows[:, list(self.linear)]).sum(1)

    def products(self, left: ndarray, right: ndarray) -> Float[ndarray, "N M"]:
        """Σ_d x_d x'_d over the columns with a slope."""
        return left[:, list(self.linear)] @ right[:, list(self.linear)].T

    def gradient(
        self, theta: Float[ndarray, " H"], rows: Float[ndarray, "N D"]
    ) -> tuple[Float[ndarray, "N N"], Float[ndarray, "H N N"]]:
        """Covariance of the rows, nugget included, and its derivatives by θ."""
        trend = self.slope(theta) * self.products(rows, rows)
        total, parts, weights = self.constant + trend, [], []
        for term, (weight, lengths) in zip(self.terms, self.scales(theta), strict=True):
            reach = rows[:, list(term)] / lengths
            gaps = np.square(reach[:, None] - reach[None]).transpose(2, 0, 1)
            shares, slopes = correlation_slope(self.shape, gaps.sum(0))
            total += weight * shares
            parts.append(-2.0 * weight * slopes * gaps)
            weights.append(2.0 * weight * shares[None])
        diagonal = self.nugget(theta) * np.eye(len(rows))
        last = [2.0 * trend[None], diagonal[None]] if self.linear else [diagonal[None]]
        return total + diagonal, np.concatenate([*parts, *weights[1:], *last])


def squares(left: Float[ndarray, "N D"], right: Float[ndarray, "M D"]) -> Float[ndarray, "N M"]:
    """Squared distances; by differences, since rounding of a² + b² - 2ab would not be small."""
    total = np.zeros((len(left), len(right)))
    for a, b in zip(left.T, right.T, strict=True):
        total += np.square(a[:, None] - b[None])
    return total


def correlation(shape: str, square: ndarray) -> ndarray:
    """Correlation at a squared distance."""
    return correlation_slope(shape, square)[0]


def correlation_slope(shape: str, square: ndarray) -> tuple[ndarray, ndarray]:
    """Correlation at a squared distance, and its derivative by the squared distance."""
    if shape == "se":
        value = np.exp(-0.5 * square)
        return value, -0.5 * value
    distance = sqrt(5.0 if shape == "matern52" else 3.0) * np.sqrt(square)
    fading = np.exp(-distance)
    if shape == "matern32":
        return (1.0 + distance) * fading, -1.5 * fading
    value = (1.0 + distance + distance**2 / 3.0) * fading
    return value, -5.0 / 6.0 * (1.0 + distance) * fading


def spectral_rows(
    shape: str, lengths: Float[ndarray, " D"], count: int, generator: np.random.Generator
) -> Float[ndarray, "F D"]:
    """Frequencies that fill the spectral density of a term evenly (Bochner, by Sobol points).

    Gaussian for `se`; for a Matérn of order ν a Student law with 2ν degrees of freedom.
    """
    sobol = qmc.Sobol(len(lengths) + 1, scramble=True, rng=generator)
    places = sobol.random_base2(int(np.log2(count)))
    rows = special.ndtri(places[:, 1:]) / lengths
    if shape == "se":
        return rows
    order = 2.5 if shape == "matern52" else 1.5
    squares = 2.0 * special.gammaincinv(order, places[:, :1])
    return rows * np.sqrt(2.0 * order / squares)
