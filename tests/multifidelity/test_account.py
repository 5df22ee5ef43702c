"""What a network keeps of the sampler's run that made it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mflno.bayes import DeepEnsemble, ReplicaExchange, Trace
from mflno.multifidelity.account import KEPT, Account
from mflno.multifidelity.forms import LNO, Mixture
from mflno.multifidelity.law import Data
from mflno.multifidelity.learnt import Learnt
from mflno.multifidelity.mflno import MFLNO

SMALL = LNO(width=2, modes=3, hidden=(3,))
LADDER = ReplicaExchange(chains=3, steps=250, step_size=(1e-4, 1e-3), temperature=(1e-4, 1e-2))
STEPS = 1000


def two_ladders():
    """Ladder 0 never swaps; in ladder 1 the two replicas change seats at every second step."""
    energy = torch.arange(STEPS).float()[:, None, None].repeat(1, 2, 2)
    energy[:, 1] += 0.5
    replica = torch.tensor([0, 1]).repeat(STEPS, 2, 1)
    seat = (torch.arange(STEPS) + 1) // 2 % 2
    replica[:, 1] = torch.stack([seat, 1 - seat], 1)
    swapped = torch.zeros(STEPS, 2, 1, dtype=torch.bool)
    swapped[1::2, 1] = True
    return replace(
        Trace.empty(ladders=2, chains=2, parameters=5),
        energy=energy, gradient=torch.ones(STEPS, 2, 2), step_size=torch.full((STEPS, 2), 1e-3),
        temperature=torch.tensor([0.5, 1.0]), healthy=torch.ones(STEPS, 2, 2, dtype=torch.bool),
        replica=replica, tentative=swapped | (torch.arange(STEPS) % 4 == 0)[:, None, None],
        swapped=swapped, buffer=torch.zeros(STEPS, 2, 1),
    )  # fmt: skip


def test_a_ladder_is_told_of_its_own_swaps():
    still, lively = (Account.of(two_ladders(), ladder) for ladder in (0, 1))
    assert still is not None
    assert lively is not None
    np.testing.assert_allclose(still.realised, [0.0])
    np.testing.assert_allclose(lively.realised, [0.5])
    np.testing.assert_allclose([still.tentative[0], lively.tentative[0]], [0.25, 0.75])
    # a way up and down takes four steps; that of the hot start begins when it is first cold
    assert (still.trips.sum(), lively.trips.tolist()) == (0, [250, 249])
    assert "never swapped" in still.findings[-2]
    assert "round trip" in still.findings[-1]
    assert not any("swapped" in each for each in lively.findings)


def test_energies_are_kept_evenly_from_the_first_to_the_last():
    account = Account.of(two_ladders(), 1)
    assert account is not None
    assert account.energy.shape == (KEPT, 2)
    np.testing.assert_array_equal(account.energy[:, 0], account.step + 0.5)
    assert (account.step[0], account.step[-1]) == (0, STEPS - 1)
    assert set(np.diff(account.step)) <= {5, 6}


def test_an_inference_without_iterations_has_none():
    assert Account.of(Trace.empty(ladders=1, chains=3, parameters=2), 0) is None


@pytest.fixture(scope="module")
def fits(swing, runs):
    low, high = runs
    data = Data(swing, (low,), high)
    form, cheap = Mixture(SMALL, SMALL), DeepEnsemble(2, 3)
    method = MFLNO(form=form, inference=LADDER, low_inference=cheap)
    return method.fit_many([data, data], seeds=[0, 1], show=False)


def test_networks_fitted_together_keep_accounts_of_their_own(fits):
    one, two = (fit.stages[-1].account for fit in fits)
    assert one.energy.shape == (KEPT, 3)
    np.testing.assert_allclose(one.temperature, [1e-4, 1e-3, 1e-2], rtol=1e-5)
    assert not np.array_equal(one.energy, two.energy)


def test_an_account_is_read_back_as_it_was(fits):
    stage = fits[0].stages[-1]
    again = Learnt.from_arrays(stage.arrays("x"), stage.about(), "x")
    for name in ("step", "energy", "realised", "trips", "findings"):
        np.testing.assert_array_equal(
            getattr(again.account, name), getattr(stage.account, name)
        )
    bare = replace(stage, account=None)
    assert Learnt.from_arrays(bare.arrays("x"), bare.about(), "x").account is None
