"""Long vectors made short with their inner products kept: a count sketch in blocks.

A vector of F numbers is cut into blocks of D. Every entry gets a random sign, every block is
turned by a random shift, and the blocks are added:

    (S x)_d = Σ_b s_b,(d - r_b) x_b,(d - r_b)

Then E <S x, S y> = <x, y>, and the standard deviation of <S x, S y> is at most
√((|x|² |y|² + <x, y>²) / D), as for a Gaussian sketch, at one multiplication an entry
(Charikar, Chen, Farach-Colton 2002; Weinberger et al. 2009 for the bound).
"""

from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.shapes import Float, Int


@dataclass(frozen=True)
class Sketch:
    """A fixed random map from F numbers to D.

    Attributes:
        signs: One sign an entry, block by block; the last block is padded.
        shifts: How far each block is turned.
        length: F.
    """

    signs: Float[ndarray, "B D"] = field(repr=False)
    shifts: Int[ndarray, " B"] = field(repr=False)
    length: int

    @property
    def size(self) -> int:
        """D."""
        return self.signs.shape[1]

    def __call__(self, rows: Float[ndarray, "N F"]) -> Float[ndarray, "N D"]:
        """Each row made short; a row not longer than D is only signed and turned."""
        if rows.shape[1] != self.length:
            rule, remedy = f"must be {self.length} long", "make a sketch of that length"
            raise ArgumentError("Sketch.rows", rule, rows.shape[1], remedy)
        out = np.zeros((len(rows), self.size), dtype=rows.dtype)
        signs = self.signs.astype(rows.dtype, copy=False)
        for block, (sign, shift) in enumerate(zip(signs, self.shifts, strict=True)):
            part = rows[:, block * self.size : (block + 1) * self.size]
            part = part * sign[: part.shape[1]]
            # Two slices instead of np.roll: this is the inner loop over all draws and times.
            head = min(self.size - shift, part.shape[1])
            out[:, shift : shift + head] += part[:, :head]
            out[:, : part.shape[1] - head] += part[:, head:]
        return out


def draw_sketch(length: int, size: int, generator: np.random.Generator) -> Sketch:
    """A sketch from `length` numbers to `size`; longer is more exact, error like 1/√size."""
    if length < 1 or size < 1:
        rule, remedy = "must be positive", "256 is a good size"
        raise ArgumentError("draw_sketch.size", rule, (length, size), remedy)
    size = min(size, length)
    blocks = -(-length // size)
    signs = 2.0 * generator.integers(0, 2, size=(blocks, size)) - 1.0
    return Sketch(signs, generator.integers(0, size, size=blocks), length)
