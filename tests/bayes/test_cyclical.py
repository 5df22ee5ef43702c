"""Cyclical SGLD against the exact variance of its linear recursion."""

import numpy as np
import pytest
import torch

from mflno.bayes.cyclical import CycleEnds, CyclicalSGLD
from mflno.bayes.schedule import Cyclical
from mflno.errors import ArgumentError


def bowl(theta, batch):
    return 0.5 * theta.square().sum(-1)


def sample(sampler, energy, theta0, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return sampler.sample(energy, theta0, cases=1, generator=generator, show=False)


def exact_variances(sampler, start):
    """v ← (1 - η f)² v + 2 η f τ where the cycle samples, from the start's variance."""
    length, values = sampler.steps // sampler.cycles, {0: start}
    for step in range(sampler.steps):
        eta = sampler.step_size * Cyclical(sampler.cycles)(step, sampler.steps)
        noise = 2 * eta * sampler.temperature if step % length >= sampler.share * length else 0
        values[step + 1] = (1 - eta) ** 2 * values[step] + noise
    return values


def test_variance_at_each_draw_is_that_of_the_recursion():
    chains = 20_000
    sampler = CyclicalSGLD(
        chains=chains, steps=120, step_size=0.4, temperature=0.5, cycles=3, share=0.5,
        collect=CycleEnds(cycles=3, kept_each=2, thin=8),
    )  # fmt: skip
    start = torch.randn(chains, 2, generator=torch.Generator().manual_seed(3)).double()
    draws = sample(sampler, bowl, start)
    exact = exact_variances(sampler, 1.0)
    steps = draws.step.unique().tolist()
    assert steps == [32, 40, 72, 80, 112, 120]
    for step in steps:
        found = draws.theta[draws.step == step].var(0)
        assert torch.all((found - exact[step]).abs() < 4 * exact[step] * np.sqrt(2 / chains))


def test_descent_part_has_no_noise():
    start = torch.ones(5, 2).double()
    sampler = CyclicalSGLD(5, 100, 0.1, 1.0, cycles=2, share=0.8)
    energy = sample(sampler, bowl, start).trace.energy[:, 0]
    assert torch.equal(energy[:41], energy[:41, :1].expand(-1, 5))
    assert float(energy[41].std()) > 0
    # the next cycle descends from where each chain came to, each by the same factor
    torch.testing.assert_close(energy[90] / energy[50], (energy[90] / energy[50])[:1].expand(5))


def test_restarts_visit_both_modes_and_one_long_cycle_does_not():
    """A double well with walls too high for its temperature, too low for a large step."""

    def wells(theta, batch):
        return (theta.square() - 1).square().sum(-1)

    start = torch.full((200, 1), 1.0).double()
    settings = {"chains": 200, "steps": 1200, "temperature": 0.02}
    many = CyclicalSGLD(step_size=0.32, cycles=6, share=0.2, **settings)
    calm = CyclicalSGLD(step_size=0.02, cycles=1, share=0.2, **settings)
    crossed = (sample(many, wells, start).theta < 0).double().mean()
    stayed = (sample(calm, wells, start).theta < 0).double().mean()
    assert crossed > 0.05
    assert stayed == 0


def test_draws_are_spread_over_the_sampling_part_of_each_cycle():
    sampler = CyclicalSGLD(chains=1, steps=398, cycles=4, share=0.7)
    assert (sampler.length, sampler.quiet, sampler.sampling) == (100, 70, 28)
    draws = sample(sampler, bowl, torch.ones(1, 2).double())
    assert draws.step.tolist() == [82, 91, 100, 182, 191, 200, 282, 291, 300, 380, 389, 398]


@pytest.mark.parametrize("ends", [CycleEnds(4, 3, 10), CycleEnds(4, 21, 1), CycleEnds(3, 1, 1)])
def test_states_of_the_descent_are_no_draws(ends):
    with pytest.raises(ArgumentError, match=r"CyclicalSGLD\.collect"):
        CyclicalSGLD(steps=400, cycles=4, share=0.8, collect=ends)


def test_cycles_without_sampling_are_refused():
    with pytest.raises(ArgumentError, match="steps"):
        CyclicalSGLD(steps=8, cycles=4)
    with pytest.raises(ArgumentError, match="share"):
        CyclicalSGLD(share=1.0)
    with pytest.raises(ArgumentError, match="cycles"):
        CyclicalSGLD(cycles=0)
