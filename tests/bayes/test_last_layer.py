"""Last-layer Laplace is the exact posterior of a linear model, its evidence the true one."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.optimize import minimize

from mflno.bayes.last_layer import LastLayer, linear_posterior
from mflno.errors import ArgumentError


def problem(count=40, width=5, noise=0.3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)
    x, w = draw(count, width), 0.7 * draw(width)
    return x, x @ w + noise * draw(count)


def marginal(x, y, noise, prior):
    """log p(y) straight from its definition: y is Gaussian, X Xᵀ / α + I / β."""
    cov = prior**2 * (x @ x.T).numpy() + noise**2 * np.eye(len(y))
    return stats.multivariate_normal(np.zeros(len(y)), cov).logpdf(y.numpy())


@pytest.mark.parametrize("noise", [None, 0.2])
def test_posterior_and_evidence_are_those_of_the_definition(noise):
    x, y = problem()
    law = linear_posterior(x, y, noise=noise)
    assert law.evidence == pytest.approx(marginal(x, y, law.noise, law.prior), rel=1e-9)
    precision = torch.eye(5) / law.prior**2 + x.T @ x / law.noise**2
    torch.testing.assert_close(law.covariance, torch.linalg.inv(precision))
    torch.testing.assert_close(law.mean, torch.linalg.solve(precision, x.T @ y / law.noise**2))


def test_precisions_are_those_of_largest_evidence():
    x, y = problem(seed=3)
    law = linear_posterior(x, y)
    lost = lambda logs: -marginal(x, y, *np.exp(logs))
    found = minimize(lost, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6})
    np.testing.assert_allclose([law.noise, law.prior], np.exp(found.x), rtol=1e-3)
    assert law.evidence >= -found.fun - 1e-6


def test_noise_is_recovered_from_many_data():
    law = linear_posterior(*problem(count=4000, noise=0.3, seed=5))
    assert law.noise == pytest.approx(0.3, abs=3 * 0.3 / np.sqrt(8000))


def test_predictive_is_the_law_of_the_draws():
    x, y = problem()
    law = linear_posterior(x, y)
    draws = law.draw(100_000, torch.Generator().manual_seed(1)) @ x[:4].T
    mean, std = law.predictive(x[:4])
    assert torch.all((draws.mean(0) - mean).abs() < 4 * std / np.sqrt(100_000))
    assert torch.all((draws.std(0) / std - 1).abs() < 4 / np.sqrt(200_000))


def net(theta):
    """Hidden weights in columns 0-2, last layer in 3-5, bias in 6."""
    grid = torch.linspace(-1, 1, 20, dtype=theta.dtype).reshape(4, 5)
    hidden = torch.tanh(theta[:, 0:3, None, None] * grid)
    return (theta[:, 3:6, None, None] * hidden).sum(1) + theta[:, 6, None, None]


def test_draws_behind_the_door_have_the_exact_law():
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(2, 7, generator=generator, dtype=torch.float64)
    targets = torch.sin(torch.linspace(-1, 1, 20).double() * 2).reshape(4, 5)
    targets = targets + 0.05 * torch.randn(4, 5, generator=generator)
    columns = torch.tensor([3, 4, 5, 6])
    layer = LastLayer(net, targets, columns, draws=20_000, temperature=4.0)
    energy = lambda theta, batch: theta.sum(-1)
    draws = layer.sample(energy, theta, cases=4, generator=generator, show=False)
    assert draws.ladder.bincount().tolist() == [20_000, 20_000]
    for row in range(2):
        grid = torch.linspace(-1, 1, 20).double()
        features = torch.tanh(theta[row, :3, None] * grid).T
        features = torch.cat([features, torch.ones(20, 1)], 1)
        law = linear_posterior(features, targets.reshape(-1))
        mine = draws.theta[draws.ladder == row]
        assert torch.equal(mine[:, :3], theta[row, :3].expand(20_000, 3))
        gap = torch.cov(mine[:, 3:].T) - 4 * law.covariance
        deviation = law.covariance.diag().sqrt()
        scale = 4 * torch.outer(deviation, deviation) * np.sqrt(2 / 20_000)
        assert torch.all(gap.abs() < 4 * scale)
        error = 2 * deviation / np.sqrt(20_000)
        assert torch.all((mine[:, 3:].mean(0) - law.mean).abs() < 4 * error)


def test_parameters_that_enter_nonlinearly_are_refused():
    targets = torch.ones(4, 5, dtype=torch.float64)
    layer = LastLayer(net, targets, torch.tensor([0, 3]))
    with pytest.raises(ArgumentError, match="must be linear"):
        layer.posterior(torch.ones(7, dtype=torch.float64))


def test_nothing_to_learn_is_refused():
    with pytest.raises(ArgumentError, match="all zero"):
        linear_posterior(torch.ones(4, 2), torch.zeros(4))
