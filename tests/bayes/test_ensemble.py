"""A deep ensemble is its members trained apart; a broken member is left out."""

import pytest
import torch

from mflno.bayes import Inference, diagnosis, run_arrays, run_from
from mflno.bayes.collect import All
from mflno.bayes.ensemble import DeepEnsemble
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Constant, Cosine
from mflno.errors import ArgumentError

X = torch.linspace(-1, 1, 24, dtype=torch.float64)
Y = torch.sin(3 * X)


def net(theta, x):
    """One hidden layer of four; theta is [K, 12]."""
    hidden = torch.tanh(theta[:, 0:4, None] * x + theta[:, 4:8, None])
    return (theta[:, 8:12, None] * hidden).sum(1)


def energy(theta, batch):
    chosen = slice(None) if batch is None else batch
    return (net(theta, X[chosen]) - Y[chosen]).square().mean(-1)


def starts(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 12, generator=generator, dtype=torch.float64)


def sample(inference, theta0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return inference.sample(energy, theta0, cases=24, generator=generator, show=False)


def test_members_are_those_torch_adam_trains_one_by_one():
    draws = sample(DeepEnsemble(chains=3, steps=60, step_size=0.05), starts(3))
    for member, start in zip(draws.theta, starts(3), strict=True):
        theta = start.clone().requires_grad_()
        adam = torch.optim.Adam([theta], lr=0.05)
        for step in range(60):
            adam.param_groups[0]["lr"] = 0.05 * Cosine()(step, 60)
            adam.zero_grad()
            energy(theta[None], None).sum().backward()
            adam.step()
        torch.testing.assert_close(member, theta.detach(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("batch", [None, 6])
def test_together_or_apart_is_the_same(batch):
    """Members share mini-batches, so one alone with the same seed sees what it saw."""
    both = DeepEnsemble(chains=4, steps=40, batch=batch)
    together = sample(both, starts(4)).theta
    alone = DeepEnsemble(chains=1, steps=40, batch=batch)
    for row in range(4):
        apart = sample(alone, starts(4)[row : row + 1]).theta
        torch.testing.assert_close(apart[0], together[row], rtol=1e-10, atol=1e-12)


def test_plain_descent_is_gradient_descent_bit_for_bit():
    plain = DeepEnsemble(2, 30, 0.1, drift=Drift(weight=0.0), schedule=Constant())
    found, theta = sample(plain, starts(2)).theta, starts(2)
    for _ in range(30):
        theta.requires_grad_()
        (gradient,) = torch.autograd.grad(energy(theta, None).sum(), theta)
        theta = (theta - 0.1 * gradient).detach()
    assert torch.equal(found, theta)


def test_training_fits_and_provenance_is_complete():
    ensemble = DeepEnsemble(chains=2, steps=800, step_size=0.03, collect=All(0.5, 200))
    draws = sample(ensemble, starts(4))
    assert draws.ladder.unique().tolist() == [0, 1]
    assert draws.step.unique().tolist() == [600, 800]
    assert len(draws) == 8
    assert draws.temperature.abs().max() == 0
    last = energy(draws.where(draws.step == 800).theta, None)
    assert torch.all(last < 0.05 * energy(starts(4), None))
    assert diagnosis(draws.trace).findings == ()


def test_a_broken_member_is_left_out_and_spoils_no_other():
    theta0 = starts(3)
    theta0[1] = 1e200
    found = sample(DeepEnsemble(chains=3, steps=20), theta0)
    assert found.chain.tolist() == [0, 2]
    assert not found.trace.healthy[-1, 0, 1]
    sound = sample(DeepEnsemble(chains=3, steps=20), starts(3))
    assert torch.equal(found.theta, sound.theta[[0, 2]])


def test_all_broken_is_refused():
    with pytest.raises(ArgumentError, match="chain with finite energy"):
        sample(
            DeepEnsemble(chains=2, steps=20), torch.full((2, 12), 1e200, dtype=torch.float64)
        )


def test_resumed_run_is_the_uninterrupted_one():
    ensemble = DeepEnsemble(chains=3, steps=40, batch=6, collect=All(0.2, 5))
    whole = sample(ensemble, starts(3))
    generator = torch.Generator().manual_seed(1)
    run = ensemble.run.start(starts(3), cases=24, generator=generator)
    run = ensemble.run.proceed(energy, run, until=17, show=False)
    run = run_from(*run_arrays(run))
    rest = ensemble.run.finish(energy, ensemble.run.proceed(energy, run, until=40, show=False))
    assert torch.equal(rest.theta, whole.theta)
    assert torch.equal(rest.trace.energy, whole.trace.energy)


def test_bad_settings_are_refused():
    with pytest.raises(ArgumentError, match="chains"):
        DeepEnsemble(chains=0)
    with pytest.raises(ArgumentError, match="step_size"):
        DeepEnsemble(step_size=0.0)
    with pytest.raises(ArgumentError, match="rows for each ladder"):
        sample(DeepEnsemble(chains=2, steps=5), starts(3))
    inference: Inference = DeepEnsemble()
    assert inference.chains == 5
