"""The law a ladder samples: two far modes, noisy energies, and simulation-based calibration.

A ladder's repetitions are independent, so the Monte Carlo error is their spread.
"""

from itertools import pairwise

import pytest
import torch
from scipy.stats import chi2

from mflno.bayes import (
    Cold,
    Constant,
    Corrected,
    Drift,
    Metropolis,
    Never,
    Paper,
    Probe,
    ReplicaExchange,
    Window,
    gaussian_energy,
    gaussian_prior,
)
from mflno.bayes.targets import Mixture, Noisy

MIXTURE = Mixture()
ENERGY = 1.533


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def cold_law(rule, *, noise=0.0, ladders=400, steps=2400, start=3.0, finer=1):
    """Weight of the left mode and E[U] of the coldest chain, each with its error.

    Steps of this size shift the law by their own amount (0.010 of weight, 0.012 of E[U]);
    `finer` divides the step size, multiplies the steps and so shrinks the shift.
    """
    sampler = ReplicaExchange(
        chains=3, steps=steps * finer, step_size=(0.004 / finer, 0.03 / finer),
        temperature=(1.0, 10.0), swap=rule, drift=Drift(weight=0.0), schedule=Constant(),
        collect=Cold(burn=0.5, thin=50 * finer),
    )  # fmt: skip
    energy = Noisy(MIXTURE, noise, seeded(7)) if noise else MIXTURE
    first = torch.full((3 * ladders, 1), start)
    draws = sampler.sample(energy, first, cases=1, generator=seeded(11), show=False)
    x, exact = draws.theta.view(-1, ladders), MIXTURE(draws.theta, None).view(-1, ladders)
    return [measured((x < 0).float()), measured(exact)]


def measured(values):
    by_ladder = values.mean(0)
    return float(by_ladder.mean()), float(by_ladder.std()) / len(by_ladder) ** 0.5


def recovers(law):
    (weight, weight_error), (energy, energy_error) = law
    return abs(weight - 0.4) < 3 * weight_error and abs(energy - ENERGY) < 3 * energy_error


def test_metropolis_recovers_both_modes_and_their_energy():
    law = cold_law(Metropolis(), finer=2)
    assert recovers(law)
    assert law[0][1] < 0.012
    assert law[1][1] < 0.015


def test_without_swaps_the_cold_chain_never_leaves_its_mode():
    law = cold_law(Never(), steps=500)
    assert not recovers(law)
    assert law[0][0] == 0.0


def test_corrected_recovers_the_law_under_noisy_energies_and_naive_metropolis_does_not():
    assert recovers(cold_law(Corrected(Probe(every=5)), noise=2.0, finer=2))
    naive = cold_law(Metropolis(), noise=2.0)
    assert not recovers(naive)
    # Over-dispersed: both the lesser mode and the energy are overrated.
    assert naive[0][0] > 0.44
    assert naive[1][0] > 1.7


@pytest.mark.parametrize("rule", [Paper(0.2), Window(0.2)])
def test_deterministic_rules_narrow_the_cold_law(rule):
    (weight, weight_error), (energy, energy_error) = cold_law(rule, ladders=200)
    assert 0.4 - weight > 4 * weight_error
    assert ENERGY - energy > max(0.2, 15 * energy_error)


@pytest.mark.slow
@pytest.mark.parametrize("start", [-4.0, 3.0])
def test_metropolis_recovers_the_law_from_either_mode_to_one_percent(start):
    law = cold_law(Metropolis(), ladders=2000, steps=8000, start=start, finer=4)
    assert recovers(law)
    assert law[0][1] < 0.004
    assert law[1][1] < 0.003


@pytest.mark.slow
def test_the_shift_of_the_law_is_that_of_the_step_size():
    """Far above its error at steps of full size, and half as large at half of it."""
    coarse, fine = (
        cold_law(Metropolis(), ladders=2500, steps=16_000, finer=f)[1] for f in (1, 2)
    )
    assert coarse[0] - ENERGY > 3 * coarse[1]
    error = (coarse[1] ** 2 + 4 * fine[1] ** 2) ** 0.5
    assert abs(2 * fine[0] - coarse[0] - ENERGY) < 3 * error


@pytest.mark.slow
def test_narrowing_of_the_paper_rule_fades_with_its_target():
    laws = [cold_law(Paper(target), steps=8000)[1] for target in (0.2, 0.05, 0.005)]
    for (low, low_error), (high, high_error) in pairwise([*laws, (ENERGY, 0.0)]):
        assert high - low > 3 * (low_error**2 + high_error**2) ** 0.5


def calibration_ranks(*, narrow=1.0, weight=0.0, rule=None, sets=500, draws=15):
    """Ranks of the truth among posterior draws of a linear operator with Gaussian errors."""
    cases, points, sigma = 3, 4, 0.8
    operator = torch.randn(cases, points, 2, generator=seeded(1)) / 4
    truth = torch.randn(sets, 2, generator=seeded(2))
    noise = sigma * torch.randn(sets, cases, points, generator=seeded(3))
    data = torch.einsum("ntp,sp->snt", operator, truth) + noise
    data = data.repeat_interleave(2, 0)

    def energy(theta, batch):
        guess = torch.einsum("ntp,kp->knt", operator, theta)
        # Each ladder has its own data: the misfit is taken against zero.
        misfit = gaussian_energy(guess - data, torch.zeros(cases, points), sigma=sigma, cases=3)
        return (misfit + gaussian_prior(theta, scale=1.0)) / narrow

    sampler = ReplicaExchange(
        chains=2, steps=150 * (draws + 3), step_size=(0.02, 0.03), temperature=(1.0, 3.0),
        swap=rule or Metropolis(), drift=Drift(weight=weight), schedule=Constant(),
        collect=Cold(burn=3 / (draws + 3), thin=150),
    )  # fmt: skip
    found = sampler.sample(
        energy, torch.randn(2 * sets, 2, generator=seeded(4)), cases=cases,
        generator=seeded(5), show=False,
    )  # fmt: skip
    return (found.theta.view(draws, sets, 2) < truth).sum(0)


def uniform_probability(ranks, draws=15):
    """p-value of χ² against equal counts, each coordinate; the smaller of the two."""
    values = []
    for column in ranks.T:
        counts = torch.bincount(column, minlength=draws + 1).double()
        wanted = counts.sum() / (draws + 1)
        values.append(chi2.sf(float(((counts - wanted) ** 2 / wanted).sum()), draws))
    return min(values)


def test_ranks_of_the_truth_are_uniform():
    assert uniform_probability(calibration_ranks()) > 0.005


def test_ranks_uncover_a_narrowed_posterior():
    assert uniform_probability(calibration_ranks(narrow=0.5)) < 1e-6


def test_ranks_uncover_the_narrowing_of_adaptive_drift():
    assert uniform_probability(calibration_ranks(weight=4.0, rule=Never())) < 1e-6
