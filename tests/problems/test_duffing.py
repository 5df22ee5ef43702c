import cmath
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mflno.errors import ArgumentError
from mflno.problems import Duffing, study_cases
from mflno.problems.duffing import displacement, low_fidelity

PRINTED = [
    (6.55, 0.456, 0.0065816 / 0.026597),
    (6.3, 0.418, 0.007197 / 0.029079),
    (6.3, 0.428, 0.006457 / 0.026337),
    (7.87, 0.442, 0.01337 / 0.045946),
    (6.64, 0.445, 0.006813 / 0.026971),
]
"""C, c, and RMSE over relative L2 error of one method in the paper's trajectory table."""


def independent(C, c):
    def rate(t, x):
        return [x[1], C * np.sin(2 * np.pi * t) - c * x[1] - x[0] - x[0] ** 3]

    grid = np.linspace(0, 20, 2048)
    return solve_ivp(rate, (0, 20), [0, 0], "DOP853", grid, rtol=1e-12, atol=1e-12).y[0]


def low_pass_by_direct_sum(u, t):
    """Trapezoidal Fourier coefficients and their sum, term by term, from k = -64 to 64."""
    T, steps = 20.0, len(u) - 1
    weights = np.ones(len(u))
    weights[[0, -1]] = 0.5
    grid = np.linspace(0, T, len(u))
    total = 0j
    for k in range(-64, 65):
        coefficient = np.sum(weights * u * np.exp(-2j * np.pi * k * grid / T)) / steps
        total += coefficient * cmath.exp(2j * math.pi * k * t / T)
    assert abs(total.imag) < 1e-12
    return total.real


@pytest.mark.parametrize(("C", "c"), [(6.0, 0.4), (6.3, 0.42), (7.9, 0.49), (8.0, 0.5)])
def test_low_fidelity_is_the_direct_fourier_sum_of_an_independent_solution(C, c):
    u = independent(C, c)
    tilde_C, tilde_c = C - 7.0, (c - 0.45) / 0.05
    low = Duffing().solve(np.array([C, c]), 0)[0]
    assert len(low) == 1024
    for j in (0, 1, 200, 777, 1023):
        t = 2 * j * 20 / 2047
        smooth = low_pass_by_direct_sum(u, (0.95 + 0.05 * tilde_c) * t)
        wanted = (0.7 + 0.3 * tilde_C) * smooth + 0.7 * tilde_C * t / 20
        assert low[j] == pytest.approx(wanted, abs=1e-9)


def test_low_fidelity_passes_a_slow_wave_and_stops_a_fast_one():
    t = np.linspace(0, 20, 2048)
    # At C̃ = 0 and c̃ = 1 amplitude 0.7, no drift and no stretch are left of the map.
    slow, fast = (np.sin(2 * np.pi * k * t / 20) for k in (64, 65))
    assert low_fidelity(slow, 0.0, 1.0) == pytest.approx(0.7 * slow[::2], abs=1e-12)
    assert low_fidelity(fast, 0.0, 1.0) == pytest.approx(np.zeros(1024), abs=1e-12)


def test_low_fidelity_stretches_scales_and_drifts():
    t = np.linspace(0, 20, 2048)
    wave = np.cos(2 * np.pi * 5 * t / 20)
    time = t[::2]
    stretched = np.cos(2 * np.pi * 5 * 0.9 * time / 20)
    assert low_fidelity(wave, 0.0, -1.0) == pytest.approx(0.7 * stretched, abs=1e-12)
    drifting = 1.0 * wave[::2] + 0.7 * time / 20
    assert low_fidelity(wave, 1.0, 1.0) == pytest.approx(drifting, abs=1e-12)


def test_root_mean_square_is_that_of_the_paper():
    C, c, wanted = np.array(PRINTED).T
    values = Duffing().solve_many(np.stack([C, c], axis=1), level=1)
    assert np.sqrt(np.mean(values**2, axis=(1, 2))) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize(
    "make", [Duffing, Duffing.wide, Duffing.jump], ids=["paper", "wide", "jump"]
)
def test_halving_the_step_changes_nothing_that_matters(make):
    problem = make()
    cases = study_cases(problem).candidates
    one, half = (displacement(cases, problem.frequency, substeps=n) for n in (1, 2))
    change = np.linalg.norm(one - half, axis=1) / np.linalg.norm(half, axis=1)
    assert change.max() < 1e-8


def test_low_differs_from_high_by_about_its_size():
    problem = Duffing()
    for cases in study_cases(problem):
        low = problem.solve_many(cases, 0)[:, 0]
        high = displacement(cases)[:, ::2]
        gap = np.linalg.norm(low - high, axis=1) / np.linalg.norm(high, axis=1)
        # 1.12 over the grid, 1.03 with a standard error of 0.03 over drawn cases.
        assert gap.mean() == pytest.approx(1.08, abs=0.08)


def shapes_needed(problem, error):
    """How many orthogonal shapes give all candidates, each of unit norm, to this error."""
    values = displacement(study_cases(problem).candidates)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    power = np.linalg.svd(values, compute_uv=False) ** 2
    left = np.sqrt(np.clip(1.0 - np.cumsum(power) / power.sum(), 0.0, None))
    return int(np.sum(left > error)) + 1


def test_wide_box_holds_twice_as_many_shapes():
    assert shapes_needed(Duffing(), 1e-2) == 3
    assert shapes_needed(Duffing.wide(), 1e-2) == 7


def steepest(problem, damping, neighbours):
    """Change of a trajectory from neighbour to neighbour along C: largest, median, where."""
    cases = np.full((neighbours + 1, 2), damping)
    cases[:, 0] = np.linspace(1.0, 10.0, neighbours + 1)
    values = displacement(cases, problem.frequency)
    change = np.linalg.norm(np.diff(values, axis=0), axis=1)
    change /= np.linalg.norm(values[1:], axis=1)
    return change.max(), np.median(change), cases[change.argmax(), 0]


def test_the_response_jumps_in_its_own_problem_and_not_in_the_wide_box():
    for damping, place in ((0.08, 5.5), (0.5, 7.5)):
        largest, middle, where = steepest(Duffing.jump(), damping, 400)
        assert largest > 0.75 > 25 * middle
        assert where == pytest.approx(place, abs=0.05)
        coarse, fine = (steepest(Duffing.wide(), damping, n)[0] for n in (100, 200))
        # Half the way, half the change: smooth.
        assert fine == pytest.approx(coarse / 2, rel=0.1)


def test_another_drive_or_step_is_another_version():
    made = [Duffing(), Duffing.jump(), Duffing(refinement=2), Duffing(frequency=2.0)]
    assert len({each.version for each in made}) == 4
    drive = made[1].inputs(np.array([5.0, 0.2]), 1)[0]
    assert drive == pytest.approx(5 * np.sin(3 * np.linspace(0, 20, 2048)))
    case = np.array([7.0, 0.45])
    assert made[2].solve(case, 1) == pytest.approx(made[0].solve(case, 1), rel=1e-8)
    with pytest.raises(ArgumentError, match=r"Duffing.refinement: must be 1 or more"):
        Duffing(refinement=0)


def test_the_slow_drive_is_the_one_that_is_solved():
    def rate(t, x):
        return [x[1], 5 * np.sin(3 * t) - 0.2 * x[1] - x[0] - x[0] ** 3]

    grid = np.linspace(0, 20, 2048)
    done = solve_ivp(rate, (0, 20), [0, 0], "DOP853", grid, rtol=1e-12, atol=1e-12)
    values = Duffing.jump().solve(np.array([5.0, 0.2]), 1)[0]
    assert values == pytest.approx(done.y[0], abs=1e-8)
