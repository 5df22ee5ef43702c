"""A mesh of curved biquadratic quadrilaterals for a layered beam with a row of round holes."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.shapes import Float, Int

CORNERS = (0, 1, 2, 3)
OUTLINE = (0, 4, 1, 5, 2, 6, 3, 7)


@dataclass(frozen=True)
class BeamMesh:
    """Nodes and biquadratic cells; the beam lies along x, from its clamp at x = 0.

    Attributes:
        nodes: Coordinates (x, y), one row a node.
        cells: The nine nodes of each cell: four corners counterclockwise, the middles of the
            four sides that follow them, the centre.
        is_face: Which cells lie in the top or the bottom layer.
    """

    nodes: Float[ndarray, "K 2"]
    cells: Int[ndarray, "E 9"]
    is_face: ndarray

    def nodes_near(self, axis: int, value: float) -> Int[ndarray, " B"]:
        """The nodes whose x (axis 0) or y (axis 1) has this value."""
        return np.flatnonzero(np.abs(self.nodes[:, axis] - value) < 1e-9)

    def corner_areas(self) -> Float[ndarray, " E"]:
        """Signed area of each cell's corner quadrilateral; negative where it is turned over."""
        x, y = np.moveaxis(self.nodes[self.cells[:, CORNERS]], 2, 0)
        following = lambda row: np.roll(row, -1, axis=1)
        return 0.5 * (x * following(y) - y * following(x)).sum(axis=1)


def beam_mesh(
    length: float, height: float, *, face: float, radius: float, holes: int, refinement: int
) -> BeamMesh:
    """The mesh: a ring of cells about each hole, plain rectangles everywhere else.

    Holes stand at equal distances on the middle line, half as far again from either end. No
    cell crosses the border between core and faces, so each cell is of one material.

    Args:
        length: Of the beam.
        height: Of the beam.
        face: Thickness of the top and of the bottom layer.
        radius: Of the holes; they must fit between the faces and between each other.
        holes: How many; 0 for a solid beam.
        refinement: Cells double in both directions when this doubles.
    """
    pitch, top = length / (holes + 1), height - face
    across, along, thick = 4 * refinement, 4 * refinement, refinement
    # Without holes, cells of about the size they would have with one hole to each height.
    columns = along * (holes + 1 if holes else max(1, round(length / height)))
    patches = [
        rectangle((0.0, length), (0.0, face), (columns, thick)),
        rectangle((0.0, length), (top, height), (columns, thick)),
    ]
    faces = sum(len(patch_cells(patch)) for patch in patches)
    if holes == 0:
        patches.append(rectangle((0.0, length), (face, top), (columns, across)))
    else:
        for start in (0.0, length - pitch / 2):
            ends = start, start + pitch / 2
            patches.append(rectangle(ends, (face, top), (along // 2, across)))
        sides, counts = (pitch / 2, height / 2 - face), (along, across)
        ring = hole_ring(sides, counts, radius=radius, layers=2 * refinement)
        centres = pitch * np.arange(1, holes + 1)
        patches += [ring + np.array([x, height / 2]) for x in centres]
    return joined(patches, faces)


def rectangle(
    x: tuple[float, float], y: tuple[float, float], counts: tuple[int, int]
) -> Float[ndarray, "I J 2"]:
    """The node lattice of a rectangle: two node intervals to a cell."""
    lines = [
        np.linspace(*ends, 2 * count + 1) for ends, count in zip((x, y), counts, strict=True)
    ]
    return np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1)


def hole_ring(
    sides: tuple[float, float], counts: tuple[int, int], *, radius: float, layers: int
) -> Float[ndarray, "I J 2"]:
    """The node lattice between a circle and the box around it, both centred at the origin.

    Rays go straight from the circle to the box. Corner nodes of the circle sit where the line
    to the centre crosses it; its middle nodes halve the angle, so that a parabola through the
    three fits the arc best.
    """
    wide, tall = sides
    a, b = (np.linspace(-1.0, 1.0, 2 * count + 1)[:-1] for count in counts)
    bottom = np.stack([wide * a, np.full_like(a, -tall)], axis=1)
    right = np.stack([np.full_like(b, wide), tall * b], axis=1)
    box = np.concatenate([bottom, right, -bottom, -right])
    box = np.concatenate([box, box[:1]])
    angle = np.unwrap(np.arctan2(box[:, 1], box[:, 0]))
    angle[1::2] = 0.5 * (angle[:-1:2] + angle[2::2])
    circle = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # The last ray is the first one, to the bit: nodes are merged by their coordinates.
    circle[-1] = circle[0]
    outward = np.linspace(0.0, 1.0, 2 * layers + 1)[:, None, None]
    return (1.0 - outward) * circle + outward * box


def patch_cells(lattice: Float[ndarray, "I J 2"]) -> Int[ndarray, "E 9"]:
    """The cells of one lattice, by the lattice's own node numbers."""
    rows, columns, _ = lattice.shape
    number = np.arange(rows * columns).reshape(rows, columns)
    node = lambda i, j: number[i : rows - 2 + i : 2, j : columns - 2 + j : 2].ravel()
    places = [(0, 0), (2, 0), (2, 2), (0, 2), (1, 0), (2, 1), (1, 2), (0, 1), (1, 1)]
    return np.stack([node(i, j) for i, j in places], axis=1)


def joined(patches: list[ndarray], faces: int) -> BeamMesh:
    """One mesh of all patches, nodes at the same place made one; the first cells are faces."""
    starts = np.cumsum([0] + [patch.shape[0] * patch.shape[1] for patch in patches])
    nodes = np.concatenate([patch.reshape(-1, 2) for patch in patches])
    numbered = zip(patches, starts[:-1], strict=True)
    cells = np.concatenate([patch_cells(patch) + start for patch, start in numbered])
    rounded = np.round(nodes, 9)
    _, first, place = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    is_face = np.arange(len(cells)) < faces
    return BeamMesh(nodes[first], place.ravel()[cells], is_face)
