"""The oscillator to learn: its truth is the oscillator's, and nets of every seed learn it."""

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp

from mflno.operators import count_parameters
from mflno.study.oscillator import (
    FREQUENCY,
    Cases,
    held_out_error,
    main,
    recipe_for,
    relative_errors,
    responses,
    trained,
)


def test_responses_agree_with_a_time_stepper():
    generator = np.random.default_rng(0)
    amplitudes = generator.normal(size=(2, 3))
    frequencies, phases = generator.uniform(0.2, 4.0, size=(2, 2, 3))
    damping, time = np.array([0.08, 0.12]), np.linspace(0.0, 20.0, 101)
    forcings, values = responses(amplitudes, frequencies, phases, damping=damping, time=time)
    for row in range(2):

        def force(t, row=row):
            return amplitudes[row] @ np.sin(frequencies[row] * t + phases[row])

        def rates(t, state, row=row, force=force):
            pull = 2 * damping[row] * FREQUENCY * state[1] + FREQUENCY**2 * state[0]
            return [state[1], force(t) - pull]

        found = solve_ivp(rates, (0.0, 20.0), [0.0, 0.0], t_eval=time, rtol=1e-9, atol=1e-10)
        assert np.allclose(forcings[row], [force(t) for t in time], atol=1e-12)
        assert np.allclose(values[row], found.y[0], atol=1e-7)


def test_cases_follow_the_seed_and_held_out_ones_are_others():
    drawn = lambda seed, held_out: Cases.drawn(
        seed, count=4, points=64, varied=True, held_out=held_out
    )
    assert torch.equal(drawn(0, held_out=False).inputs, drawn(0, held_out=False).inputs)
    assert not torch.equal(drawn(0, held_out=False).inputs, drawn(1, held_out=False).inputs)
    assert not torch.equal(drawn(0, held_out=False).inputs, drawn(0, held_out=True).inputs)


def test_relative_error_of_nothing_is_one():
    truth = torch.rand(3, 1, 50)
    assert torch.allclose(relative_errors(torch.zeros_like(truth), truth), torch.ones(3))


def test_the_command_tells_every_seed(capsys):
    assert main(["--seeds", "2", "--steps", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines] == ["seed 0", "seed 1"]


@pytest.mark.slow
@pytest.mark.parametrize(("varied", "bound"), [(False, 1e-3), (True, 1e-2)])
def test_five_seeds_learn_and_do_no_worse_on_finer_grids(varied, bound):
    nets = trained(range(5), recipe_for(varied=varied, steps=2000), varied=varied)
    for seed, net in enumerate(nets):
        assert count_parameters(net) <= 806
        errors = [
            held_out_error(net, seed, points, varied=varied)
            for points in (256, 512, 1024, 2048)
        ]
        assert errors[0] <= bound, (seed, errors)
        assert max(errors) < 1.02 * errors[0], (seed, errors)
