"""Ladders with data of their own in one buffer, and runs that start where others ended."""

import pytest
import torch

from mflno.bayes import (
    All,
    Cold,
    Constant,
    Corrected,
    DeepEnsemble,
    Drift,
    Final,
    Metropolis,
    Paper,
    Probe,
    ReplicaExchange,
    gaussian_energy,
    last_states,
    relative_loss,
)
from mflno.bayes.swag import SWAG
from mflno.errors import ArgumentError

GRID = torch.linspace(0.1, 1, 9, dtype=torch.float64)
CASES = 7


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


def curves(theta, batch):
    """θ₀ + θ₁ t + θ₂ n for case n."""
    case = torch.arange(CASES, dtype=theta.dtype) if batch is None else batch.to(theta.dtype)
    one, slope, each = (theta[:, k, None, None] for k in range(3))
    return one + slope * GRID + each * case[:, None] / CASES


def fitting(targets, chains):
    """The energy of ladders with a set of targets each: row r learns targets[r // K]."""

    def energy(theta, batch):
        own = targets[torch.arange(len(theta)) // chains]
        return relative_loss(
            curves(theta, batch), own if batch is None else own.index_select(1, batch)
        )

    return energy


TARGETS = curves(normal(4, 3, seed=1) + 2, None) + 0.1 * normal(4, CASES, len(GRID), seed=2)


@pytest.mark.parametrize("batch", [None, 3])
def test_ensembles_on_several_data_sets_at_once_are_those_trained_apart(batch):
    fit, start = DeepEnsemble(chains=2, steps=60, step_size=0.05, batch=batch), normal(8, 3)
    together = fit.sample(
        fitting(TARGETS, 2), start, cases=CASES, generator=seeded(3), show=False
    )
    for ladder in range(4):
        apart = fit.sample(
            fitting(TARGETS[ladder : ladder + 1], 2), start[2 * ladder : 2 * ladder + 2],
            cases=CASES, generator=seeded(3), show=False,
        )  # fmt: skip
        mine = together.where(together.ladder == ladder)
        torch.testing.assert_close(mine.theta, apart.theta, rtol=1e-10, atol=1e-12)
    other = fit.sample(
        fitting(TARGETS.flip(0), 2), start, cases=CASES, generator=seeded(3), show=False
    )
    assert float((other.theta - together.theta).abs().amax(1).min()) > 1e-3


def test_swaps_of_ladders_on_several_data_sets_are_those_of_ladders_apart():
    """At zero temperature the rule alone decides, so nothing is random."""
    ladder = ReplicaExchange(
        chains=3, steps=60, step_size=(0.01, 0.2), temperature=(0.0, 0.0),
        swap=Paper(0.3, window=2), collect=Final(),
    )  # fmt: skip
    start = normal(12, 3)
    together = ladder.sample(
        fitting(TARGETS, 3), start, cases=CASES, generator=seeded(3), show=False
    )
    assert bool(together.trace.swapped.any((0, 2)).all())
    for number in range(4):
        apart = ladder.sample(
            fitting(TARGETS[number : number + 1], 3), start[3 * number : 3 * number + 3],
            cases=CASES, generator=seeded(3), show=False,
        )  # fmt: skip
        assert torch.equal(apart.trace.swapped[:, 0], together.trace.swapped[:, number])
        mine = together.where(together.ladder == number)
        torch.testing.assert_close(mine.theta, apart.theta, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", [Metropolis(), Corrected(Probe(every=5))])
def test_each_ladder_samples_the_posterior_of_its_own_data_from_mini_batches(rule):
    """A mean under Gaussian errors: linear gradients, so batches leave its mean unbiased."""
    sets, copies, sigma = 3, 60, 1.5
    data = normal(sets, CASES, 1, seed=5) + torch.tensor([[[-2.0]], [[0.0]], [[3.0]]])

    def energy(theta, batch):
        # ladder l, of which there are `copies` in a row, has the data of set l // copies
        own = data[torch.arange(len(theta)) // (2 * copies)]
        own = own if batch is None else own.index_select(1, batch)
        guess = theta[:, None, :].expand(-1, own.shape[1], -1)
        return gaussian_energy(guess, own, sigma=sigma, cases=CASES)

    sampler = ReplicaExchange(
        chains=2, steps=1500, step_size=(0.03, 0.05), temperature=(1.0, 2.0), batch=3,
        drift=Drift(weight=0.0), schedule=Constant(), swap=rule, collect=Cold(0.2, 50),
    )  # fmt: skip
    start = data.mean(1).repeat_interleave(2 * copies, 0)
    draws = sampler.sample(energy, start, cases=CASES, generator=seeded(6), show=False)
    assert float(draws.trace.swapped.double().mean()) > 0.2
    by_ladder = draws.theta.view(-1, sets, copies).mean(0)
    error = by_ladder.std(1) / copies**0.5
    assert bool(((by_ladder.mean(1) - data.mean(1)[:, 0]).abs() < 3 * error).all())
    assert float(error.max()) < 0.04


def bowl(theta, batch):
    return (theta - 0.5).square().sum(-1)


def test_a_run_starts_where_another_ended():
    sampler = ReplicaExchange(chains=3, steps=40, step_size=(0.01, 0.05), collect=All(0.0, 7))
    first = sampler.sample(bowl, normal(6, 2), cases=1, generator=seeded(), show=False)
    states = last_states(first, normal(6, 2, seed=9))
    last = first.where(first.step == 40)
    assert torch.equal(states, last.theta)
    after = sampler.sample(bowl, states, cases=1, generator=seeded(1), show=False)
    assert torch.equal(after.trace.energy[0].flatten(), bowl(last.theta, None))


def test_a_chain_without_a_last_state_starts_afresh():
    start = normal(3, 2)
    start[1] = 1e200
    fit, fresh = DeepEnsemble(chains=3, steps=20), normal(3, 2, seed=9)
    draws = fit.sample(bowl, start, cases=1, generator=seeded(), show=False)
    states = last_states(draws, fresh)
    assert torch.equal(states[1], fresh[1])
    assert torch.equal(states[[0, 2]], draws.theta)
    ladder = ReplicaExchange(chains=3, steps=20, collect=Cold())
    cold = ladder.sample(bowl, normal(3, 2), cases=1, generator=seeded(), show=False)
    assert torch.equal(last_states(cold, fresh)[1:], fresh[1:])


def test_starts_that_do_not_fit_are_refused():
    fit = DeepEnsemble(chains=3, steps=20)
    draws = fit.sample(bowl, normal(3, 2), cases=1, generator=seeded(), show=False)
    for otherwise in (normal(2, 2), normal(3, 4)):
        with pytest.raises(ArgumentError, match="row for each chain"):
            last_states(draws, otherwise)
    around = SWAG(DeepEnsemble(3, 60, 0.05, collect=All(0.0, 1)))
    spread = around.sample(bowl, normal(3, 2), cases=1, generator=seeded(), show=False)
    with pytest.raises(ArgumentError, match="one last state"):
        last_states(spread, normal(3, 2))
