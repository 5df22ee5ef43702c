"""Covariances and their gradients."""

import numpy as np
import pytest
from scipy.special import gamma, kv

from mflno.errors import ArgumentError
from mflno.multifidelity.kernel import Kernel, correlation, spectral_rows

ROWS = np.random.default_rng(0).uniform(-1, 1, (6, 4))
KERNELS = [
    Kernel(terms, shape, linear=linear)
    for shape in Kernel.SHAPES
    for terms, linear in [
        (((0, 1),), ()),
        (((0, 1, 2), (1, 3)), ()),
        (((0, 1), (2,)), (2, 3)),
    ]
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient_is_that_of_finite_differences(kernel):
    theta = np.random.default_rng(1).normal(0.0, 0.4, kernel.size)
    matrix, slopes = kernel.gradient(theta, ROWS)
    assert len(slopes) == kernel.size
    step = 1e-6
    for place in range(kernel.size):
        shift = step * np.eye(kernel.size)[place]
        above, below = (kernel.gradient(theta + s, ROWS)[0] for s in (shift, -shift))
        assert np.abs((above - below) / (2 * step) - slopes[place]).max() < 1e-8
    own = kernel(theta, ROWS, ROWS) + kernel.nugget(theta) * np.eye(len(ROWS))
    assert np.abs(own - matrix).max() < 1e-14
    assert (
        np.abs(np.diag(kernel(theta, ROWS, ROWS)) - kernel.diagonal(theta, ROWS)).max() < 1e-14
    )
    assert np.linalg.eigvalsh(matrix).min() > 0


@pytest.mark.parametrize(("shape", "order"), [("matern32", 1.5), ("matern52", 2.5)])
def test_matern_shapes_are_bessel_functions(shape, order):
    distance = np.linspace(0.01, 4.0, 50)
    reach = np.sqrt(2 * order) * distance
    exact = 2 ** (1 - order) / gamma(order) * reach**order * kv(order, reach)
    assert np.abs(correlation(shape, distance**2) - exact).max() < 1e-12


@pytest.mark.parametrize("shape", Kernel.SHAPES)
def test_spectral_rows_give_the_correlation_back(shape):
    lengths, gap = np.array([0.7, 1.5]), np.array([0.5, -0.8])
    rows = spectral_rows(shape, lengths, 4096, np.random.default_rng(2))
    exact = correlation(shape, np.square(gap / lengths).sum(keepdims=True))[0]
    assert abs(np.cos(rows @ gap).mean() - exact) < 3e-3


def test_unknown_shape_is_refused():
    with pytest.raises(ArgumentError, match="matern52"):
        Kernel(((0,),), "cubic")
