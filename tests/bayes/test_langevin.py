"""The move of every chain: limits that are exact, and the stationary law it has."""

import pytest
import torch

from mflno.bayes import SGHMC, All, Constant, Drift, Final, Never, Polynomial, ReplicaExchange
from mflno.bayes.targets import Bowl
from mflno.errors import ArgumentError


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def wavy(theta, batch):
    return (theta.square() + torch.sin(3 * theta) * theta.roll(1, -1)).sum(-1)


def slope_of(theta):
    theta = theta.detach().requires_grad_()
    return torch.autograd.grad(wavy(theta, None).sum(), theta)[0]


def colder(**fields):
    settings = {
        "temperature": (0.0, 0.0), "step_size": (0.01, 0.05), "schedule": Constant(),
        "swap": Never(), "collect": Final(), "steps": 40, "chains": 3,
    }  # fmt: skip
    return ReplicaExchange(**{**settings, **fields})


def test_cold_step_without_adaptive_drift_is_gradient_descent_bit_for_bit():
    start = torch.randn(3, 5, generator=seeded())
    draws = colder(drift=Drift(weight=0.0)).sample(
        wavy, start, cases=1, generator=seeded(), show=False
    )
    eta = draws.trace.step_size[0]
    theta = start.clone()
    for _ in range(40):
        theta = theta - eta[:, None] * slope_of(theta)
    assert torch.equal(draws.theta, theta)


@pytest.mark.parametrize("unbiased", [False, True])
def test_cold_adaptive_step_is_the_loop_of_equations_14_and_15(unbiased):
    start = torch.randn(3, 5, generator=seeded(), dtype=torch.float64)
    drift = Drift(weight=0.3, first=0.8, second=0.95, floor=1e-3, unbiased=unbiased)
    draws = colder(drift=drift).sample(wavy, start, cases=1, generator=seeded(), show=False)
    for chain in range(3):
        theta, m, v = start[chain : chain + 1], 0.0, 0.0
        for i in range(1, 41):
            g = slope_of(theta)
            m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
            fair = (m / (1 - 0.8**i), v / (1 - 0.95**i)) if unbiased else (m, v)
            push = g + 0.3 * fair[0] / (fair[1] ** 0.5 + 1e-3)
            theta = theta - 0.01 * 5 ** (chain / 2) * push
        torch.testing.assert_close(draws.theta[chain : chain + 1], theta, rtol=1e-9, atol=1e-12)


def test_drift_alone_with_bias_correction_is_adam():
    start = torch.randn(1, 4, generator=seeded())
    drift = Drift(weight=1.0, gradient=0.0, unbiased=True)
    sampler = colder(chains=1, drift=drift, step_size=(0.01, 0.01))
    draws = sampler.sample(wavy, start, cases=1, generator=seeded(), show=False)
    theta = start.clone().requires_grad_()
    adam = torch.optim.Adam([theta], lr=0.01)
    for _ in range(40):
        adam.zero_grad()
        wavy(theta, None).sum().backward()
        adam.step()
    torch.testing.assert_close(draws.theta, theta.detach(), rtol=1e-5, atol=1e-6)


def test_clip_shortens_each_chain_by_itself():
    gradient = torch.tensor([[3.0, 4.0], [0.3, 0.4]])
    drift = Drift(weight=0.0, clip=1.0)
    push = drift(gradient, gradient, gradient, torch.tensor(0))[2]
    torch.testing.assert_close(push, torch.tensor([[0.6, 0.8], [0.3, 0.4]]))


def test_noise_is_independent_per_entry_with_variance_two_eta_tau():
    flat = lambda theta, batch: 0.0 * theta.sum(-1)
    sampler = ReplicaExchange(
        chains=2, steps=1, step_size=(0.02, 0.08), temperature=(0.5, 2.0),
        drift=Drift(weight=0.0), schedule=Constant(), collect=Final(),
    )  # fmt: skip
    count = 40_000
    draws = sampler.sample(
        flat, torch.zeros(2 * count, 3), cases=1, generator=seeded(), show=False
    )
    moves = torch.cat([draws.theta[draws.chain == k] for k in (0, 1)], 1)
    covariance = torch.cov(moves.T)
    wanted = torch.tensor([0.02] * 3 + [0.32] * 3)
    size = torch.sqrt(wanted[:, None] * wanted / count) * torch.sqrt(1 + torch.eye(6))
    assert bool(((covariance - torch.diag(wanted)).abs() < 4.5 * size).all())


FALLING = Polynomial(delay=1.0, power=1.0)
FLAT = {"steps": 10, "schedule": FALLING, "collect": Final()}


@pytest.mark.parametrize(
    "sampler",
    [
        ReplicaExchange(
            chains=2, step_size=(0.1, 0.4), temperature=(0.5, 2.0), swap=Never(), **FLAT
        ),
        SGHMC(chains=2, step_size=0.1, temperature=0.5, friction=1.0, **FLAT),
    ],
)
def test_noise_follows_the_schedule(sampler):
    """Where nothing pulls, the variance is 2 τ Σ η_i, with η_i as the schedule has it then."""
    count = 20_000
    draws = sampler.sample(
        lambda theta, batch: 0.0 * theta.sum(-1), torch.zeros(2 * count, 2), cases=1,
        generator=seeded(), show=False,
    )  # fmt: skip
    total = sum(1 / (1 + i) for i in range(10))
    for chain, (eta, tau) in enumerate(((0.1, 0.5), (0.4, 2.0))):
        if isinstance(sampler, SGHMC):
            eta, tau = 0.1, 0.5
        wanted = 2 * tau * eta * total
        found = float(draws.theta[draws.chain == chain].square().mean())
        assert abs(found - wanted) < 3 * wanted * (2 / (2 * count)) ** 0.5


@pytest.mark.parametrize("stiffness", [0.02, 0.2, 0.6, 1.2])
def test_gaussian_law_has_the_variance_of_its_step_size(stiffness):
    k, tau, chains, size = 4.0, 0.3, 50, 400
    eta = stiffness / k
    law = Bowl(k)
    wanted = law.variance(eta, tau)
    start = wanted**0.5 * torch.randn(chains, size, generator=seeded(1))
    sampler = ReplicaExchange(
        chains=1, steps=600, step_size=(eta, eta), temperature=(tau, tau),
        drift=Drift(weight=0.0), schedule=Constant(), collect=All(burn=0.0, thin=30),
    )  # fmt: skip
    draws = sampler.sample(law, start, cases=1, generator=seeded(2), show=False)
    # Every coordinate of every chain is one independent repetition.
    estimates = draws.theta.view(-1, chains, size).square().mean(0).flatten()
    error = float(estimates.std()) / len(estimates) ** 0.5
    assert abs(float(estimates.mean()) - wanted) < 3 * error
    assert 3 * error < 0.04 * wanted


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_adaptive_drift_narrows_by_its_law(share):
    """Curvature k becomes k + a/σ' with σ' the spread that results: s² + rs = 1, r = a/(kσ)."""
    k, tau, eta = 1.0, 1.0, 0.1
    drift = Drift(weight=share * k * (tau / k) ** 0.5, first=0.0, second=0.999)
    narrow = (-share + (share**2 + 4) ** 0.5) / 2
    stiff = k / narrow**2
    wanted = tau / (stiff * (1 - eta * stiff / 2))
    start = narrow * torch.randn(20, 200, generator=seeded(3))
    sampler = ReplicaExchange(
        chains=1, steps=3000, step_size=(eta, eta), temperature=(tau, tau), drift=drift,
        schedule=Constant(), swap=Never(), collect=All(burn=0.6, thin=30),
    )  # fmt: skip
    draws = sampler.sample(Bowl(k), start, cases=1, generator=seeded(4), show=False)
    ratio = float(draws.theta.square().mean()) / wanted
    assert ratio == pytest.approx(1.0, abs=0.03)
    assert wanted < 0.96 * tau / k


def test_bad_drift_is_refused():
    with pytest.raises(ArgumentError, match=r"Drift\.clip"):
        Drift(clip=0.0)
    with pytest.raises(ArgumentError, match="in \\[0, 1\\)"):
        Drift(first=1.0)
