"""The picture of the beam: it draws what was solved."""

import sys

import numpy as np
import pytest

from mflno.errors import MissingExtra
from mflno.problems import Beam
from mflno.report.beam_picture import cell_patches, draw_beam

pytest.importorskip("skfem")
pytest.importorskip("matplotlib")
CASE = np.array([1.0, 10000.0])


def test_cells_are_drawn_with_their_curved_sides():
    mesh = Beam().high.mesh()
    paths = cell_patches(mesh.nodes, mesh.cells, mesh.is_face, edge=0.3).get_paths()
    assert len(paths) == 1536
    x, y = np.stack([np.asarray(path.vertices)[:16] for path in paths]).transpose(2, 0, 1)
    next_x, next_y = np.roll(x, -1, axis=1), np.roll(y, -1, axis=1)
    area = 0.5 * (x * next_y - next_x * y).sum()
    # Circles of 128 straight pieces miss 4.5e-4, of 32 (straight sides) 7e-3.
    assert area == pytest.approx(10.0 - 9 * np.pi * 0.04, abs=1e-3)


def test_picture_shows_both_levels_and_the_extremes(tmp_path):
    beam = Beam()
    figure = draw_beam(beam, CASE)
    lines = figure.axes[3].get_lines()
    np.testing.assert_array_equal(lines[0].get_ydata(), beam.solve(CASE, 1)[0])
    np.testing.assert_array_equal(lines[1].get_ydata(), beam.solve(CASE, 0)[0])
    marked = [np.asarray(line.get_ydata())[0] for line in lines[2:]]
    values = beam.solve(CASE, 1)
    assert marked == [values.min(), values.max()]
    figure.savefig(tmp_path / "beam.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"mflno\[plot\]"):
        draw_beam(Beam(), CASE)
