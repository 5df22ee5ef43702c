import numpy as np
import pytest

from mflno.problems.integration import states_on_grid


def swing(time, state):
    return np.array([state[1], -state[0] + 0.1 * np.cos(2.0 * time)])


def test_error_falls_with_the_eighth_power_of_the_step():
    start = np.array([[1.0], [0.0]])
    # u = cos t + (cos t - cos 2t) / 30
    truth = lambda t: np.cos(t) + (np.cos(t) - np.cos(2.0 * t)) / 30.0
    errors = []
    for steps in (10, 20, 40):
        grid = np.linspace(0.0, 8.0, steps + 1)
        states = states_on_grid(swing, start, grid)[:, 0, 0]
        errors.append(np.abs(states - truth(grid)).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([8.0, 8.0], abs=0.7)


def test_substeps_are_steps_between_the_grid_times():
    start = np.array([[1.0], [0.0]])
    coarse = states_on_grid(swing, start, np.linspace(0.0, 8.0, 21), substeps=4)
    fine = states_on_grid(swing, start, np.linspace(0.0, 8.0, 81))
    assert coarse == pytest.approx(fine[::4], abs=1e-13)


def test_a_case_gives_the_same_bits_alone_and_among_others():
    start = np.random.default_rng(0).normal(size=(2, 9))
    grid = np.linspace(0.0, 4.0, 50)
    together = states_on_grid(swing, start, grid)
    for n in range(9):
        alone = states_on_grid(swing, start[:, n : n + 1], grid)
        assert np.array_equal(alone[..., 0], together[..., n])
