"""A surrogate small enough for a web page: splines over the box, a few shapes over time.

Mean and spread are predicted on a regular grid of cases, written as a few shapes over time by
SVD, and the weights of the shapes are interpolated by tensor cubic splines,

    u(t; μ) = c(t) + Σ_r w_r(μ) v_r(t),    w_r(μ) = Σ_ij B_i(μ₁) B_j(μ₂) W_ijr

The grid is refined until it is good enough at cases that it has not seen. What is left of the
error is measured there, and told.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy import ndarray
from scipy.interpolate import BSpline, make_interp_spline
from scipy.stats import qmc

from mflno.errors import ArgumentError
from mflno.shapes import Float

Predict = Callable[[ndarray], tuple[ndarray, ndarray]]
"""Cases in [-1, 1] to mean and standard deviation, both `N O T`."""

SIZES = {1: (5, 9, 17, 33, 65, 129), 2: (5, 9, 17, 33), 3: (5, 9, 13)}
"""Nodes along each axis, for one, two and three parameters."""
MOST_RANK = 96
MOST_AXES = 3
CHECKS = 48


@dataclass(frozen=True)
class Factors:
    """Functions over the box and time as a few shapes and spline weights.

    Attributes:
        centre: c.
        shapes: v.
        weights: W, one axis for each parameter.
    """

    centre: Float[ndarray, " D"]
    shapes: Float[ndarray, "R D"]
    weights: ndarray


@dataclass(frozen=True)
class ExportError:
    """What the export gets wrong at cases between its nodes, the worst of them.

    Attributes:
        relative: Of the mean, relative L2.
        in_spread: Of the mean, root mean square, in units of σ's over the box.
        spread: Of the standard deviation, likewise.
        checks: How many cases were compared.
    """

    relative: float
    in_spread: float
    spread: float
    checks: int

    @property
    def enough(self) -> bool:
        """Whether nobody would see the difference on a page."""
        mean = self.relative <= 1e-3 and (self.in_spread <= 0.05 or self.relative <= 1e-5)
        return mean and self.spread <= 0.05


@dataclass(frozen=True)
class Export:
    """An interpolated surrogate over a box of one to three parameters.

    Attributes:
        knots: Of the cubic splines along each axis, in [-1, 1].
        mean: Of the predicted trajectories.
        spread: Of the standard deviation, or of its square.
        power: 2 where `spread` is of the square.
        shape: O and T.
        error: Measured against the surrogate itself.
    """

    knots: tuple[Float[ndarray, " K"], ...]
    mean: Factors
    spread: Factors
    power: int
    shape: tuple[int, int]
    error: ExportError | None = None

    def predict(
        self, cases: Float[ndarray, "N P"]
    ) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N O T"]]:
        """Mean and standard deviation as the page computes them."""
        mean = evaluated(self.knots, self.mean, cases)
        spread = evaluated(self.knots, self.spread, cases).clip(min=0.0) ** (1.0 / self.power)
        return mean.reshape(-1, *self.shape), spread.reshape(-1, *self.shape)


def exported(predict: Predict, axes: int, *, most: int = 2200) -> Export:
    """The coarsest export that is good enough, or the finest within `most` predictions.

    Args:
        predict: The surrogate.
        axes: How many parameters it has.
        most: Nodes of the grid at most.

    Example:
        >>> wave = lambda x: np.sin(x @ np.ones((2, 1)) + np.linspace(0, 9, 50))[:, None]
        >>> found = exported(lambda x: (wave(x), 0.01 + 0 * wave(x)), axes=2)
        >>> found.error.relative < 1e-3
        True
    """
    if not 1 <= axes <= MOST_AXES:
        remedy = "store single cases instead, `nearest`"
        raise ArgumentError("exported.axes", f"must be 1 to {MOST_AXES}", axes, remedy)
    checks = qmc.scale(qmc.Halton(axes, scramble=False).random(CHECKS + 1)[1:], -1, 1)
    truth = predict(checks)
    known: dict[bytes, tuple[ndarray, ndarray]] = {}
    best: Export | None = None
    for size in SIZES[axes]:
        if size**axes > most:
            break
        values = at_nodes(predict, size, axes, known)
        found = [compared(fitted(*values, size=size, power=p), checks, truth) for p in (1, 2)]
        best = min(found, key=lambda each: told(each).spread)
        if told(best).enough:
            break
    if best is None:
        rule, remedy = "must allow one grid", f"pass {5**axes} or more"
        raise ArgumentError("exported.most", rule, most, remedy)
    return best


def told(export: Export) -> ExportError:
    """The error of an export that was compared."""
    if export.error is None:
        raise ArgumentError("Export.error", "must be measured", None, "use `exported`")
    return export.error


def nodes(size: int, axes: int) -> Float[ndarray, "N P"]:
    """A regular grid over [-1, 1], the last parameter changing fastest."""
    # Rounded, so that a finer grid holds the bits of a coarser one's nodes.
    line = np.round(np.linspace(-1.0, 1.0, size), 12)
    return np.stack([each.ravel() for each in np.meshgrid(*[line] * axes, indexing="ij")], 1)


def at_nodes(
    predict: Predict, size: int, axes: int, known: dict[bytes, tuple[ndarray, ndarray]]
) -> tuple[ndarray, ndarray]:
    """Mean and spread at the nodes; what a coarser grid has is not asked for again."""
    cases = nodes(size, axes)
    fresh = [row for row, case in enumerate(cases) if case.tobytes() not in known]
    for row, mean, spread in zip(fresh, *predict(cases[fresh]), strict=True):
        known[cases[row].tobytes()] = mean.astype(np.float32), spread.astype(np.float32)
    pairs = [known[case.tobytes()] for case in cases]
    mean, spread = (np.stack(each).astype(float) for each in zip(*pairs, strict=True))
    return mean, spread


def fitted(mean: ndarray, spread: ndarray, *, size: int, power: int) -> Export:
    """Shapes and spline weights through the nodes."""
    axes = round(np.log(len(mean)) / np.log(size))
    line = np.round(np.linspace(-1.0, 1.0, size), 12)
    knots = make_interp_spline(line, np.zeros(size), k=3).t
    whole = float(np.sqrt(np.mean(mean**2)))
    # Finer than 2e-6 is below what single precision and a picture can show.
    tolerance = max(min(0.02 * float(np.sqrt(np.mean(spread**2))), 2e-4 * whole), 2e-6 * whole)
    flat = spread.reshape(len(spread), -1) ** power
    return Export(
        knots=(knots,) * axes,
        mean=factored(mean.reshape(len(mean), -1), line, tolerance),
        spread=factored(flat, line, 3e-3 * float(np.sqrt(np.mean(flat**2)))),
        power=power,
        shape=(mean.shape[1], mean.shape[2]),
    )


def factored(values: Float[ndarray, "N D"], line: ndarray, tolerance: float) -> Factors:
    """As few shapes as leave a root mean square error below the tolerance."""
    centre = values.mean(0)
    rest = values - centre
    # The smaller Gram matrix: its square root of rounding, 1e-8, is far below any tolerance.
    wide = len(rest) <= rest.shape[1]
    squares, vectors = np.linalg.eigh(rest @ rest.T if wide else rest.T @ rest)
    left = np.sqrt(np.cumsum(squares.clip(min=0.0)) / values.size)
    rank = int(np.clip((left > tolerance).sum(), 1, min(MOST_RANK, len(squares))))
    leading = vectors[:, : -rank - 1 : -1]
    shapes = np.linalg.qr(rest.T @ leading)[0].T if wide else leading.T
    axes = round(np.log(len(values)) / np.log(len(line)))
    weights = (rest @ shapes.T).reshape(*[len(line)] * axes, rank)
    for axis in range(axes):
        spline = make_interp_spline(line, weights, k=3, axis=axis)
        weights = np.moveaxis(spline.c, 0, axis)
    kept = (each.astype(np.float32) for each in (centre, shapes, weights))
    return Factors(*kept)


def evaluated(
    knots: tuple[ndarray, ...], factors: Factors, cases: Float[ndarray, "N P"]
) -> Float[ndarray, "N D"]:
    """The interpolated functions at some cases."""
    rows = [basis_rows(each, cases[:, axis]) for axis, each in enumerate(knots)]
    # One axis at a time, N kept in front: [N, n, m, R] -> [N, m, R] -> [N, R].
    start = np.broadcast_to(factors.weights, (len(cases), *factors.weights.shape))
    weights = reduce(lambda left, row: np.einsum("nk,nk...->n...", row, left), rows, start)
    return factors.centre + weights @ factors.shapes


def basis_rows(knots: Float[ndarray, " K"], x: Float[ndarray, " N"]) -> Float[ndarray, "N n"]:
    """The cubic B-splines at each place; a place outside counts as on the border."""
    return BSpline.design_matrix(np.clip(x, -1.0, 1.0), knots, 3).toarray()


def compared(
    export: Export, cases: Float[ndarray, "N P"], truth: tuple[ndarray, ndarray]
) -> Export:
    """The same export with its worst error at these cases."""
    size = lambda values: np.sqrt(np.mean(np.square(values), axis=(1, 2)))
    (mean, spread), (true_mean, true_spread) = export.predict(cases), truth
    tiny = np.finfo(float).tiny
    missed = size(mean - true_mean)
    width = float(np.sqrt(np.mean(true_spread**2))) + tiny
    error = ExportError(
        relative=float((missed / (size(true_mean) + tiny)).max()),
        in_spread=float((missed / width).max()),
        spread=float((size(spread - true_spread) / width).max()),
        checks=len(cases),
    )
    shape = export.shape
    return Export(export.knots, export.mean, export.spread, export.power, shape, error)
