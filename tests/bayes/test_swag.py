"""SWAG: draws have the covariance of the formula, the formula that of the iterates' law."""

import numpy as np
import pytest
import torch

from mflno.bayes.collect import All
from mflno.bayes.ensemble import DeepEnsemble
from mflno.bayes.langevin import Drift
from mflno.bayes.schedule import Constant
from mflno.bayes.swag import SWAG, IterateLaw
from mflno.errors import ArgumentError


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def test_draws_have_half_the_diagonal_and_half_the_low_rank_covariance():
    iterates = normal(30, 4) @ normal(4, 4, seed=1)
    rank, count = 6, 200_000
    law = IterateLaw.of(iterates, rank)
    gap = iterates[-rank:] - iterates.mean(0)
    exact = 0.5 * torch.diag(iterates.var(0)) + 0.5 * gap.T @ gap / (rank - 1)
    draws = law.draw(count, torch.Generator().manual_seed(2), scale=3.0)
    scale = torch.outer(exact.diag(), exact.diag()).sqrt() * np.sqrt(2 / count)
    assert torch.all((torch.cov(draws.T) / 3 - exact).abs() < 4 * scale)
    centre = (3 * exact.diag() / count).sqrt()
    assert torch.all((draws.mean(0) - iterates.mean(0)).abs() < 4 * centre)


def test_full_rank_covariance_is_between_diagonal_and_sample_covariance():
    iterates = normal(50, 3)
    law = IterateLaw.of(iterates, 50)
    low_rank = law.deviations.T @ law.deviations / 49
    torch.testing.assert_close(low_rank, torch.cov(iterates.T))
    torch.testing.assert_close(law.variance, torch.cov(iterates.T).diag())


def epoch_variance(rate, cases):
    """Variance of θ ← (1 - κ) θ + κ x_i over epochs without replacement, unit var x (1/n).

    Within an epoch cov(x_i, x_j) = -1/(n - 1); epochs are independent. Averaged over the
    places of an epoch, by summing over all pairs of past steps.
    """
    decay, past = 1 - rate, 12 * cases
    total = 0.0
    for place in range(cases):
        ages = np.arange(past)
        weights = rate * decay**ages
        epoch = (ages - place + cases - 1) // cases
        cov = np.where(epoch[:, None] == epoch[None], -1.0 / (cases - 1), 0.0)
        np.fill_diagonal(cov, 1.0)
        total += weights @ cov @ weights
    return total / cases


def test_covariance_on_a_quadratic_is_that_of_the_stationary_path():
    """Energy of case i is k (θ - x_i)² / 2: the path is an autoregression driven by x_i."""
    cases, rate, chains = 16, 0.3, 64
    anchors = normal(cases, 2, seed=4) * torch.tensor([1.0, 3.0])
    anchors = anchors - anchors.mean(0)
    generator = torch.Generator().manual_seed(7)
    # an order of the cases of its own for each chain: shared batches are then independent
    orders = torch.stack([torch.randperm(cases, generator=generator) for _ in range(chains)])

    def energy(theta, batch):
        chosen = anchors[orders] if batch is None else anchors[orders[:, batch]]
        return 0.5 * (theta[:, None] - chosen).square().sum(-1).mean(-1)

    path = DeepEnsemble(
        chains, 1200, rate, drift=Drift(weight=0.0), schedule=Constant(), batch=1,
        collect=All(burn=0.1, thin=7),
    )  # fmt: skip
    swag = SWAG(path, rank=100, draws=400)
    draws = swag.sample(
        energy, normal(chains, 2, seed=5), cases=cases, generator=generator, show=False
    )
    exact = epoch_variance(rate, cases) * anchors.var(0, correction=0)
    found = draws.theta.var(0)
    iterates = chains * 154
    assert torch.all((found / exact - 1).abs() < 3 * np.sqrt(2 / iterates) + 1 / 154)
    independent = rate / (2 - rate) * anchors.var(0, correction=0)
    assert torch.all((exact / independent - 1).abs() > 0.05)
    assert draws.theta.shape == (chains * 400, 2)
    assert draws.chain.unique().tolist() == list(range(chains))


def test_a_path_that_broke_on_its_way_gives_no_draws():
    """The second chain drifts over the edge after some forty moves."""

    def edge(theta, batch):
        return torch.where(theta[:, 0] > 1, torch.nan, -theta.sum(-1))

    path = DeepEnsemble(
        2, 60, 0.01, drift=Drift(weight=0.0), schedule=Constant(), collect=All(0.0, 1)
    )
    start = torch.tensor([[-3.0, 0.0], [0.6, 0.0]]).double()
    draws = SWAG(path, rank=5).sample(
        edge, start, cases=1, generator=torch.Generator().manual_seed(0), show=False
    )
    assert 30 < int(draws.trace.healthy[:, 0, 1].sum()) < 60
    assert draws.chain.unique().tolist() == [0]


def test_more_rank_than_iterates_is_refused():
    with pytest.raises(ArgumentError, match="rank"):
        IterateLaw.of(normal(5, 2), 6)
    with pytest.raises(ArgumentError, match="draws"):
        SWAG(draws=0)
