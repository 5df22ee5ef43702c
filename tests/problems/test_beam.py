"""The composite beam as a problem: the paper's figures, linearity, the reduced basis."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from mflno.errors import ArgumentError, MissingExtra
from mflno.problems.beam import GRID, Beam, TipLoad
from mflno.problems.euler_bernoulli import EulerBernoulli
from mflno.problems.newmark import newmark
from mflno.problems.plane_stress import PlaneStress
from mflno.problems.problem import Problem
from mflno.testing import check_problem

pytest.importorskip("skfem")
STRENGTHS, CORES = np.linspace(0.7, 1.3, 20), np.linspace(8000.0, 12000.0, 20)
# The printed cases as nodes of the grid; printed ξ₂ are nodes, printed a₁ are the load's
# highest value on the time grid. Then the paper's RMSE, its relative L2 error.
PAPER = [
    ((11, 9), 9.9427e-2, 5.6327e-1),
    ((19, 15), 9.9402e-2, 4.2923e-1),
    ((2, 14), 5.1106e-2, 4.5517e-1),
    ((11, 17), 7.1611e-2, 4.1170e-1),
    ((7, 14), 6.6903e-2, 4.5599e-1),
]
CASES = np.array([(STRENGTHS[i], CORES[j]) for (i, j), _, _ in PAPER])


@pytest.fixture(scope="module")
def beam():
    return Beam()


@pytest.fixture(scope="module")
def grid():
    return np.stack(np.meshgrid(STRENGTHS, CORES, indexing="ij"), -1).reshape(-1, 2)


def relative(values, truth):
    return np.linalg.norm(values - truth, axis=-1) / np.linalg.norm(truth, axis=-1)


def test_it_is_a_problem(beam):
    assert isinstance(beam, Problem)
    assert [level.points for level in beam.levels] == [101, 101]
    assert beam.levels[0].cost < beam.levels[1].cost


def test_root_mean_square_is_the_papers_at_its_five_cases(beam):
    found = np.sqrt((beam.solve_many(CASES, 1) ** 2).mean(axis=(1, 2)))
    wanted = [rmse / error for _, rmse, error in PAPER]
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_printed_strengths_are_the_loads_highest_values_on_the_grid(beam):
    highest = [beam.inputs(case, 1).max() for case in CASES]
    np.testing.assert_allclose(highest, [1.032, 1.280, 0.752, 1.032, 0.908], atol=5.1e-4)


def test_low_fidelity_is_as_far_off_as_the_papers(beam):
    errors = relative(beam.solve_many(CASES, 0), beam.solve_many(CASES, 1))[:, 0]
    assert errors.min() > 0.41
    assert errors.max() < 0.57
    np.testing.assert_allclose(errors, [error for _, _, error in PAPER], rtol=0.06)


def test_low_fidelity_over_the_grid_is_as_measured(beam, grid):
    errors = relative(beam.solve_many(grid, 0), beam.solve_many(grid, 1))
    np.testing.assert_allclose(
        [errors.mean(), errors.min(), errors.max()], [0.558, 0.366, 0.764], atol=1e-3
    )


def test_reduced_basis_is_within_its_bound_between_the_cores_it_was_made_at(beam):
    case = np.array([1.1, 9052.6])
    error = relative(beam.solve(case, 1), beam.solve(case, 1, full=True))
    assert 0 < error[0] < 5e-5


@pytest.mark.slow
def test_reduced_basis_is_within_its_bound_on_the_whole_grid(beam, grid):
    errors = relative(beam.solve_many(grid, 1), beam.solve_many(grid, 1, full=True))
    assert errors.max() < 5e-5


@pytest.mark.slow
def test_mesh_error_of_the_default_is_about_a_thousandth(beam):
    fine = Beam(high=PlaneStress(refinement=4)).solve_many(CASES, 1)
    assert relative(beam.solve_many(CASES, 1), fine).max() < 1.3e-3


def test_time_stepping_has_order_two_and_a_small_error_at_the_default(beam):
    modes = beam.reduction.modes(np.array([10000.0]))
    tips = {}
    for count in (1, 2, 4, 8, 16, 128):
        times = np.linspace(0.0, 20.0, 100 * count + 1)
        motions = newmark(modes, beam.load.pulses(times), times[1])
        tips[count] = np.stack([modes.tip(m.displacement)[0].sum() for m in motions])[::count]
    errors = {count: relative(tips[count], tips[128]) for count in (1, 2, 4, 8, 16)}
    assert np.log2(errors[8] / errors[16]) == pytest.approx(2.0, abs=0.05)
    assert errors[8] < 1.2e-3
    assert errors[1] > 0.05


def test_trajectories_are_linear_in_the_strength(beam):
    for level in (0, 1):
        low, middle, high = beam.solve_many(
            np.array([[a, 9000.0] for a in (0.7, 1.0, 1.3)]), level
        )
        np.testing.assert_allclose(2 * middle, low + high, atol=1e-13)


def test_it_starts_from_rest_and_is_pulled_down(beam):
    values = beam.solve_many(CASES, 1)[:, 0]
    assert (values[:, 0] == 0).all()
    assert (np.abs(values[:, 1]) < 2e-3).all()
    assert (values[:, 9] < -0.1).all()


def test_load_is_that_of_the_paper(beam):
    t = GRID
    wanted = 0.8 * np.exp(-((t - 1.5) ** 2) / (2 * 0.55**2)) + 0.35 * np.exp(
        -((t - 4.2) ** 2) / (2 * 0.8**2)
    )
    for level in (0, 1):
        np.testing.assert_allclose(beam.inputs(np.array([0.8, 8000.0]), level), wanted[None])


def test_one_case_and_many_give_the_same_bits(beam, grid):
    for level in (0, 1):
        many = beam.solve_many(grid, level)
        for row in (0, 157, 399):
            np.testing.assert_array_equal(beam.solve(grid[row], level), many[row])


def test_a_pickled_beam_is_small_and_gives_the_same_bits(beam):
    wanted = beam.solve_many(CASES, 1)
    text = pickle.dumps(beam)
    assert len(text) < 50_000
    np.testing.assert_array_equal(pickle.loads(text).solve_many(CASES, 1), wanted)
    np.testing.assert_array_equal(Beam().solve_many(CASES, 1), wanted)


def test_deformation_ends_in_the_tip_of_the_trajectory(beam):
    moments = np.array([40, 9])
    field = beam.deformation(CASES[0], moments)
    nodes = beam.high.mesh().nodes
    tip = (np.abs(nodes - [10.0, 0.5]) < 1e-9).all(axis=1)
    values = beam.solve(CASES[0], 1)[0, moments]
    np.testing.assert_allclose(field[:, tip, 1][:, 0], values, rtol=1e-10)
    assert np.abs(field[:, nodes[:, 0] == 0]).max() == 0


def test_other_constants_are_another_version():
    beams = [
        Beam(),
        Beam(full=True),
        Beam(low=EulerBernoulli(stiffness=1199.0)),
        Beam(high=PlaneStress(radius=0.1)),
        Beam(load=TipLoad(strength=0.0)),
    ]
    assert len({beam.version for beam in beams}) == len(beams)
    assert Beam().version == Beam().version


def test_without_scikit_fem_the_thin_beam_works_and_the_other_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfem", None)
    # A beam that no other test has assembled in this process.
    beam = Beam(high=PlaneStress(radius=0.19))
    assert np.isfinite(beam.solve(CASES[0], 0)).all()
    with pytest.raises(MissingExtra, match=r"mflno\[fem\]"):
        beam.solve(CASES[0], 1)


def test_making_a_beam_loads_no_finite_elements():
    code = "import sys; from mflno.problems.beam import Beam; Beam(); \
        sys.exit(any(name in sys.modules for name in ('skfem', 'matplotlib', 'torch')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("case", "level"), [([1.0], 0), ([2.0, 9000.0], 0), ([1.0, np.nan], 1), ([1.0, 9000.0], 2)]
)
def test_what_is_not_a_case_or_a_level_is_refused(beam, case, level):
    with pytest.raises(ArgumentError, match="beam"):
        beam.solve(np.array(case), level)
    with pytest.raises(ArgumentError, match="beam"):
        beam.inputs(np.array(case), level)


def test_it_keeps_the_contract(beam):
    check_problem(beam)
