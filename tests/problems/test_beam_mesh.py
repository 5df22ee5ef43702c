"""The mesh of the perforated beam: conforming, upright, of the right area."""

from collections import Counter

import numpy as np
import pytest

from mflno.errors import ArgumentError
from mflno.problems.beam_mesh import OUTLINE
from mflno.problems.plane_stress import PlaneStress

RADIUS, HOLES = 0.2, 9
AREA = 10.0 - HOLES * np.pi * RADIUS**2


@pytest.fixture(scope="module")
def mesh():
    return PlaneStress().mesh()


def outline_area(mesh):
    """Area inside the parabolic outline of each cell, by Green's theorem and Simpson's rule.

    Along a side x and y are quadratic and x dy - y dx is a cubic: Simpson is exact.
    """
    sides = np.array([(OUTLINE[i], OUTLINE[i + 1], OUTLINE[(i + 2) % 8]) for i in (0, 2, 4, 6)])
    a, m, b = np.moveaxis(mesh.nodes[mesh.cells[:, sides]], 2, 0)
    slopes = (-3 * a + 4 * m - b, b - a, a - 4 * m + 3 * b)
    cross = lambda p, q: p[..., 0] * q[..., 1] - p[..., 1] * q[..., 0]
    parts = zip((1, 4, 1), (a, m, b), slopes, strict=True)
    return np.sum([w * cross(p, s) for w, p, s in parts], axis=(0, 2)) / 12


def test_curved_holes_have_their_area(mesh):
    areas = outline_area(mesh)
    assert areas.min() > 0
    assert abs(areas.sum() - AREA) < 1e-5
    assert round(areas.sum(), 6) == 8.869034


def test_area_error_falls_with_the_fourth_power_of_the_cell_size():
    errors = [outline_area(PlaneStress(refinement=k).mesh()).sum() - AREA for k in (1, 2, 4)]
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 4.0, atol=0.25)


def test_no_cell_is_turned_over(mesh):
    assert mesh.corner_areas().min() > 0


def test_cells_and_nodes_are_as_many_as_counted_by_hand(mesh):
    rings, ends, faces = HOLES * 32 * 4, 2 * 4 * 8, 2 * 80 * 2
    assert len(mesh.cells) == rings + ends + faces == 1536
    assert mesh.is_face.sum() == faces
    # 13,166 unknowns and the 25 clamped nodes.
    assert 2 * (len(mesh.nodes) - 25) == 13166
    assert len(mesh.nodes_near(0, 0.0)) == 25


def test_cells_meet_side_to_side_and_the_border_closes(mesh):
    sides = [tuple(OUTLINE[(i + j) % 8] for j in (0, 1, 2)) for i in (0, 2, 4, 6)]
    count = Counter()
    for cell in mesh.cells:
        for a, middle, b in sides:
            count[(*sorted((cell[a], cell[b])), cell[middle])] += 1
    assert set(count.values()) == {1, 2}
    border = sum(number == 1 for number in count.values())
    assert border == 2 * 80 + 2 * (8 + 4) + HOLES * 32


def test_hole_nodes_lie_on_the_circle(mesh):
    centres = np.stack([np.arange(1.0, 10.0), np.full(9, 0.5)], axis=1)
    away = np.linalg.norm(mesh.nodes[:, None] - centres, axis=2).min(axis=1)
    assert away.min() > RADIUS - 1e-12
    assert (np.abs(away - RADIUS) < 1e-12).sum() == HOLES * 64


def test_each_cell_is_of_one_material(mesh):
    y = mesh.nodes[mesh.cells, 1]
    faces = (y.max(axis=1) <= 0.1 + 1e-12) | (y.min(axis=1) >= 0.9 - 1e-12)
    np.testing.assert_array_equal(faces, mesh.is_face)
    core = ~mesh.is_face
    assert y[core].min() > 0.1 - 1e-12
    assert y[core].max() < 0.9 + 1e-12


def test_mesh_is_its_own_mirror_image(mesh):
    place = lambda nodes: {tuple(row) for row in (np.round(nodes, 9) + 0.0).tolist()}
    flipped = np.array([0.0, 1.0]) + np.array([1.0, -1.0]) * mesh.nodes
    assert place(flipped) == place(mesh.nodes)


def test_a_beam_without_holes_is_a_rectangle():
    assert abs(outline_area(PlaneStress(holes=0).mesh()).sum() - 10.0) < 1e-12


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"radius": 0.4}, "radius"),
        ({"holes": 30}, "radius"),
        ({"face": 0.5}, "face"),
        ({"refinement": 0}, "refinement"),
    ],
)
def test_what_does_not_fit_is_refused(change, place):
    with pytest.raises(ArgumentError, match=place):
        PlaneStress(**change)
