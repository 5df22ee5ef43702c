import numpy as np
import pytest
from scipy.linalg import expm

from mflno.problems import Chain
from mflno.problems.chain import MASSES, modes


def matrices(n, kappa):
    mass = np.full(n, 1 / n)
    mass[-1] = 0.5 / n
    springs = n * kappa * (2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1))
    springs[-1, -1] = n * kappa
    return mass, springs


def by_matrix_exponential(n, kappa, c, grid):
    """The chain with its drive as one linear system without input: exact at every step."""
    mass, springs = matrices(n, kappa)
    size = 2 * n + 2
    system = np.zeros((size, size))
    system[:n, n : 2 * n] = np.eye(n)
    system[n : 2 * n, :n] = -springs / mass[:, None]
    system[n : 2 * n, n : 2 * n] = -c * np.eye(n)
    system[2 * n - 1, 2 * n] = 1 / mass[-1]
    system[2 * n, 2 * n + 1], system[2 * n + 1, 2 * n] = np.pi, -np.pi
    step = expm(system * (grid[1] - grid[0]))
    state = np.zeros(size)
    state[-1] = 1.0  # sin = 0, cos = 1
    tip = []
    for _ in grid:
        tip.append(state[n - 1])
        state = step @ state
    return np.array(tip)


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize(("kappa", "c"), [(2.0, 0.1), (4.0, 0.1), (3.3, 0.25), (6.0, 0.5)])
def test_solution_is_that_of_the_matrix_exponential(level, kappa, c):
    problem = Chain()
    wanted = by_matrix_exponential(MASSES[level], kappa, c, problem.levels[level].grid)
    values = problem.solve(np.array([kappa, c]), level)[0]
    assert np.linalg.norm(values - wanted) < 1e-8 * np.linalg.norm(wanted)


@pytest.mark.parametrize("n", MASSES)
def test_modes_diagonalise_mass_and_springs(n):
    frequencies, shapes = modes(n, 3.0)
    mass, springs = matrices(n, 3.0)
    assert shapes * mass @ shapes.T == pytest.approx(np.eye(n), abs=1e-12)
    assert shapes @ springs @ shapes.T == pytest.approx(np.diag(frequencies**2), abs=1e-8)


def test_frequencies_tend_to_those_of_the_rod_with_the_square_of_the_spacing():
    errors = [abs(modes(n, 1.0)[0][0] - np.pi / 2) for n in (8, 16, 32)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2.0, 2.0], abs=0.05)
