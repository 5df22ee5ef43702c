import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mflno.problems import Lorenz, study_cases
from mflno.problems.lorenz import convection

PRINTED = [
    (0.67, 7.0, 0.076992 / 0.019369),
    (0.98, 7.72, 0.14749 / 0.035011),
    (0.97, 7.38, 0.12987 / 0.03165),
    (0.11, 5.35, 0.088293 / 0.026225),
    (0.6, 6.41, 0.06677 / 0.017714),
]
"""a, ρ, and RMSE over relative L2 error of one method in the paper's trajectory table: the
root mean square of the true trajectory, whatever the method."""


def independent(a, rho, grid):
    def rate(t, x):
        force = (0.2 + 5 * a) * np.sin(2 * np.pi * t)
        u, y, z = x
        return [10 * (y - u) + force, u * (rho - z) - y, u * y - 8 / 3 * z]

    span = grid[0], grid[-1]
    done = solve_ivp(rate, span, [1, 0, 0], "DOP853", grid, rtol=1e-12, atol=1e-12)
    return done.y[0]


def test_root_mean_square_is_that_of_the_paper():
    a, rho, wanted = np.array(PRINTED).T
    values = Lorenz().solve_many(np.stack([a, rho], axis=1), level=1)
    assert np.sqrt(np.mean(values**2, axis=(1, 2))) == pytest.approx(wanted, rel=1e-3)


def test_high_fidelity_is_what_an_adaptive_solver_gives():
    problem = Lorenz()
    truth = independent(0.8, 7.5, problem.levels[1].grid)
    assert problem.solve(np.array([0.8, 7.5]), 1)[0] == pytest.approx(truth, abs=1e-8)


def test_low_fidelity_is_the_closed_form_of_an_independent_solution():
    problem = Lorenz()
    t = np.linspace(0.0, 20.0, 512)
    wanted = independent(0.3, 5.5, t) * (1 + 0.3 * np.sin(t)) + 1.5 + 0.0225 * t
    assert problem.solve(np.array([0.3, 5.5]), 0)[0] == pytest.approx(wanted, abs=1e-8)


def test_halving_the_step_changes_nothing_that_matters():
    problem, cases = Lorenz(), study_cases(Lorenz()).candidates
    for level in (0, 1):
        grid = problem.levels[level].grid
        one, half = (convection(cases, grid, refinement=n) for n in (1, 2))
        change = np.linalg.norm(one - half, axis=1) / np.linalg.norm(half, axis=1)
        assert change.max() < 1e-8


def test_low_differs_from_high_by_half_over_the_test_set():
    problem, cases = Lorenz(), study_cases(Lorenz()).tests
    low = problem.solve_many(cases, 0)[:, 0]
    high = convection(cases, problem.levels[0].grid)
    gap = np.linalg.norm(low - high, axis=1) / np.linalg.norm(high, axis=1)
    # 0.508 with a standard error of 0.003 over the draw of the test cases.
    assert gap.mean() == pytest.approx(0.51, abs=0.01)


def test_forcing_is_what_drives_the_system():
    problem = Lorenz()
    grid = problem.levels[0].grid
    wanted = (0.2 + 5 * 0.4) * np.sin(2 * np.pi * grid)
    assert problem.inputs(np.array([0.4, 6.0]), 0)[0] == pytest.approx(wanted)


def test_a_finer_step_is_another_version_with_the_same_numbers():
    fine, case = Lorenz(refinement=2), np.array([0.4, 6.0])
    assert fine.version != Lorenz().version
    assert fine.solve(case, 0) == pytest.approx(Lorenz().solve(case, 0), rel=1e-8)
    assert not np.array_equal(fine.solve(case, 0), Lorenz().solve(case, 0))
