"""Newmark's method against closed forms, and its two kinds of systems against each other."""

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csc_array

from mflno.problems.newmark import Matrices, Modes, factorised, newmark

SQUARE, DAMPING = 2.0, 0.3


def oscillator():
    one = np.ones((1, 1))
    return Modes(SQUARE * one, DAMPING, one, one)


def tips(system, loads, step):
    return np.stack([system.tip(m.displacement) for m in newmark(system, loads, step)], -1)


def step_response_error(count):
    """An oscillator at rest, a load of one from the start on; closed form."""
    times = np.linspace(0.0, 10.0, count + 1)
    fast = np.sqrt(SQUARE - DAMPING**2 / 4)
    ring = np.cos(fast * times) + DAMPING / (2 * fast) * np.sin(fast * times)
    exact = (1.0 - np.exp(-DAMPING * times / 2) * ring) / SQUARE
    answer = tips(oscillator(), np.ones((1, count + 1)), 10.0 / count)[0, 0]
    return np.abs(answer - exact).max()


def test_order_is_two_under_a_load_that_starts_at_once():
    errors = [step_response_error(count) for count in (100, 200, 400, 800)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.01)


def small_system():
    random = np.random.default_rng(3)
    root = random.normal(size=(2, 6, 6))
    mass, stiffness = (a @ a.T + 3 * np.eye(6) for a in root)
    return mass, stiffness, random.normal(size=6)


def test_matrices_and_their_modes_move_alike():
    mass, stiffness, force = small_system()
    squares, shapes = eigh(stiffness, mass)
    sparse = Matrices(csc_array(mass), csc_array(stiffness), DAMPING, force, 4)
    modes = Modes(squares[None], DAMPING, (shapes.T @ force)[None], shapes[4][None])
    times = 0.1 * np.arange(200)
    loads = np.stack([np.cos(times), np.exp(-times)])
    np.testing.assert_allclose(tips(modes, loads, 0.1)[0], tips(sparse, loads, 0.1), atol=1e-13)


def test_each_step_satisfies_the_equation_of_motion():
    mass, stiffness, force = small_system()
    system = Matrices(csc_array(mass), csc_array(stiffness), DAMPING, force, 0)
    loads = np.cos(0.1 * np.arange(50))[None]
    for strength, (u, v, a) in zip(loads[0], newmark(system, loads, 0.1), strict=True):
        left = mass @ (a + DAMPING * v) + stiffness @ u
        np.testing.assert_allclose(left[:, 0], strength * force, atol=1e-12)


def test_factorised_is_the_inverse():
    mass, _, force = small_system()
    np.testing.assert_allclose(mass @ factorised(csc_array(mass))(force), force, atol=1e-12)
