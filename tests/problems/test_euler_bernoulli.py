"""The thin beam against the continuous one."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from mflno.errors import ArgumentError
from mflno.problems.beam import GRID, TipLoad
from mflno.problems.euler_bernoulli import EulerBernoulli, curvature_energy
from mflno.problems.newmark import newmark

CORE = np.array([10000.0])
KAPPA = 1400.0


def roots(count):
    """βL of a clamped-free beam: cos βL cosh βL = -1."""
    equation = lambda x: np.cos(x) + 1 / np.cosh(x)
    return np.array([brentq(equation, np.pi * n, np.pi * (n + 1)) for n in range(count)])


def frequency_errors(intervals, count=3):
    squares = EulerBernoulli(intervals=intervals).modes(CORE).squares[0, :count]
    exact = (roots(count) / 10.0) ** 2 * np.sqrt(KAPPA)
    return np.abs(np.sqrt(squares) / exact - 1)


def static_tip(intervals):
    modes = EulerBernoulli(intervals=intervals).modes(CORE)
    return (modes.force * modes.deflection / modes.squares).sum()


def test_frequencies_converge_with_order_two():
    errors = np.array([frequency_errors(n) for n in (50, 100, 200)])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2.0, atol=0.05)
    assert errors[1, 0] < 1e-4


def test_first_frequencies_are_those_of_the_table():
    squares = EulerBernoulli().modes(np.array([8000.0, 10000.0, 12000.0])).squares
    np.testing.assert_allclose(np.sqrt(squares[:, 0]), [1.2929, 1.3155, 1.3376], atol=5e-5)


def test_static_tip_is_down_and_that_of_beam_theory():
    exact = -(10.0**3) / (3 * KAPPA)
    errors = np.array([static_tip(n) / exact - 1 for n in (50, 100)])
    np.testing.assert_allclose(errors, [2e-4, 5e-5], rtol=1e-3)


def test_rows_are_the_central_differences():
    matrix = curvature_energy(8)
    np.testing.assert_allclose(matrix[0, :3], [7, -4, 1], atol=1e-14)
    np.testing.assert_allclose(matrix[3, 1:6], [1, -4, 6, -4, 1], atol=1e-14)
    np.testing.assert_allclose(matrix[6, 4:], [1, -4, 5, -2], atol=1e-14)
    np.testing.assert_allclose(matrix[7, 5:], [1, -2, 1], atol=1e-14)


def continuous_tip():
    """The tip by modes of the continuous beam, integrated in time by Runge and Kutta."""
    squares = (roots(8) / 10.0) ** 4 * KAPPA

    def rate(t, state):
        q, speed = state.reshape(2, -1)
        load = 0.9 * np.exp(-((t - 1.5) ** 2) / 0.605) + 0.35 * np.exp(-((t - 4.2) ** 2) / 1.28)
        # A mode of unit mean square has |φ(L)| = 2: its share of a load of one is 4 / (ρ L).
        return np.concatenate([speed, -0.4 * load - 0.0215 * speed - squares * q])

    options = {"method": "DOP853", "rtol": 1e-8, "atol": 1e-9}
    return solve_ivp(rate, (0.0, 20.0), np.zeros(16), t_eval=GRID, **options).y[:8].sum(axis=0)


def test_trajectory_converges_to_that_of_the_continuous_beam():
    exact, errors = continuous_tip(), []
    for fineness in (1, 2, 4):
        times = np.linspace(0.0, 20.0, 800 * fineness + 1)
        modes = EulerBernoulli(intervals=100 * fineness).modes(CORE)
        motions = newmark(modes, TipLoad().pulses(times), times[1])
        tips = np.stack([modes.tip(m.displacement)[0] for m in motions])[:: 8 * fineness]
        errors.append(np.linalg.norm(tips @ [0.9, 1.0] - exact) / np.linalg.norm(exact))
    assert errors[0] < 2.5e-3
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.1)


def test_a_beam_of_too_few_intervals_is_refused():
    with pytest.raises(ArgumentError, match="intervals"):
        EulerBernoulli(intervals=3)
