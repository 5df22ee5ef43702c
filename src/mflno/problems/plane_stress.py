"""The expensive beam: layered and perforated, in plane stress, by finite elements."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.sparse import csc_array

from mflno.errors import ArgumentError, MissingExtra
from mflno.problems.beam_mesh import BeamMesh, beam_mesh
from mflno.problems.newmark import Matrices
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class PlaneStress:
    """A cantilever of two stiff faces and a softer core with a row of round holes.

    ```
    ρ u_tt + c u_t - div σ(u) = 0,    u = 0 at x = 0,    σ n = (0, -g(t)) at x = L
    σ = E / (1 - ν²) ((1 - ν) ε + ν tr(ε) I),    E = ξ₁ in the faces, ξ₂ in the core
    ```

    Biquadratic elements, curved at the holes. The constants are chosen to match the figures
    the paper prints; other sets match them as well.

    Args:
        length: L.
        height: Of the whole section.
        face: Thickness of the top and of the bottom layer.
        radius: Of the holes.
        holes: How many, at equal distances; 0 for a solid beam.
        face_modulus: ξ₁, Young's modulus of both faces.
        poisson: ν, everywhere.
        density: ρ, everywhere.
        damping: c.
        refinement: Of the mesh; 2 gives 13,166 unknowns.
    """

    length: float = 10.0
    height: float = 1.0
    face: float = 0.1
    radius: float = 0.2
    holes: int = 9
    face_modulus: float = 19000.0
    poisson: float = 0.3
    density: float = 1.0
    damping: float = 0.0215
    refinement: int = 2

    def __post_init__(self) -> None:
        """Refuse layers and holes that do not fit."""
        if not 0 < self.face < self.height / 2:
            place, rule = "PlaneStress.face", f"must lie between 0 and {self.height / 2:g}"
            raise ArgumentError(place, rule, self.face, "leave room for a core")
        if self.holes < 0 or self.refinement < 1:
            place, rule = "PlaneStress", "needs holes >= 0 and refinement >= 1"
            raise ArgumentError(place, rule, (self.holes, self.refinement), "use 9 and 2")
        room = min(self.height / 2 - self.face, self.length / (self.holes + 1) / 2)
        if self.holes and not 0 < self.radius < room:
            place, rule = "PlaneStress.radius", f"must lie between 0 and {room:g}"
            raise ArgumentError(place, rule, self.radius, "leave material between the holes")

    def mesh(self) -> BeamMesh:
        """The finite element mesh."""
        return beam_mesh(
            self.length,
            self.height,
            face=self.face,
            radius=self.radius,
            holes=self.holes,
            refinement=self.refinement,
        )


@dataclass(frozen=True)
class Plate:
    """The assembled beam; the stiffness is linear in the two moduli.

    Attributes:
        mesh: What it was assembled on.
        unknowns: The number of each node's two displacements; -1 where clamped.
        mass: M, with the density.
        faces: Stiffness of the faces, with their modulus.
        core: Stiffness of the core, for a modulus of one.
        force: What the load does when g is one.
        damping: c / ρ.
    """

    mesh: BeamMesh
    unknowns: Int[ndarray, "K 2"]
    mass: csc_array
    faces: csc_array
    core: csc_array
    force: Float[ndarray, " D"]
    damping: float

    @property
    def tip_row(self) -> int:
        """The unknown that is the vertical displacement in the middle of the loaded end."""
        low, high = self.mesh.nodes.min(axis=0), self.mesh.nodes.max(axis=0)
        middle = np.array([high[0], 0.5 * (low[1] + high[1])])
        away = np.abs(self.mesh.nodes - middle).max(axis=1)
        return int(self.unknowns[np.argmin(away), 1])

    def system(self, core: float) -> Matrices:
        """The equations of motion for one Young's modulus of the core."""
        stiffness = csc_array(self.faces + core * self.core)
        return Matrices(self.mass, stiffness, self.damping, self.force, self.tip_row)

    def field(self, displacement: Float[ndarray, "D *S"]) -> Float[ndarray, "K 2 *S"]:
        """Both displacements of every node, zero at the clamp."""
        free = np.zeros((1, *displacement.shape[1:]))
        return np.concatenate([displacement, free])[self.unknowns]


def assembled(beam: PlaneStress) -> Plate:
    """Mass, stiffness and load of a beam, the clamped unknowns taken out.

    Raises:
        MissingExtra: scikit-fem is not installed.
    """
    try:
        from skfem import (
            Basis,
            BilinearForm,
            ElementQuad2,
            ElementVector,
            LinearForm,
            MeshQuad2,
        )
        from skfem.helpers import ddot, dot, sym_grad, trace
    except ImportError as error:
        purpose = "the plane-stress level of the beam"
        raise MissingExtra("scikit-fem", extra="fem", purpose=purpose) from error
    mesh = beam.mesh()
    columns = [np.ascontiguousarray(each.T) for each in (mesh.nodes, mesh.cells)]
    quads, element = MeshQuad2(columns[0], columns[1]), ElementVector(ElementQuad2())
    basis, ratio = Basis(quads, element), beam.poisson

    def energy(u: Any, v: Any, w: Any) -> ndarray:  # noqa: ANN401
        del w
        strain, other = sym_grad(u), sym_grad(v)
        shear = (1.0 - ratio) * ddot(strain, other)
        return (shear + ratio * trace(strain) * trace(other)) / (1.0 - ratio**2)

    def stiffness(cells: ndarray) -> csc_array:
        """Of some cells alone, for a modulus of one."""
        part = Basis(quads, element, elements=np.flatnonzero(cells))
        return csc_array(BilinearForm(energy).assemble(part))

    inertia = BilinearForm(lambda u, v, w: beam.density * dot(u, v))
    end = basis.mesh.facets_satisfying(lambda x: np.isclose(x[0], beam.length))
    pull = LinearForm(lambda v, w: -v[1]).assemble(basis.boundary(end))
    numbers = np.empty((len(mesh.nodes), 2), dtype=int)
    numbers[mesh.cells] = basis.element_dofs.reshape(9, 2, -1).transpose(2, 0, 1)
    free = np.setdiff1d(np.arange(basis.N), numbers[mesh.nodes_near(0, 0.0)])
    kept = lambda matrix: csc_array(matrix)[free][:, free]
    unknowns = np.full(basis.N, -1)
    unknowns[free] = np.arange(len(free))
    return Plate(
        mesh=mesh,
        unknowns=unknowns[numbers],
        mass=kept(inertia.assemble(basis)),
        faces=kept(beam.face_modulus * stiffness(mesh.is_face)),
        core=kept(stiffness(~mesh.is_face)),
        force=pull[free],
        damping=beam.damping / beam.density,
    )
