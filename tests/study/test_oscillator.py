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
    squared_norms,
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


@pytest.mark.parametrize("points", [64, 128, 256])
def test_norm_is_that_of_the_function_and_not_of_the_grid(points):
    # A spike at the start and a wave: the integral of the square is known.
    rate, turn, span = 2.0, 3.0, 20.0
    time = torch.linspace(0.0, span, points, dtype=torch.float64)
    values = torch.exp(-rate * time) * torch.sin(turn * time)
    truth = (1 / rate - rate / (rate**2 + turn**2)) / 4
    found = squared_norms(values) * span / (points - 1)
    assert abs(found / truth - 1) < 0.2 * (64 / points) ** 4


def test_norm_of_a_cubic_is_exact():
    time = torch.arange(9, dtype=torch.float64)
    values = time**3 - 10 * time
    truth = 8**7 / 7 - 20 * 8**5 / 5 + 100 * 8**3 / 3
    assert torch.allclose(squared_norms(values), torch.tensor(truth, dtype=torch.float64))


def test_the_command_tells_every_seed(capsys):
    assert main(["--seeds", "2", "--steps", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:6] for line in lines] == ["seed 0", "seed 1"]


@pytest.mark.slow
@pytest.mark.parametrize(("varied", "bound"), [(False, 1e-3), (True, 1e-2)])
def test_five_seeds_learn_and_finer_grids_change_their_errors_by_less_than_two_percent(
    varied, bound
):
    nets = trained(range(5), recipe_for(varied=varied, steps=2000), varied=varied)
    for seed, net in enumerate(nets):
        assert count_parameters(net) <= 806
        errors = [
            held_out_error(net, seed, points, varied=varied)
            for points in (256, 512, 1024, 2048)
        ]
        assert errors[0] <= bound, (seed, errors)
        assert all(abs(e / errors[0] - 1) < 0.02 for e in errors), (seed, errors)
