"""The ladder as a whole: sizes, provenance, repetition, resuming, quarantine, batches."""

import inspect
import json
from dataclasses import replace

import pytest
import torch

from mflno.bayes import (
    All,
    Cold,
    Constant,
    Corrected,
    Cosine,
    Cyclical,
    Drift,
    Final,
    Metropolis,
    Never,
    Paper,
    Polynomial,
    Probe,
    ReplicaExchange,
    Window,
    run_arrays,
    run_from,
)
from mflno.bayes.chance import next_batch
from mflno.bayes.draws import ladders_of
from mflno.bayes.quarantine import donors
from mflno.errors import ArgumentError
from mflno.store import read_arrays, write_arrays

CENTRES = torch.linspace(-1, 1, 7)


def seeded(number=0):
    return torch.Generator().manual_seed(number)


def spread_out(theta, batch):
    """A mean over seven cases, so that a mini-batch is noisy."""
    centres = CENTRES if batch is None else CENTRES[batch]
    return (theta[:, None, :] - centres[:, None]).square().sum(-1).mean(-1)


def sampler(**fields):
    settings = {
        "chains": 3, "steps": 60, "step_size": (0.01, 0.05), "temperature": (0.1, 1.0),
        "swap": Metropolis(), "schedule": Constant(), "collect": All(burn=0.0, thin=7),
    }  # fmt: skip
    return ReplicaExchange(**{**settings, **fields})


def same(one, two):
    fields = ("theta", "ladder", "chain", "step", "temperature")
    return all(torch.equal(getattr(one, name), getattr(two, name)) for name in fields)


@pytest.mark.parametrize("chains", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("rule", [Paper(0.1), Window(0.1), Metropolis(), Corrected(), Never()])
def test_any_number_of_chains_and_ladders(chains, rule):
    start = torch.randn(2 * chains, 4, generator=seeded())
    ladder = sampler(chains=chains, swap=rule, steps=20, collect=Final())
    draws = ladder.sample(spread_out, start, cases=7, generator=seeded(), show=False)
    assert draws.theta.shape == (2 * chains, 4)
    assert draws.ladder.tolist() == [0] * chains + [1] * chains
    assert draws.chain.tolist() == list(range(chains)) * 2
    assert draws.trace.energy.shape == (20, 2, chains)
    assert draws.trace.swapped.shape == (20, 2, chains - 1)
    assert bool(draws.theta.isfinite().all())


def test_draws_carry_chain_step_and_temperature():
    start = torch.zeros(6, 2)
    draws = sampler().sample(spread_out, start, cases=7, generator=seeded(), show=False)
    steps = sorted(set(draws.step.tolist()))
    assert steps == [4, 11, 18, 25, 32, 39, 46, 53, 60]
    assert len(draws) == 6 * len(steps)
    ladder = torch.tensor([0.1, 0.1**0.5, 1.0])
    torch.testing.assert_close(draws.temperature, ladder[draws.chain])
    torch.testing.assert_close(draws.trace.temperature, ladder)
    # The trace's energy at a step is that of the state with this number of moves.
    at = draws.where((draws.step == 32) & (draws.ladder == 1))
    assert torch.equal(spread_out(at.theta, None), draws.trace.energy[32, 1])


def test_collections_keep_what_they_say():
    start, cold = torch.zeros(3, 2), Cold(burn=0.5, thin=10)
    some = sampler(collect=cold).sample(
        spread_out, start, cases=7, generator=seeded(), show=False
    )
    every = sampler(collect=All(burn=0.0, thin=1)).sample(
        spread_out, start, cases=7, generator=seeded(), show=False
    )
    assert some.step.tolist() == [40, 50, 60]
    assert len(every) == 3 * 60
    wanted = every.where((every.chain == 0) & torch.isin(every.step, some.step))
    assert same(some, wanted)
    assert sum(Cold().due(step, 5000) for step in range(5001)) == 10
    with pytest.raises(ArgumentError, match=r"All\.thin"):
        All(thin=0)
    with pytest.raises(ArgumentError, match=r"Cold\.burn"):
        Cold(burn=1.5)


def test_only_the_generator_decides():
    start = torch.randn(3, 4, generator=seeded())
    before = torch.get_rng_state()
    draw = lambda number: sampler(batch=3).sample(
        spread_out, start, cases=7, generator=seeded(number), show=False
    )
    one, two, other = draw(1), draw(1), draw(2)
    assert same(one, two)
    assert not torch.equal(one.theta, other.theta)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_step_is_pure():
    ladder = sampler(batch=3, swap=Corrected(Probe(every=1)))
    run = ladder.start(torch.randn(3, 4, generator=seeded()), cases=7, generator=seeded())
    step = ladder.stepper(spread_out, run.state)
    arrays = run_arrays(run)[0]
    (one, _), (two, _) = step(run.state), step(run.state)
    assert torch.equal(one.theta, two.theta)
    assert torch.equal(one.random, two.random)
    after = run_arrays(run)[0]
    assert all(torch.equal(arrays[name], after[name]) for name in arrays)


RULES = [Paper(0.2, window=3), Window(0.2, 3), Corrected(Probe(every=4))]


def reread(run, folder):
    """The run after it went to disk as a file of tensors and a file of JSON."""
    arrays, facts = run_arrays(run)
    write_arrays(folder / "run.arrays", {name: entry.numpy() for name, entry in arrays.items()})
    (folder / "run.json").write_text(json.dumps(facts))
    arrays = read_arrays(folder / "run.arrays").arrays
    arrays = {name: torch.from_numpy(entry.copy()) for name, entry in arrays.items()}
    return run_from(arrays, json.loads((folder / "run.json").read_text()))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("chains", "stop"), [(3, 1), (3, 8), (3, 33), (3, 60), (1, 33), (2, 33), (6, 33), (7, 33)]
)
def test_a_resumed_run_is_bit_equal_to_an_uninterrupted_one(rule, chains, stop, tmp_path):
    ladder = sampler(chains=chains, swap=rule, batch=2, schedule=Cosine())
    start = torch.randn(2 * chains, 4, generator=seeded())
    whole = ladder.sample(spread_out, start, cases=7, generator=seeded(3), show=False)
    run = ladder.start(start, cases=7, generator=seeded(3))
    run = reread(ladder.proceed(spread_out, run, until=stop, show=False), tmp_path)
    run = ladder.proceed(spread_out, run, until=60, show=False)
    pieces = ladder.finish(spread_out, run)
    assert same(whole, pieces)
    for name in ("energy", "swapped", "replica", "buffer", "healthy", "gradient"):
        assert torch.equal(getattr(whole.trace, name), getattr(pieces.trace, name))


def test_a_run_goes_forward_to_its_end_and_only_then_gives_draws():
    ladder = sampler()
    run = ladder.start(torch.zeros(3, 2), cases=7, generator=seeded())
    run = ladder.proceed(spread_out, run, until=20, show=False)
    with pytest.raises(ArgumentError, match=r"proceed\(\.\.\., until=60\)"):
        ladder.finish(spread_out, run)
    for until in (19, 61):
        with pytest.raises(ArgumentError, match="goes forward"):
            ladder.proceed(spread_out, run, until=until, show=False)


def test_a_run_may_be_taken_further_twice():
    ladder, start = sampler(), torch.randn(3, 4, generator=seeded())
    run = ladder.start(start, cases=7, generator=seeded())
    run = ladder.proceed(spread_out, run, until=20, show=False)
    other = lambda theta, batch: 3 * spread_out(theta, batch)
    one = ladder.proceed(spread_out, run, until=60, show=False)
    ladder.proceed(other, run, until=60, show=False)
    whole = ladder.sample(spread_out, start, cases=7, generator=seeded(), show=False)
    assert torch.equal(ladder.finish(spread_out, one).trace.energy, whole.trace.energy)


def test_a_run_of_another_format_is_refused():
    ladder = sampler()
    arrays, facts = run_arrays(ladder.start(torch.zeros(3, 2), cases=7, generator=seeded()))
    with pytest.raises(ArgumentError, match="format"):
        run_from(arrays, {**facts, "format": 99})


def cliff(theta, batch):
    """No finite energy beyond 1."""
    return torch.where(theta.amax(-1) > 1, torch.nan, theta.square().sum(-1))


def test_a_broken_chain_is_reported_restarted_never_swapped_never_collected():
    ladder = sampler(collect=All(burn=0.0, thin=1), steps=200, step_size=(0.001, 0.1))
    draws = ladder.sample(cliff, torch.zeros(60, 2), cases=1, generator=seeded(), show=False)
    trace = draws.trace
    broken = ~trace.healthy
    assert 0 < int(broken.sum()) < 0.2 * broken.numel()
    assert torch.equal(broken, trace.energy.isnan())
    assert not bool((trace.swapped & (broken[..., 1:] | broken[..., :-1])).any())
    assert not bool((trace.tentative & (broken[..., 1:] | broken[..., :-1])).any())
    assert bool(cliff(draws.theta, None).isfinite().all())
    # Kept: states after 1 to 199 moves that were healthy, and the last ones with an energy.
    last = draws.where(draws.step == 200)
    assert len(draws) - len(last) == int(trace.healthy[1:].sum())
    # A restarted chain goes on from the nearest healthy one, one move of its own away.
    place = torch.full((201, 20, 3, 2), torch.nan)
    place[draws.step, draws.ladder, draws.chain] = draws.theta
    step, ladder, chain = torch.nonzero(broken[1:-1], as_tuple=True)
    giver = donors(trace.healthy[1:-1].flatten(0, 1)).view(198, 20, 3)[step, ladder, chain]
    moved = place[step + 2, ladder, chain] - place[step + 1, ladder, giver]
    known = moved[moved.isfinite().all(-1)]
    assert len(known) > 100
    assert float(known.abs().max()) < 6 * (2 * 0.1 * 1.0) ** 0.5


def test_broken_moments_are_left_behind():
    ladder = sampler(swap=Never(), steps=50, step_size=(0.01, 0.02), temperature=(0.0, 0.0))
    start = torch.tensor([[0.1, 0.1], [0.1, 5.0], [0.1, 0.2]])
    draws = ladder.sample(cliff, start, cases=1, generator=seeded(), show=False)
    assert draws.trace.healthy[0].tolist() == [[True, False, True]]
    assert bool(draws.trace.healthy[1:].all())
    assert bool(draws.theta[draws.step > 0].isfinite().all())
    # Chain 1 went on from chain 0, at its own step size.
    assert float(draws.theta[draws.chain == 1].max()) <= 0.1


def test_a_gradient_whose_square_overflows_counts_as_broken():
    steep = lambda theta, batch: 1e25 * theta[:, 0]
    with pytest.raises(ArgumentError, match="lower it"):
        sampler().sample(steep, torch.zeros(3, 2), cases=1, generator=seeded(), show=False)


def test_a_ladder_without_a_healthy_chain_stops_with_a_remedy():
    lost = lambda theta, batch: theta.sum(-1) * torch.nan
    with pytest.raises(ArgumentError, match="clip"):
        sampler().sample(lost, torch.zeros(3, 2), cases=1, generator=seeded(), show=False)


def test_donors_are_nearest_and_colder_first():
    healthy = torch.tensor(
        [[True, False, True, False, False], [False, False, False, True, True]]
    )
    assert donors(healthy).tolist() == [[0, 0, 2, 2, 2], [3, 3, 3, 3, 4]]


def test_batches_are_without_replacement_and_fair():
    order, generator = torch.arange(7), seeded()
    counts = torch.zeros(7)
    for step in range(3 * 2000):
        order, batch = next_batch(order, step, 2, generator)
        counts[batch] += 1
        if step % 3 == 2:
            assert len(set(order.tolist())) == 7
            assert len(set(order[:6].tolist())) == 6
    assert counts.tolist() == pytest.approx([12000 / 7] * 7, rel=0.06)
    assert next_batch(order, 0, 7, generator)[1] is None
    assert next_batch(order, 0, None, generator)[1] is None


def test_zero_temperature_ladder_is_a_swap_coupled_optimiser():
    ladder = sampler(temperature=(0.0, 0.0), schedule=Cosine(), steps=400, collect=Final())
    for rule in (Metropolis(), Paper(0.2)):
        draws = replace(ladder, swap=rule).sample(
            spread_out, torch.randn(3, 4, generator=seeded()), cases=7,
            generator=seeded(), show=False,
        )  # fmt: skip
        assert float(draws.theta.abs().max()) < 0.02
        assert bool(draws.trace.ratio.isinf().all())


def test_ratio_of_drift_to_noise():
    ladder = sampler(chains=1, steps=3, drift=Drift(weight=0.0), step_size=(0.02, 0.02))
    draws = ladder.sample(
        spread_out, torch.full((1, 4), 2.0), cases=7, generator=seeded(), show=False
    )
    gradient = (2 * torch.full((4,), 2.0)).norm()
    assert float(draws.trace.gradient[0, 0, 0]) == pytest.approx(float(gradient), rel=1e-5)
    wanted = 0.02 * float(gradient) ** 2 / (2 * 0.1)
    assert float(draws.trace.ratio[0, 0, 0]) == pytest.approx(wanted, rel=1e-5)


def test_schedules():
    assert [Cosine(0.01)(step, 100) for step in (0, 100)] == pytest.approx([1.0, 0.01])
    assert Polynomial(delay=1.0, power=1.0)(9, 100) == pytest.approx(0.1)
    assert Constant()(70, 100) == 1.0
    wave = [Cyclical(cycles=3)(step, 10) for step in range(10)]
    assert [wave[0], wave[4], wave[8]] == [1.0, 1.0, 1.0]
    assert wave[1] > wave[2] > wave[3] > 0
    with pytest.raises(ArgumentError, match="Robbins-Monro"):
        Polynomial(power=0.5)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"chains": 0}, "chains"),
        ({"steps": 0}, "steps"),
        ({"batch": 0}, "batch"),
        ({"step_size": (0.0, 0.1)}, "step_size"),
        ({"step_size": (0.2, 0.1)}, "step_size"),
        ({"temperature": (0.0, 0.1)}, "temperature"),
        ({"temperature": (2.0, 1.0)}, "temperature"),
    ],
)
def test_bad_fields_are_refused(fields, word):
    with pytest.raises(ArgumentError, match=word):
        ReplicaExchange(**fields)


def test_bad_starts_are_refused():
    for start in (torch.zeros(4, 2), torch.zeros(0, 2), torch.full((3, 2), torch.nan)):
        with pytest.raises(ArgumentError, match="theta0"):
            sampler().sample(spread_out, start, cases=7, generator=seeded(), show=False)


@pytest.mark.parametrize("kind", [torch.complex64, torch.long])
def test_complex_and_whole_numbers_are_refused(kind):
    """Noise of a complex number would have half the variance in each part, and g² a phase."""
    unchecked = inspect.unwrap(ladders_of)
    with pytest.raises(ArgumentError, match="side by side"):
        unchecked("theta0", torch.zeros(3, 2, dtype=kind), 3)


@pytest.mark.parametrize("many", [lambda rows: rows.sum(), lambda rows: rows[:, None]])
def test_an_energy_of_another_shape_is_refused(many):
    energy = lambda theta, batch: many(theta.square().sum(-1))
    with pytest.raises(ArgumentError, match="3 numbers for 3 rows"):
        sampler().sample(energy, torch.zeros(3, 2), cases=7, generator=seeded(), show=False)
