"""A small basis in which the plane-stress beam moves almost exactly, for any core."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mflno.problems.newmark import Modes, factorised
from mflno.problems.plane_stress import Plate
from mflno.shapes import Float

VECTORS = 8
"""Krylov vectors for each core; see `reduction_basis`."""

SMALLEST_SHARE = 1e-12
"""Directions that hold less than this of the largest one's square are left out."""


@dataclass(frozen=True)
class Reduction:
    """The beam in the basis, whose vectors are orthonormal in the mass.

    Attributes:
        faces: Stiffness of the faces, with their modulus.
        core: Stiffness of the core, for a modulus of one.
        force: What the load does when g is one.
        deflection: What each coordinate does to the tip.
        damping: c / ρ.
    """

    faces: Float[ndarray, "B B"]
    core: Float[ndarray, "B B"]
    force: Float[ndarray, " B"]
    deflection: Float[ndarray, " B"]
    damping: float

    def shapes(self, core: Float[ndarray, " N"]) -> tuple[ndarray, ndarray]:
        """ω² of each mode, and the modes as columns, for each Young's modulus of the core."""
        return np.linalg.eigh(self.faces + core[:, None, None] * self.core)

    def modes(self, core: Float[ndarray, " N"]) -> Modes:
        """The equations of motion for each Young's modulus of the core."""
        squares, shapes = self.shapes(core)
        force = (self.force[:, None] * shapes).sum(axis=1)
        deflection = (self.deflection[:, None] * shapes).sum(axis=1)
        return Modes(squares, self.damping, force, deflection)


def reduction_basis(plate: Plate, cores: tuple[float, ...]) -> Float[ndarray, "D B"]:
    """Vectors that span the motion under a load that changes slowly, for all cores between.

    ```
    x₁ = K⁻¹ f,    x_{j+1} = K⁻¹ M x_j
    ```

    For each core: the deflection under a constant load, then what the inertia of the one
    before adds. They hold the slowest modes that this load can move, and no others. Made
    orthonormal in the mass; what the cores have in common is kept once.
    """
    columns = np.concatenate([krylov_vectors(plate, core) for core in cores], axis=1)
    weights, axes = np.linalg.eigh(columns.T @ (plate.mass @ columns))
    kept = weights > SMALLEST_SHARE * weights[-1]
    return columns @ (axes[:, kept] / np.sqrt(weights[kept]))


def krylov_vectors(plate: Plate, core: float) -> Float[ndarray, "D B"]:
    """The first `VECTORS` vectors of one core, orthonormal in the mass."""
    inverse = factorised(plate.system(core).stiffness)
    image, vectors = plate.force, np.empty((len(plate.force), 0))
    for _ in range(VECTORS):
        vector = inverse(image)
        # Once is not enough: each vector is almost a multiple of the one before.
        for _ in range(2):
            vector = vector - vectors @ (vectors.T @ (plate.mass @ vector))
        vector = vector / np.sqrt(vector @ (plate.mass @ vector))
        vectors = np.column_stack([vectors, vector])
        image = plate.mass @ vector
    return vectors


def reduced(plate: Plate, basis: Float[ndarray, "D B"]) -> Reduction:
    """The beam seen in a basis."""
    return Reduction(
        faces=basis.T @ (plate.faces @ basis),
        core=basis.T @ (plate.core @ basis),
        force=basis.T @ plate.force,
        deflection=basis[plate.tip_row],
        damping=plate.damping,
    )
