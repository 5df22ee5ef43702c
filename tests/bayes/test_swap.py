"""Rules of exchange: windows, buffers, gates, disjoint pairs, and what a swap moves."""

from itertools import pairwise

import pytest
import torch

from mflno.bayes import Buffer, Corrected, Drift, Metropolis, Never, Paper, Window, window_size
from mflno.bayes.engine import Chance
from mflno.bayes.replica import Iteration
from mflno.bayes.state import Walk
from mflno.bayes.swap import Offer, Probe, Verdict, blank_memory, partners, turn
from mflno.errors import ArgumentError


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def offered(gap, *, step=0, slope=1.0, uniform=0.5, healthy=True):
    return Offer(
        gap=gap, slope=torch.full(gap.shape[1:], slope), uniform=torch.full_like(gap, uniform),
        healthy=torch.full(gap.shape, healthy), step=torch.tensor(step),
    )  # fmt: skip


def blank(ladders, pairs):
    return blank_memory(ladders, pairs, torch.zeros(1))


class Always:
    probe = None

    def __call__(self, memory, offer):
        mine = turn(offer.gap.shape[-1], offer.step) & offer.healthy
        return Verdict(mine, mine, memory)


def still(chains, rule):
    """An iteration in which nothing moves but by swaps."""
    zero = torch.zeros(chains)
    return Iteration(zero, zero, torch.ones(chains - 1), Drift(weight=0.0), rule)


def walk_of(ladders, chains, size=2):
    rows = torch.arange(ladders * chains * size).view(-1, size)
    return Walk(
        theta=rows.float(), first=rows + 0.25, second=rows + 0.5,
        replica=torch.arange(chains).repeat(ladders, 1), swaps=blank(ladders, chains - 1),
    )  # fmt: skip


def chance_at(step, ladders, pairs, generator=None):
    uniform = torch.rand(ladders, pairs, generator=generator or seeded())
    return Chance(None, None, uniform, torch.tensor(step), torch.tensor(1.0))


def test_windows_of_equation_16():
    assert [window_size(chains, 0.005) for chains in (2, 6, 10)] == [66, 474, 626]
    assert window_size(1, 0.005) == 1
    with pytest.raises(ArgumentError, match="target"):
        window_size(4, 0.0)


def test_buffer_is_the_loop_of_equation_17():
    gap = torch.randn(300, 1, 2, generator=seeded(), dtype=torch.float64)
    for cumulative in (True, False):
        memory = blank_memory(1, 2, gap)
        buffer, events, mean, square = torch.zeros(1, 2, dtype=torch.float64), [], 0.0, 0.0
        rule = Paper(target=0.1, buffer=Buffer(cumulative=cumulative, gain=0.2, horizon=50))
        for i in range(1, 301):
            now = gap[i - 1]
            events.append((now > buffer).double())
            rate = torch.stack(events).mean(0) if cumulative else events[-1]
            spread = (square - mean**2) ** 0.5 if i > 1 else 0.0
            buffer = buffer + 0.2 * spread * min(0.5, 600 / (i**0.8 + 1000)) * (rate - 0.1)
            mean = mean + (now - mean) / min(i, 50)
            square = square + (now**2 - square) / min(i, 50)
            verdict = rule(memory, offered(now, step=i - 1))
            assert torch.equal(verdict.tentative.double(), events[-1])
            memory = verdict.memory
        torch.testing.assert_close(memory.buffer, buffer)


@pytest.mark.parametrize("rule", [Paper, Window])
@pytest.mark.parametrize("target", [0.005, 0.05])
def test_buffer_brings_the_tentative_rate_to_its_target(rule, target):
    """Within a tenth, of which the Monte Carlo error is a fifth, at energies of any unit."""
    steps, settled, ladders, generator = 2500, 1250, 400, seeded(1)
    units = torch.tensor([0.001, 1.0, 300.0])
    memory, seen = blank(ladders, 3), torch.zeros(3)
    for step in range(steps):
        gap = units * (torch.randn(ladders, 3, generator=generator) - 1)
        verdict = rule(target=target)(memory, offered(gap, step=step))
        memory = verdict.memory
        seen += verdict.tentative.float().mean(0) * (step >= settled)
    rates = seen / (steps - settled)
    assert 3 * (target * ladders * settled) ** -0.5 < 0.1
    assert rates.tolist() == pytest.approx([target] * 3, rel=0.1)


def test_paper_swaps_only_when_hotter_is_better_by_more_than_the_buffer():
    rule = Paper(target=0.1, window=1)
    memory = blank(1, 1)._replace(buffer=torch.tensor([[0.5]]), gate=torch.tensor([[9]]))
    for gap, wanted in ((0.6, True), (0.4, False), (-0.6, False)):
        verdict = rule(memory, offered(torch.tensor([[gap]])))
        assert bool(verdict.swapped) is wanted


def test_refractory_gate_keeps_swaps_apart():
    rule, memory = Paper(target=0.1, window=7), blank(1, 1)
    memory = memory._replace(buffer=torch.tensor([[-1e9]]))
    when = []
    for step in range(60):
        verdict = rule(memory, offered(torch.zeros(1, 1), step=step))
        memory = verdict.memory._replace(buffer=torch.tensor([[-1e9]]))
        when += [step] if bool(verdict.swapped) else []
    # The pair's turn comes at even steps, so a gate of 7 opens at the eighth.
    assert when == list(range(8, 60, 8))


def test_windows_swap_a_pair_once_and_take_turns():
    rule, memory, when = Window(target=0.1, window=5), blank(1, 2), [[], []]
    for step in range(40):
        memory = memory._replace(buffer=torch.full((1, 2), -1e9))
        verdict = rule(memory, offered(torch.zeros(1, 2), step=step))
        memory = verdict.memory
        for pair in (0, 1):
            when[pair] += [step] if bool(verdict.swapped[0, pair]) else []
    assert when == [[0, 10, 20, 30], [5, 15, 25, 35]]


def test_metropolis_accepts_at_its_probability():
    gap, slope = torch.tensor([-2.0, -0.5, 0.0, 1.0]).repeat(50_000, 1), 0.7
    offer = offered(gap, slope=slope)._replace(
        uniform=torch.rand(gap.shape, generator=seeded())
    )
    share = Metropolis()(blank(50_000, 4), offer).tentative.float().mean(0)
    wanted = torch.exp(slope * gap[0]).clamp_max(1)
    assert share.tolist() == pytest.approx(wanted.tolist(), abs=3 * 0.5 / 50_000**0.5)


def test_corrected_keeps_detailed_balance_on_average_over_noise():
    """Acceptance at true log-ratio x over that at -x is exp(x), whatever the noise."""
    count, slope, spread, x = 400_000, 0.8, 1.5, 0.9
    shares = []
    for number, sign in enumerate((1, -1)):
        gap = sign * x / slope + spread * torch.randn(count, 1, generator=seeded(number))
        offer = offered(gap, slope=slope)._replace(
            uniform=torch.rand(gap.shape, generator=seeded(9 + number))
        )
        memory = blank(count, 1)._replace(noise=torch.full((count, 1), spread**2))
        shares.append(float(Corrected()(memory, offer).tentative.float().mean()))
        naive = float(Metropolis()(memory, offer).tentative.float().mean())
        shares.append(naive)
    error = 3 * (1 / shares[0] + 1 / shares[2]) ** 0.5 / count**0.5
    assert shares[0] / shares[2] == pytest.approx(torch.tensor(x).exp().item(), rel=error)
    assert abs(shares[1] / shares[3] / torch.tensor(x).exp().item() - 1) > 10 * error


def test_probe_estimates_the_variance_of_the_gap():
    probe, memory, generator = Probe(every=1, horizon=10_000), blank(30, 2), seeded()
    spread = torch.tensor([0.5, 3.0])
    one = two = torch.zeros(30, 2)
    for step in range(400):
        one, two = (spread * torch.randn(30, 2, generator=generator) for _ in range(2))
        memory = probe.measured(memory, one + 7, two + 7, step)
    assert memory.noise.mean(0).tolist() == pytest.approx([0.25, 9.0], rel=0.05)
    broken = probe.measured(memory, one * torch.nan, two, 401)
    assert torch.equal(broken.noise, memory.noise)


def test_zero_temperature_prefers_the_better_state():
    gap = torch.tensor([[0.1, 0.1, 0.0, 0.0, -0.1, -0.1]])
    for rule in (Metropolis(), Corrected()):
        offer = offered(gap, slope=torch.inf)
        assert rule(blank(1, 6), offer).tentative.tolist() == [[True, True] + [False] * 4]


@pytest.mark.parametrize("chains", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("rule", [Always(), Metropolis(), Paper(0.3, window=1), Window(0.3, 1)])
def test_swaps_are_disjoint_neighbours_and_conserve_every_state(chains, rule):
    walk, ladders = walk_of(4, chains), 4
    iteration, generator = still(chains, rule), seeded(2)
    before = torch.cat([walk.theta, walk.first, walk.second], 1)
    for step in range(12):
        energy = torch.randn(ladders * chains, generator=generator)
        chance = chance_at(step, ladders, chains - 1, generator)
        old = walk
        walk, info = iteration(walk, energy, torch.zeros_like(walk.theta), chance)
        assert not bool((info.swapped[:, 1:] & info.swapped[:, :-1]).any())
        source = partners(info.swapped)
        rows = (source + chains * torch.arange(ladders)[:, None]).flatten()
        for name in ("theta", "first", "second"):
            assert torch.equal(getattr(walk, name), getattr(old, name)[rows])
        assert torch.equal(walk.replica, old.replica.gather(1, source))
        after = torch.cat([walk.theta, walk.first, walk.second], 1)
        for ladder in range(ladders):
            mine = slice(ladder * chains, (ladder + 1) * chains)
            assert sorted(after[mine].tolist()) == sorted(before[mine].tolist())


def test_a_swapped_state_moves_by_its_own_gradient_at_the_step_size_of_its_new_chain():
    chains, ladders = 3, 2
    eta = torch.tensor([0.1, 0.2, 0.4])
    zero = torch.zeros(chains)
    iteration = Iteration(eta, zero, torch.ones(2), Drift(weight=0.0), Always())
    walk, gradient = walk_of(ladders, chains), torch.randn(6, 2, generator=seeded())
    after, _ = iteration(walk, torch.zeros(6), gradient, chance_at(0, ladders, 2))
    source = torch.tensor([1, 0, 2, 4, 3, 5])
    wanted = walk.theta[source] - eta.repeat(2)[:, None] * gradient[source]
    torch.testing.assert_close(after.theta, wanted)


@pytest.mark.parametrize("chains", [2, 3, 6, 7])
def test_forced_swaps_make_one_round_trip_of_every_replica_in_2k_steps(chains):
    iteration, walk, rounds = still(chains, Always()), walk_of(1, chains), 5
    energy, still_there = torch.zeros(chains), torch.zeros_like(walk.theta)
    period, places = 2 * chains, []
    for step in range(period * rounds):
        places.append(walk.replica[0].argsort())
        walk, _ = iteration(walk, energy, still_there, chance_at(step, 1, chains - 1))
    # Up, one rest at the top, down, one rest at the bottom; odd replicas start downwards.
    replica, time = torch.arange(chains), torch.arange(period * rounds)[:, None]
    phase = (time + torch.where(replica % 2 == 0, replica, period - 1 - replica)) % period
    assert torch.equal(torch.stack(places), torch.minimum(phase, period - 1 - phase))
    trips = sum(round_trips(path, chains - 1) for path in torch.stack(places).T.tolist())
    assert trips == chains * rounds - chains + 1


def round_trips(path, top):
    """Times a path came back to the bottom with the top in between."""
    ends = [place for place in path if place in (0, top)]
    turns = [b for a, b in pairwise([None, *ends]) if a != b]
    return turns[turns.index(0) :].count(0) - 1


def test_never_never_swaps():
    assert not bool(Never()(blank(2, 3), offered(torch.full((2, 3), 99.0))).swapped.any())


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Paper(0.0), r"Paper\.target"),
        (lambda: Window(1.0), r"Window\.target"),
        (lambda: Paper(0.1, window=0), r"Paper\.window"),
        (lambda: Buffer(gain=-0.1), r"Buffer\.gain"),
        (lambda: Probe(every=0), r"Probe\.every"),
    ],
)
def test_rules_that_cannot_work_are_refused(make, word):
    with pytest.raises(ArgumentError, match=word):
        make()
