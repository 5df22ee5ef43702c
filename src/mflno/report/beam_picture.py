"""A picture of the composite beam: its layers and mesh, how it bends, how its tip moves."""

from typing import TYPE_CHECKING

import numpy as np
from numpy import ndarray

from mflno.errors import MissingExtra
from mflno.shapes import Float, Int

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    from mflno.problems import Beam

FACE_COLOUR, CORE_COLOUR, INK = "#7a8ca3", "#e3e8ef", "#26323f"
LOWEST_COLOUR, HIGHEST_COLOUR, LOW_COLOUR = "#2a6f97", "#8a5a9e", "#c8553d"
SIDE_POINTS = 4


def draw_beam(beam: "Beam", case: Float[ndarray, " P"]) -> "Figure":
    """Mesh, the bent beam where its tip is lowest and highest, the tip at both levels.

    Displacements are drawn in true proportion to the beam.

    Args:
        beam: The problem.
        case: a₁ and ξ₂.

    Raises:
        MissingExtra: matplotlib or scikit-fem is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        purpose = "a picture of the beam"
        raise MissingExtra("matplotlib", extra="plot", purpose=purpose) from error
    figure = Figure(figsize=(9.0, 8.4), layout="constrained")
    axes = figure.subplots(4, 1, height_ratios=(1.0, 1.1, 1.1, 2.2))
    draw_mesh(axes[0], beam)
    values = beam.solve(case, 1)[0]
    extremes = [int(values.argmin()), int(values.argmax())]
    names, colours = ("lowest", "highest"), (LOWEST_COLOUR, HIGHEST_COLOUR)
    draw_tips(axes[3], beam, case)
    for panel, moment, name, colour in zip(axes[1:3], extremes, names, colours, strict=True):
        time = beam.levels[1].grid[moment]
        draw_shape(panel, beam, beam.deformation(case, np.array([moment]))[0])
        title = f"Tip {name}, t = {time:.3g}: u = {values[moment]:.3f}, to scale"
        panel.set_title(title, loc="left", fontsize=10, color=colour)
        axes[3].plot(time, values[moment], "o", color=colour, markersize=8, zorder=3)
    return figure


def draw_mesh(axes: "Axes", beam: "Beam") -> None:
    """The cells as they are solved, curved sides and all, coloured by layer."""
    mesh = beam.high.mesh()
    axes.add_collection(cell_patches(mesh.nodes, mesh.cells, mesh.is_face, edge=0.35))
    count = f"{len(mesh.cells):,} biquadratic cells"
    axes.set_title(f"Mesh: {count}; faces dark, core light", loc="left", fontsize=10)
    frame(axes, beam, 0.0, 0.0)


def draw_shape(axes: "Axes", beam: "Beam", field: Float[ndarray, "K 2"]) -> None:
    """The beam bent by a displacement of its nodes, over the dashed outline of it at rest."""
    mesh, length, height = beam.high.mesh(), beam.high.length, beam.high.height
    axes.add_collection(cell_patches(mesh.nodes + field, mesh.cells, mesh.is_face, edge=0.0))
    outline = np.array([(0.0, 0.0), (length, 0.0), (length, height), (0.0, height)])
    axes.plot(*outline.T, color=INK, linestyle=(0, (5, 4)), linewidth=0.8)
    frame(axes, beam, field[:, 1].min(), field[:, 1].max())


def draw_tips(axes: "Axes", beam: "Beam", case: Float[ndarray, " P"]) -> None:
    """The tip's trajectory at both levels."""
    low, high = beam.levels
    axes.plot(high.grid, beam.solve(case, 1)[0], color=INK, label=high.name)
    axes.plot(low.grid, beam.solve(case, 0)[0], "--", color=LOW_COLOUR, label=low.name)
    axes.set(xlabel="time", ylabel="tip displacement u", xlim=(0.0, high.grid[-1]))
    pairs = zip(beam.parameters, case, strict=True)
    title = ", ".join(f"{parameter.name} = {value:g}" for parameter, value in pairs)
    axes.set_title(f"Tip at {title}", loc="left", fontsize=10)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)


def cell_patches(
    nodes: Float[ndarray, "K 2"], cells: Int[ndarray, "E 9"], is_face: ndarray, *, edge: float
) -> "PolyCollection":
    """Each cell as a polygon that follows its parabolic sides."""
    from matplotlib.collections import PolyCollection

    s = np.arange(SIDE_POINTS)[:, None, None] / SIDE_POINTS
    corners, middles = nodes[cells[:, :4]], nodes[cells[:, 4:8]]
    following = np.roll(corners, -1, axis=1)
    outline = [
        (1 - s) * (1 - 2 * s) * corners[:, side]
        + 4 * s * (1 - s) * middles[:, side]
        + s * (2 * s - 1) * following[:, side]
        for side in range(4)
    ]
    polygons = np.concatenate(outline).transpose(1, 0, 2)
    colours = np.where(is_face, FACE_COLOUR, CORE_COLOUR).tolist()
    # Without lines a hairline of the background would show between cells.
    lines, width = (INK, edge) if edge else (colours, 0.3)
    return PolyCollection(
        list(polygons), facecolors=colours, edgecolors=lines, linewidths=width
    )


def frame(axes: "Axes", beam: "Beam", below: float, above: float) -> None:
    """Axes in true proportion with the clamp at the left."""
    length, height = beam.high.length, beam.high.height
    axes.plot([0.0, 0.0], [-0.12 * height, 1.12 * height], color=INK, linewidth=4)
    room = (min(below, 0.0) - 0.15 * height, max(above, 0.0) + 1.15 * height)
    axes.set(xlim=(-0.2, length + 0.3), ylim=room, aspect="equal")
    axes.set_axis_off()
