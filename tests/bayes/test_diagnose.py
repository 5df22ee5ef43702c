"""A trace's figures on runs made by hand, where every count is known."""

import dataclasses
import re

import numpy as np
import pytest
import torch

from mflno.bayes.diagnose import diagnosis, inert_findings, round_trips, settled, swap_rates
from mflno.bayes.draws import Trace


def ring(chains, length):
    """Seats when each even-odd offer is accepted: replicas go round at full speed."""
    seats = [list(range(chains))]
    for step in range(length - 1):
        row = list(seats[-1])
        for low in range(step % 2, chains - 1, 2):
            row[low], row[low + 1] = row[low + 1], row[low]
        seats.append(row)
    return torch.tensor(seats)[:, None]


def crawled_trips(seats):
    """One replica at a time, in words."""
    length, ladders, chains = seats.shape
    trips = np.zeros((ladders, chains), int)
    for ladder in range(ladders):
        for replica in range(chains):
            where = [int((seats[i, ladder] == replica).nonzero()) for i in range(length)]
            ends = [end for end in where if end in (0, chains - 1)]
            visits = [e for k, e in enumerate(ends) if k == 0 or e != ends[k - 1]]
            visits = visits[visits.index(0) :] if 0 in visits else []
            trips[ladder, replica] = max(0, (len(visits) - 1) // 2)
    return trips


@pytest.mark.parametrize("chains", [2, 3, 6, 7])
def test_forced_swaps_give_the_closed_form_of_round_trips(chains):
    """Each replica needs 2 K swap attempts a round: those K - 1 up, a wait, and back."""
    rounds = 5
    seats = ring(chains, 2 * chains * rounds + 1)
    trips = round_trips(seats)
    assert trips.sum() == crawled_trips(seats).sum()
    assert trips[0, 0] == rounds
    assert np.all(trips >= rounds - 1)


def test_round_trips_of_random_walks_are_those_counted_one_by_one():
    generator = np.random.default_rng(0)
    seats = np.stack([[generator.permutation(4) for _ in range(3)] for _ in range(60)])
    found = round_trips(torch.tensor(seats))
    np.testing.assert_array_equal(found, crawled_trips(torch.tensor(seats)))


def test_one_chain_makes_no_trips():
    assert round_trips(torch.zeros(9, 2, 1, dtype=torch.long)).tolist() == [[0], [0]]


def test_rates_pool_ladders():
    events = torch.zeros(10, 2, 3, dtype=torch.bool)
    events[:5, 0, 1] = True
    np.testing.assert_allclose(swap_rates(events), [0, 0.25, 0])


def test_settled_tells_a_level_from_a_ramp():
    noise = torch.randn(4000, 1, 1, generator=torch.Generator().manual_seed(0))
    mean, drift = settled(3.0 + 0.1 * noise)
    assert mean[0] == pytest.approx(3.0, abs=0.01)
    assert abs(drift[0]) < 0.2
    _, drift = settled(torch.linspace(0, 1, 4000)[:, None, None])
    assert drift[0] > 1
    assert settled(torch.full((100, 1, 1), 0.3))[1][0] == 0


def trace(**changes):
    steps, ladders, chains = 40, 1, 3
    rows, pairs = torch.ones(steps, ladders, chains), torch.zeros(steps, ladders, chains - 1)
    plain = Trace(
        energy=rows, gradient=rows, step_size=rows[:, 0] * 0.01, temperature=torch.ones(3),
        healthy=rows.bool(), replica=ring(3, steps), tentative=pairs.bool(),
        swapped=~pairs.bool(), buffer=pairs, parameters=10,
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


def test_a_sound_run_has_no_findings():
    found = diagnosis(trace())
    assert found.findings == ()
    np.testing.assert_allclose(found.ratio, 0.005)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"temperature": torch.tensor([1e-3, 1.0, 1.0])}, "chain 0.*inert"),
        ({"temperature": torch.tensor([1e-2, 1.0, 1.0])}, "chain 0.*above 0.1"),
        ({"swapped": torch.zeros(40, 1, 2, dtype=torch.bool)}, "pairs 0, 1 never swapped"),
        ({"replica": torch.arange(3).expand(40, 1, 3)}, "no replica made a round trip"),
        ({"buffer": torch.linspace(0, 1, 40)[:, None, None].expand(40, 1, 2)}, "still drift"),
        ({"healthy": torch.arange(120).view(40, 1, 3) != 7}, "chain 1 was not finite 1 times"),
    ],
)
def test_each_illness_is_named(changes, words):
    findings = diagnosis(trace(**changes)).findings
    assert any(re.search(words, text) for text in findings)


def test_zero_temperature_is_an_optimiser_and_no_illness():
    assert inert_findings(np.array([np.inf, 0.05]), parameters=10) == ()
