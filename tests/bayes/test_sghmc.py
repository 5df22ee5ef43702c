"""SGHMC against the stationary law of its own discretisation, in closed form."""

import numpy as np
import pytest
import torch
from scipy.linalg import solve_discrete_lyapunov

from mflno.bayes.collect import Final
from mflno.bayes.ensemble import DeepEnsemble
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Constant
from mflno.bayes.sghmc import SGHMC
from mflno.errors import ArgumentError


def bowl(stiffness):
    return lambda theta, batch: 0.5 * (stiffness * theta.square()).sum(-1)


def sample(sampler, energy, theta0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return sampler.sample(energy, theta0, cases=1, generator=generator, show=False)


def law(k, eta, tau, alpha):
    return tau / (k * (1 - eta * k / (4 - 2 * alpha)))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("eta_k", [0.01, 0.5])
def test_closed_form_solves_the_lyapunov_equation(alpha, eta_k):
    """Covariance of (θ, v) under the linear recursion, solved numerically."""
    move = np.array([[1 - eta_k, 1 - alpha], [-eta_k, 1 - alpha]])
    noise = 2 * alpha * eta_k * np.ones((2, 2))
    covariance = solve_discrete_lyapunov(move, noise)
    assert covariance[0, 0] == pytest.approx(law(1.0, eta_k, 1.0, alpha))


@pytest.mark.parametrize(("alpha", "eta"), [(0.1, 0.05), (0.3, 0.4), (1.0, 0.6)])
def test_stationary_variance_is_the_closed_form(alpha, eta):
    tau, count = 0.7, 100_000
    stiffness = torch.tensor([1.0, 0.5], dtype=torch.float64)
    exact = torch.tensor([law(float(k), eta, tau, alpha) for k in stiffness])
    # the start has the law of θ but no velocity: a dozen relaxation times
    steps = int(24 / alpha) + 40
    sampler = SGHMC(
        count, steps, eta, temperature=tau, friction=alpha, collect=Final()
    )  # fmt: skip
    start = torch.randn(count, 2, generator=torch.Generator().manual_seed(5)).double()
    draws = sample(sampler, bowl(stiffness), start * exact.sqrt())
    error = exact * np.sqrt(2 / count)
    assert torch.all((draws.theta.var(0) - exact).abs() < 3 * error)
    assert torch.all(draws.theta.mean(0).abs() < 3 * (exact / count).sqrt())
    assert torch.all(torch.corrcoef(draws.theta.T)[0, 1].abs() < 3 / np.sqrt(count))


def test_zero_temperature_is_momentum_descent():
    start = torch.randn(3, 4, generator=torch.Generator().manual_seed(1)).double()
    found = sample(SGHMC(3, 50, 0.02, 0.0, 0.2, collect=Final()), bowl(2.0), start).theta
    theta = start.clone().requires_grad_()
    momentum = torch.optim.SGD([theta], lr=0.02, momentum=0.8)
    for _ in range(50):
        momentum.zero_grad()
        bowl(2.0)(theta, None).sum().backward()
        momentum.step()
    torch.testing.assert_close(found, theta.detach())


def test_full_friction_without_noise_is_gradient_descent():
    start = torch.ones(2, 3).double()
    settings = {"steps": 20, "step_size": 0.05, "collect": Final()}
    descent = DeepEnsemble(2, drift=Drift(weight=0.0), schedule=Constant(), **settings)
    full = SGHMC(2, temperature=0.0, friction=1.0, **settings)
    found, known = (sample(each, bowl(1.5), start).theta for each in (full, descent))
    torch.testing.assert_close(found, known)


def test_friction_outside_its_range_is_refused():
    for friction in (0.0, 1.5):
        with pytest.raises(ArgumentError, match="friction"):
            SGHMC(friction=friction)
    with pytest.raises(ArgumentError, match="temperature"):
        SGHMC(temperature=-1.0)
