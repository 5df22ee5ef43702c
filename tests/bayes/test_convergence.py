"""R-hat and effective sizes against arviz_stats and an autoregression's closed form."""

import numpy as np
import pytest
import torch
from arviz_stats.base.array import array_stats
from scipy.signal import lfilter

from mflno.bayes.convergence import chains_of, mixing
from mflno.bayes.draws import Draws, Trace
from mflno.errors import ArgumentError


def autoregression(generator, rho, *shape):
    noise = generator.standard_normal(shape) * np.sqrt(1 - rho**2)
    noise[..., 0] /= np.sqrt(1 - rho**2)
    return np.asarray(lfilter([1.0], [1.0, -rho], noise, axis=-1))


@pytest.mark.parametrize("length", [4, 5, 9, 10, 101, 400])
@pytest.mark.parametrize("rho", [-0.6, 0.0, 0.5, 0.97])
@pytest.mark.parametrize("count", [2, 5])
def test_every_figure_is_that_of_arviz(length, rho, count):
    generator = np.random.default_rng(length)
    probes = autoregression(generator, rho, 3, count, length)
    probes[1] += generator.standard_normal((count, 1))
    probes[2] = np.round(probes[2], 1)
    found = mixing(np.moveaxis(probes, 0, -1))
    known = lambda f, **kind: [f(probe, **kind) for probe in probes]
    np.testing.assert_allclose(found.rhat, known(array_stats.rhat, method="rank"), rtol=1e-9)
    np.testing.assert_allclose(found.bulk, known(array_stats.ess, method="bulk"), rtol=1e-9)
    tail = known(array_stats.ess, method="tail", prob=(0.05, 0.95))
    np.testing.assert_allclose(found.tail, tail, rtol=1e-9)


def test_effective_size_of_an_autoregression_is_its_closed_form():
    """n (1 - rho) / (1 + rho)."""
    chains = np.moveaxis(autoregression(np.random.default_rng(1), 0.8, 1, 4, 20_000), 0, -1)
    assert mixing(chains).bulk[0] == pytest.approx(80_000 / 9, rel=0.1)


def test_chunks_of_probes_change_nothing(monkeypatch):
    chains = np.random.default_rng(2).standard_normal((3, 20, 11))
    whole = mixing(chains)
    monkeypatch.setattr("mflno.bayes.convergence._CHUNK", 130)
    np.testing.assert_array_equal(mixing(chains).bulk, whole.bulk)


def test_probes_that_never_vary_agree_and_stuck_chains_do_not():
    chains = np.zeros((2, 10, 2))
    chains[1, :, 1] = 1.0
    found = mixing(chains)
    assert found.rhat[0] == 1
    assert found.bulk[0] == 20
    assert found.rhat[1] > 1e3


def draws(theta, ladder, chain, step, temperature):
    trace = Trace.empty(ladders=2, chains=2, parameters=theta.shape[1])
    where = {"ladder": torch.tensor(ladder), "chain": torch.tensor(chain)}
    when = {"step": torch.tensor(step), "temperature": torch.tensor(temperature)}
    return Draws(theta, **where, **when, trace=trace)


def test_draws_are_sorted_into_chains_and_cut_to_the_shortest():
    theta = torch.arange(5.0)[:, None]
    given = draws(theta, [0, 1, 1, 0, 1], [0] * 5, [20, 10, 30, 10, 20], [1.0] * 5)
    chains = chains_of(given, theta)
    np.testing.assert_array_equal(chains[..., 0], [[3, 0], [4, 2]])


def test_laws_of_two_temperatures_are_not_compared():
    theta = torch.zeros(4, 1)
    given = draws(theta, [0] * 4, [0, 0, 1, 1], [1, 2, 1, 2], [1.0, 1.0, 2.0, 2.0])
    with pytest.raises(ArgumentError, match="one temperature"):
        chains_of(given, theta)


def test_one_chain_or_three_draws_are_refused():
    with pytest.raises(ArgumentError, match="replicate ladders"):
        mixing(np.zeros((1, 100, 1)))
    with pytest.raises(ArgumentError, match="four or more draws"):
        mixing(np.zeros((4, 3, 1)))
    with pytest.raises(ArgumentError, match="finite"):
        mixing(np.full((2, 8, 1), np.nan))
