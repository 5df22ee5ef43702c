"""The contract of the door, and that its check finds planted faults."""

from dataclasses import dataclass, replace

import pytest
import torch

from mflno.bayes import (
    SGHMC,
    SWAG,
    All,
    Corrected,
    CyclicalSGLD,
    DeepEnsemble,
    LastLayer,
    Metropolis,
    Never,
    Paper,
    ReplicaExchange,
    Window,
)
from mflno.testing import check_inference

LADDER = ReplicaExchange(chains=3, steps=60, step_size=(0.01, 0.05), temperature=(0.1, 1.0))


@pytest.mark.parametrize("rule", [Paper(), Window(), Metropolis(), Corrected(), Never()])
@pytest.mark.parametrize("batch", [None, 2])
def test_replica_exchange_keeps_the_contract(rule, batch):
    check_inference(replace(LADDER, swap=rule, batch=batch))


def test_a_single_chain_keeps_the_contract():
    check_inference(replace(LADDER, chains=1))


def line(theta):
    """Linear in the first two parameters; the third shifts where they act."""
    grid = torch.linspace(-1, 1, 20)
    return theta[:, :1] * (grid + theta[:, 2:].tanh()) + theta[:, 1:2]


# A descent looks at the generator for its mini-batches alone.
@pytest.mark.parametrize(
    "inference",
    [
        DeepEnsemble(chains=3, steps=40, batch=2),
        SGHMC(chains=3, steps=40),
        SGHMC(chains=1, steps=40, batch=2),
        CyclicalSGLD(chains=2, steps=80),
        SWAG(DeepEnsemble(2, 60, 0.05, batch=2, collect=All(0.5, 1)), draws=5),
        LastLayer(line, torch.linspace(0, 1, 20).exp(), torch.tensor([0, 1]), draws=4),
    ],
    ids=lambda inference: type(inference).__name__,
)
def test_every_other_inference_keeps_the_contract(inference):
    check_inference(inference)


@dataclass(frozen=True)
class Faulty:
    fault: str
    chains: int = 3

    def sample(self, energy, theta0, *, cases, generator, show=True):
        if self.fault == "global":
            generator = torch.Generator().manual_seed(int(torch.randint(99, ())))
        if self.fault == "deaf":
            generator = torch.Generator().manual_seed(4)
        draws = LADDER.sample(energy, theta0, cases=cases, generator=generator, show=show)
        if self.fault == "in place":
            theta0 += 1
        if self.fault == "broken":
            draws.theta[0] = torch.nan
        if self.fault == "one ladder":
            draws = draws.where(draws.ladder == 0)
        return draws


@pytest.mark.parametrize("fault", ["global", "deaf", "in place", "broken", "one ladder"])
def test_the_check_finds_faults(fault):
    with pytest.raises(AssertionError):
        check_inference(Faulty(fault))
