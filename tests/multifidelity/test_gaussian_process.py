"""Gaussian processes against brute force with matrices of all points at once."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mflno.errors import ArgumentError
from mflno.multifidelity.blend import Blend, blended
from mflno.multifidelity.gaussian_process import (
    GaussianProcess,
    Prior,
    conditioned,
    learned,
    objective,
    principal,
)
from mflno.multifidelity.kernel import Kernel

GENERATOR = np.random.default_rng(3)
ROWS = GENERATOR.uniform(-1, 1, (7, 2))
VALUES = np.stack([np.sin(ROWS @ [k, 2.0]) for k in range(1, 6)], axis=1)
ELSE = GENERATOR.uniform(-1, 1, (5, 2))
KERNEL = Kernel(((0, 1),), "matern52")
THETA = np.array([0.2, 0.5, np.log(1e-4)])


def dense(rows, others):
    return KERNEL(THETA, rows, others)


def noisy():
    return dense(ROWS, ROWS) + 1e-4 * np.eye(len(ROWS))


def test_objective_is_the_profiled_density_of_each_mode():
    modes, weights = principal(VALUES), np.array([1.0, 0.5, 0.2, 0.1, 0.05])
    found = objective(THETA, KERNEL, ROWS, modes, weights[: modes.shape[1]]).value
    wanted, count = 0.0, len(ROWS)
    for mode, weight in zip(modes.T, weights, strict=False):
        best = mode @ np.linalg.solve(noisy(), mode) / count
        density = multivariate_normal(np.zeros(count), best * noisy()).logpdf(mode)
        constant = 0.5 * count * (np.log(2 * np.pi) + 1 - np.log(count))
        wanted -= weight * (density + constant)
    assert found == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("shape", Kernel.SHAPES)
def test_gradient_of_the_objective(shape):
    kernel = Kernel(((0, 1), (1,)), shape, linear=(0,))
    theta = np.array([0.1, -0.3, 0.4, -0.2, 0.3, np.log(1e-3)])
    modes, weights = principal(VALUES), np.linspace(1, 0.2, principal(VALUES).shape[1])
    exact = objective(theta, kernel, ROWS, modes, weights).gradient
    for place, wanted in enumerate(exact):
        shift = 1e-5 * np.eye(len(theta))[place]
        above, below = (
            objective(theta + s, kernel, ROWS, modes, weights).value for s in (shift, -shift)
        )
        assert (above - below) / 2e-5 == pytest.approx(wanted, rel=1e-5, abs=1e-7)


def test_learning_finds_the_top_of_the_posterior():
    prior = Prior()
    theta = learned(KERNEL, ROWS, VALUES, prior=prior)
    center, spread = prior.moments(KERNEL)
    modes = principal(VALUES)
    weights = np.sqrt(np.square(modes).sum(0) / np.square(modes).sum())

    def height(at):
        off = (at - center) / spread
        return objective(at, KERNEL, ROWS, modes, weights).value + 0.5 * off @ off

    nearby = [theta + 0.3 * GENERATOR.standard_normal(3) for _ in range(50)]
    assert height(theta) < min(map(height, nearby))


def test_mean_and_covariance_are_those_of_the_joint_normal():
    process = conditioned(KERNEL, THETA, ROWS, VALUES)
    gain = dense(ELSE, ROWS) @ np.linalg.inv(noisy())
    assert np.abs(process.mean(ELSE) - gain @ VALUES).max() < 1e-9
    left = dense(ELSE, ELSE) - gain @ dense(ROWS, ELSE)
    assert np.abs(process.variance(ELSE) - np.diag(left)).max() < 1e-9
    outputs = VALUES.T @ np.linalg.inv(noisy()) @ VALUES / len(ROWS)
    assert np.abs(process.scale**2 - np.diag(outputs)).max() < 1e-9


def test_components_one_by_one_give_the_same_mean():
    vectors = np.linalg.svd(VALUES, full_matrices=False)[2]
    parts = [conditioned(KERNEL, THETA, ROWS, VALUES @ v[:, None]).mean(ELSE) for v in vectors]
    together = np.concatenate(parts, axis=1) @ vectors
    assert np.abs(together - conditioned(KERNEL, THETA, ROWS, VALUES).mean(ELSE)).max() < 1e-9


def test_left_out_is_conditioning_on_the_others():
    mean, variance = conditioned(KERNEL, THETA, ROWS, VALUES).left_out()
    for place in range(len(ROWS)):
        keep = np.arange(len(ROWS)) != place
        other = conditioned(KERNEL, THETA, ROWS[keep], VALUES[keep])
        assert np.abs(other.mean(ROWS[[place]])[0] - mean[place]).max() < 1e-9
        assert other.variance(ROWS[[place]])[0] == pytest.approx(variance[place], abs=1e-9)


def test_draws_have_the_posterior_mean_and_covariance():
    kernel = Kernel(((0, 1),), "matern52", linear=(0,))
    theta = np.array([0.2, 0.5, -0.5, np.log(1e-4)])
    process = conditioned(kernel, theta, ROWS, VALUES)
    count = 4000
    draws = process.draws(ELSE, range(count), seed=1)
    cross = kernel(theta, ELSE, ROWS) @ np.linalg.inv(
        kernel(theta, ROWS, ROWS) + 1e-4 * np.eye(7)
    )
    left = kernel(theta, ELSE, ELSE) - cross @ kernel(theta, ROWS, ELSE)
    outputs = process.whitened.T @ process.whitened
    error = draws.mean(0) / np.sqrt(np.outer(np.diag(left), np.diag(outputs)) / count)
    assert np.abs(error).max() < 4.5
    for output in range(5):
        found = np.cov(draws[:, :, output].T)
        # Waves of finite number: a few per cent of the prior, beside a Monte Carlo error of 2.
        assert np.abs(found / outputs[output, output] - left).max() < 0.15 * np.diag(left).max()


def test_errors_are_half_of_the_covariance_and_draws_have_it():
    errors = GENERATOR.standard_normal((7, 5)) * np.array([3.0, 1.0, 0.3, 2.0, 0.1])
    plain = conditioned(KERNEL, THETA, ROWS, VALUES)
    process = replace(plain, errors=errors / np.sqrt(7))
    inside = VALUES.T @ np.linalg.inv(noisy()) @ VALUES / 7
    outputs = (inside + errors.T @ errors / 7) / 2
    assert np.abs(process.scale**2 - np.diag(outputs)).max() < 1e-9
    assert np.array_equal(process.mean(ELSE), plain.mean(ELSE))
    count = 4000
    draws = process.draws(ELSE[:1], range(count), seed=2)[:, 0]
    found = draws.T @ draws / count / process.variance(ELSE[:1])
    # Waves of finite number: a few per cent of the prior, beside a Monte Carlo error of 2.
    size = np.sqrt(np.outer(np.diag(outputs), np.diag(outputs)))
    assert np.abs((found - outputs) / size).max() < 0.15
    assert np.abs((found - inside) / size).max() > 0.3


def test_a_draw_is_one_function():
    process = conditioned(KERNEL, THETA, ROWS, VALUES)
    many = process.draws(ELSE, range(5), seed=4)
    assert np.abs(process.draws(ELSE[1:3], [3], seed=4)[0] - many[3, 1:3]).max() < 1e-12
    assert np.abs(process.draws(ELSE, [3], seed=5)[0] - many[3]).max() > 1e-3


def test_draws_go_through_the_data():
    process = conditioned(KERNEL, np.array([0.2, 0.5, np.log(1e-10)]), ROWS, VALUES)
    assert np.abs(process.draws(ROWS, range(20), seed=0)).max() < 1e-3


def test_a_singular_covariance_gets_a_larger_nugget():
    rows = np.linspace(-1, 1, 30)[:, None]
    values = np.sin(3 * rows)
    smooth, theta = Kernel(((0,),), "se"), np.array([1.0, np.log(1e-25)])
    process = conditioned(smooth, theta, rows, values)
    assert process.theta[-1] > theta[-1]
    assert np.abs(process.mean(rows) - values).max() < 1e-2
    with pytest.raises((ArgumentError, ValueError)):
        conditioned(smooth, theta, rows * np.nan, values)


def test_huge_slopes_do_not_end_the_search():
    kernel, rows = Kernel(((0,),), "se", linear=(1, 2)), GENERATOR.uniform(-1, 1, (40, 3))
    modes = principal(rows[:, 1:] @ GENERATOR.standard_normal((2, 6)))
    theta = np.array([3.0, 9.0, np.log(1e-9)])
    found = objective(theta, kernel, rows, modes, np.ones(modes.shape[1]))
    assert np.isfinite(found.value)
    assert np.all(np.isfinite(found.gradient))


def test_process_survives_its_arrays():
    process = conditioned(Kernel(((0,), (1,)), "se", linear=(0, 1)), np.zeros(5), ROWS, VALUES)
    arrays, about = process.arrays("p")
    again = GaussianProcess.from_arrays(arrays, about, "p")
    assert np.array_equal(again.mean(ELSE), process.mean(ELSE))
    assert np.array_equal(again.variance(ELSE), process.variance(ELSE))


def test_blend_prefers_what_predicts_values_left_out():
    rows = np.linspace(-1, 1, 9)[:, None]
    smooth = np.stack([np.sin(2 * rows[:, 0]), np.cos(rows[:, 0])], axis=1)
    rough = np.cumsum(np.random.default_rng(1).standard_normal((9, 4)), axis=0)
    kernels = [Kernel(((0,),), "se"), Kernel(((0,),), "matern32")]
    assert blended(kernels, rows, smooth - smooth.mean(0)).weights[0] > 0.99
    assert blended(kernels, rows, rough - rough.mean(0)).weights[1] > 0.5


def test_blend_adds_what_its_processes_disagree_on():
    one, two = (conditioned(KERNEL, THETA, ROWS, factor * VALUES) for factor in (1.0, 2.0))
    mean, variance = Blend((one, two), np.array([0.25, 0.75])).law(ELSE)
    assert np.abs(mean - 1.75 * one.mean(ELSE)).max() < 1e-9
    within = np.outer(one.variance(ELSE), one.scale**2) * (0.25 + 0.75 * 4)
    between = 0.1875 * one.mean(ELSE) ** 2
    assert np.abs(variance - within - between).max() < 1e-9


def test_draws_of_a_blend_are_spread_like_its_law():
    one, two = (conditioned(KERNEL, THETA, ROWS, factor * VALUES) for factor in (1.0, 1.3))
    blend = Blend((one, two), np.array([0.4, 0.6]))
    draws = blend.draws(ELSE, 3000, seed=2)
    found = np.square(draws).mean(0).sum() / blend.law(ELSE)[1].sum()
    assert found == pytest.approx(1.0, abs=0.1)
    assert np.abs(blend.draws(ELSE[:2], 3, seed=2) - draws[:3, :2]).max() < 1e-12
