"""Energies of predictions and targets, term by term."""

import pytest
import torch

from mflno.bayes import gaussian_energy, gaussian_prior, relative_loss
from mflno.bayes.targets import Mixture


def test_relative_loss_is_the_mean_over_cases_of_relative_norms():
    generator = torch.Generator().manual_seed(0)
    guess = torch.randn(3, 5, 2, 9, generator=generator)
    truth = torch.randn(5, 2, 9, generator=generator)
    for order in (1.0, 2.0, 4.0):
        wanted = [
            sum(
                float((guess[k, n] - truth[n]).abs().pow(order).sum() ** (1 / order))
                / float(truth[n].abs().pow(order).sum() ** (1 / order))
                for n in range(5)
            )
            / 5
            for k in range(3)
        ]
        assert relative_loss(guess, truth, order=order).tolist() == pytest.approx(wanted)


def test_gradient_of_relative_loss_is_finite_at_a_perfect_fit():
    truth = torch.ones(2, 1, 4)
    guess = truth[None].clone().requires_grad_()
    relative_loss(guess, truth).sum().backward()
    assert guess.grad is not None
    assert bool(guess.grad.isfinite().all())


def test_gaussian_energy_is_minus_log_likelihood_and_fair_in_batches():
    generator = torch.Generator().manual_seed(0)
    guess, truth = torch.randn(3, 6, 8, generator=generator), torch.zeros(6, 8)
    law = torch.distributions.Normal(0.0, 0.7)
    wanted = -law.log_prob(guess).sum((1, 2)) + law.log_prob(truth).sum()
    torch.testing.assert_close(gaussian_energy(guess, truth, sigma=0.7, cases=6), wanted)
    halves = [
        gaussian_energy(guess[:, part], truth[part], sigma=0.7, cases=6)
        for part in (slice(0, 3), slice(3, 6))
    ]
    torch.testing.assert_close((halves[0] + halves[1]) / 2, wanted)


def test_rows_may_have_targets_of_their_own():
    generator = torch.Generator().manual_seed(0)
    guess, truth = torch.randn(2, 3, 5, 2, 9, generator=generator).double().unbind(0)
    one = torch.cat([relative_loss(guess[k, None], truth[k]) for k in range(3)])
    torch.testing.assert_close(relative_loss(guess, truth), one)
    settings = {"sigma": 0.7, "cases": 10}
    one = torch.cat([gaussian_energy(guess[k, None], truth[k], **settings) for k in range(3)])
    torch.testing.assert_close(gaussian_energy(guess, truth, **settings), one)


def test_gaussian_prior_is_minus_log_density():
    theta = torch.randn(3, 6, generator=torch.Generator().manual_seed(0))
    law = torch.distributions.Normal(0.5, 2.0)
    wanted = -law.log_prob(theta).sum(-1) + 6 * law.log_prob(torch.tensor(0.5))
    torch.testing.assert_close(gaussian_prior(theta, scale=2.0, mean=0.5), wanted)


def test_mixture_is_a_density():
    grid = torch.linspace(-12, 12, 20_001, dtype=torch.float64)
    total = torch.trapezoid(torch.exp(-Mixture()(grid[:, None], None)), grid)
    assert float(total) == pytest.approx(1.0, abs=1e-9)
