"""The finite elements: patches with known energy, beam theory, convergence, conservation."""

import sys

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from mflno.errors import MissingExtra
from mflno.problems.newmark import factorised, newmark
from mflno.problems.plane_stress import PlaneStress, assembled

pytest.importorskip("skfem")
CORE, FACE, POISSON = 8000.0, 19000.0, 0.3
HOLE = np.pi * 0.2**2
FACE_AREA, CORE_AREA = 2.0, 8.0 - 9 * HOLE


def plate_of(refinement, **change):
    return assembled(PlaneStress(refinement=refinement, **change))


@pytest.fixture(scope="module")
def coarse():
    return plate_of(1)


@pytest.fixture(scope="module")
def default():
    return plate_of(2)


def unknowns_of(plate, field):
    """The unknowns of a displacement field that is zero at the clamp."""
    values = np.stack(field(*plate.mesh.nodes.T), axis=1)
    free = plate.unknowns >= 0
    vector = np.empty(free.sum())
    vector[plate.unknowns[free]] = values[free]
    return vector


def frequencies(plate, core=10000.0, count=2):
    system = plate.system(core)
    return np.sqrt(eigsh(system.stiffness, count, system.mass, sigma=0, v0=plate.force)[0])


def static_tip(plate, core):
    return factorised(plate.system(core).stiffness)(plate.force)[plate.tip_row]


def energy(matrix, vector):
    return vector @ (matrix @ vector)


@pytest.mark.parametrize(
    ("field", "modulus"),
    [
        (lambda x, y: (x, 0 * x), 1 / (1 - POISSON**2)),
        (lambda x, y: (0 * x, x), 1 / (2 * (1 + POISSON))),
    ],
    ids=["stretch", "shear"],
)
def test_linear_fields_have_their_energy_in_each_layer(default, field, modulus):
    vector = unknowns_of(default, field)
    assert energy(default.faces, vector) == pytest.approx(FACE * FACE_AREA * modulus, rel=1e-10)
    # The parabolas miss the area of the circles by 8e-7 of the beam.
    assert energy(default.core, vector) == pytest.approx(CORE_AREA * modulus, rel=2e-6)


def test_a_bilinear_field_has_its_energy_with_the_term_in_poissons_ratio():
    solid = plate_of(1, holes=0)
    # u = (x, x y): strains 1, x, shear y; their integrals over [0, 10] x [0, 1] by hand.
    stretch = 10.0 + 1000.0 / 3 + 2 * POISSON * 50.0
    wanted = FACE * stretch / (1 - POISSON**2) + FACE / (2 * (1 + POISSON)) * 10.0 / 3
    stiffness = solid.system(FACE).stiffness
    vector = unknowns_of(solid, lambda x, y: (x, x * y))
    assert energy(stiffness, vector) == pytest.approx(wanted, rel=1e-10)


def test_mass_is_that_of_the_material_left(default):
    centres = np.arange(1, 10)
    wanted = 1000.0 / 3 - HOLE * (centres**2 + 0.2**2 / 4).sum()
    vector = unknowns_of(default, lambda x, y: (0 * x, x))
    assert energy(default.mass, vector) == pytest.approx(wanted, rel=3e-6)


def test_load_pulls_the_end_down_with_a_force_of_one(default):
    assert default.force @ unknowns_of(default, lambda x, y: (0 * x, x)) == pytest.approx(-10.0)
    assert default.force @ unknowns_of(default, lambda x, y: (x, 0 * x)) == pytest.approx(0.0)


def test_field_puts_each_unknown_at_its_node(default):
    pair = lambda x, y: (x * y, x - x * y**2)
    field = default.field(unknowns_of(default, pair))
    np.testing.assert_array_equal(field, np.stack(pair(*default.mesh.nodes.T), axis=1))
    assert field[(default.mesh.nodes == [10.0, 0.5]).all(axis=1), 1] == pytest.approx(7.5)
    assert unknowns_of(default, pair)[default.tip_row] == pytest.approx(7.5)


def section(core):
    """Bending stiffness, and shear compliance by the energy of the equilibrium stress."""
    y = np.linspace(-0.5, 0.5, 200001)
    modulus = np.where(np.abs(y) > 0.4, FACE, core)
    bending = FACE * (1 - 0.8**3) / 12 + core * 0.8**3 / 12
    moment = lambda a: (
        FACE * (0.25 - np.maximum(a, 0.4) ** 2) / 2 + core * np.maximum(0.16 - a**2, 0) / 2
    )
    stress = moment(np.abs(y)) / bending
    shear = 2 * (1 + POISSON) * np.trapezoid(stress**2 / modulus, y)
    return bending, shear


@pytest.mark.parametrize(("core", "bernoulli"), [(FACE, 0.0059), (10000.0, 0.0087)])
def test_solid_static_tip_is_that_of_beam_theory(core, bernoulli):
    tip = -static_tip(plate_of(2, holes=0), core)
    bending, shear = section(core)
    slender = 10.0**3 / (3 * bending)
    assert tip / slender - 1 == pytest.approx(bernoulli, abs=1e-4)
    # The clamp holds the section's width as well, which beam theory leaves free: 0.2 %.
    assert abs(tip / (slender + 10.0 * shear) - 1) < 2.5e-3


def test_the_gap_to_timoshenko_is_the_clamps_and_halves_as_the_length_doubles():
    gaps = []
    for length in (5.0, 10.0, 20.0):
        tip = -static_tip(plate_of(1, holes=0, length=length), 10000.0)
        bending, shear = section(10000.0)
        gaps.append(1 - tip / (length**3 / (3 * bending) + length * shear))
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 2.0, atol=0.35)


def test_first_frequencies_are_those_of_the_table(default):
    found = [frequencies(default, core)[0] for core in (8000.0, 10000.0, 12000.0)]
    np.testing.assert_allclose(found, [1.2085, 1.2545, 1.2984], atol=5e-5)
    assert frequencies(default)[0] == pytest.approx(1.254477, abs=2e-6)
    assert frequencies(default)[1] == pytest.approx(7.24, abs=5e-3)


@pytest.mark.slow
def test_first_frequency_converges_from_above():
    found = [frequencies(plate_of(k))[0] for k in (1, 2, 4)]
    falls = -np.diff(found)
    assert (falls > 0).all()
    # The corners of the clamp limit the order to about two.
    assert 1.8 < np.log2(falls[0] / falls[1]) < 2.6
    assert found[2] == pytest.approx(1.254366, abs=2e-6)
    assert found[2] - falls[1] / (falls[0] / falls[1] - 1) == pytest.approx(1.25433, abs=1e-5)


def released(plate, damping, times):
    """The motion after the beam, bent by a load of one, is let go."""
    system = plate.system(10000.0)
    system = type(system)(system.mass, system.stiffness, damping, system.force, system.tip_row)
    bent = factorised(system.stiffness)(plate.force)[:, None]
    loads = np.zeros((1, len(times)))
    return system, newmark(system, loads, times[1], start=(bent, 0.0 * bent))


def total_energy(system, motion):
    u, v = motion.displacement[:, 0], motion.velocity[:, 0]
    return 0.5 * (energy(system.mass, v) + energy(system.stiffness, u))


def test_free_undamped_motion_keeps_its_energy(coarse):
    system, motions = released(coarse, 0.0, 0.025 * np.arange(401))
    energies = np.array([total_energy(system, motion) for motion in motions])
    assert np.ptp(energies) < 1e-8 * energies[0]


def test_energy_of_damped_motion_falls_as_the_damping_says(coarse):
    times = 0.025 * np.arange(801)
    system, motions = released(coarse, 0.0215, times)
    energies = np.array([total_energy(system, motion) for motion in motions])
    assert energies[800] / energies[400] == pytest.approx(np.exp(-0.215), rel=1e-3)


def test_work_of_the_load_is_the_energy_gained(coarse):
    system = coarse.system(10000.0)
    system = type(system)(system.mass, system.stiffness, 0.0, system.force, system.tip_row)
    times = 0.025 * np.arange(201)
    load = np.exp(-(((times - 1.5) / 0.55) ** 2) / 2)[None]
    work, before = 0.0, None
    for number, motion in enumerate(newmark(system, load, 0.025)):
        if before is not None:
            force = 0.5 * (load[0, number] + load[0, number - 1]) * system.force
            work += force @ (motion.displacement - before.displacement)[:, 0]
        before = motion
    assert total_energy(system, before) == pytest.approx(work, rel=1e-8)


def test_without_scikit_fem_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "skfem", None)
    with pytest.raises(MissingExtra, match=r"mflno\[fem\]"):
        assembled(PlaneStress())
