"""An LNO whose poles and residues move with the case.

In each case the response is that of a few modes, Eqs. 3 to 8 of the paper with numbers of its
own, which are polynomials of the case:

```
y(t; c) = Σ_n Re(β_n(c) z_n(t)) + D(c) f(t) + d(c) + Σ_n Re(h_n(c) e^{μ_n(c) t})
z_n(t)  = ∫_0^t e^{μ_n(c) (t - s)} f(s) ds,    μ_n(c) = -e^{ℓ_n(c)} + i ω_n(c)
q(c)    = Θᵀ b(c),    q = (ℓ, ω, Re β, Im β, D, d, Re h, Im h),    b: monomials of the case
```

A convolution with fixed poles answers a new case with the old frequencies. What an engineer's
parameters do first is to move frequencies and dampings; here they can, for a few numbers more.
Every derivative by q has a closed form: ∂z/∂μ is one more convolution.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from mflno.operators import extrapolation, gauss
from mflno.shapes import Complex, Float, Int

SLOWEST, FASTEST = -12.0, 0.5
"""Bounds of ℓ; the upper one of ℓ + log(step), as a faster mode is the bypass's work."""


def monomials(
    cases: Float[ndarray, "N P"], degree: int
) -> tuple[Float[ndarray, "N B"], Int[ndarray, " B"]]:
    """All monomials of scaled cases up to a degree, and the degree of each.

    Example:
        >>> table, degrees = monomials(np.array([[2.0, 3.0]]), 2)
        >>> table.tolist(), degrees.tolist()
        ([[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]], [0, 1, 1, 2, 2, 2])
    """
    columns = [
        chosen
        for order in range(degree + 1)
        for chosen in combinations_with_replacement(range(cases.shape[1]), order)
    ]
    table = [np.prod(cases[:, list(chosen)], axis=1) for chosen in columns]
    return np.stack(table, axis=1), np.array([len(chosen) for chosen in columns])


@cache
def rule() -> tuple[ndarray, ndarray, ndarray]:
    """Exponents and weights of the quadrature, and what continues a signal to the left."""
    return (*gauss(), extrapolation(4))


def unit_waves(
    signal: Float[ndarray, "N C T"],
    poles: Complex[ndarray, "N M"],
    step: float,
    *,
    slopes: bool = True,
) -> tuple[Complex[ndarray, "N C M T"], Complex[ndarray, "N C M _"]]:
    """Waves z = e^{μt} * f of every channel and mode, and ∂z/∂μ, of fifth order in the step.

    z_{j+1} = e^{μh} z_j + h Σ_s b_s(μh) f_{j+s}, solved for all j at once by FFT.
    Without slopes the second array is empty.
    """
    points = signal.shape[-1]
    left, table, beyond = rule()
    inside = np.exp((poles * step)[..., None] * left)
    weight = step * inside @ table.T
    ghosts = signal[..., :5] @ beyond
    longer = np.concatenate([ghosts, signal], axis=-1)
    shifted = np.stack([longer[..., s : s + points - 1] for s in range(5)], axis=-2)
    drive = np.einsum("nms,ncst->ncmt", weight, shifted)

    time = step * np.arange(points - 1)
    decay = np.exp(poles[..., None] * time)
    size = 1 << (2 * points - 3).bit_length()
    turn = lambda values: np.fft.fft(values, size)
    kernel, drive = turn(decay)[:, None], turn(drive)
    start = np.zeros((*drive.shape[:-1], 1), dtype=complex)
    back = lambda values: np.concatenate(
        [start, np.fft.ifft(values)[..., : points - 1]], axis=-1
    )
    wave = back(kernel * drive)
    if not slopes:
        return wave, wave[..., :0]
    slope = step**2 * (left * inside) @ table.T
    moved = turn(np.einsum("nms,ncst->ncmt", slope, shifted))
    return wave, back(kernel * moved + turn(time * decay)[:, None] * drive)


class Numbers(NamedTuple):
    """The numbers q of each case, by name; O outputs, C channels, M modes."""

    decay: Float[ndarray, "N M"]
    frequency: Float[ndarray, "N M"]
    residue: Complex[ndarray, "N O C M"]
    bypass: Float[ndarray, "N O C"]
    level: Float[ndarray, "N O"]
    start: Complex[ndarray, "N O M"]


@dataclass(frozen=True)
class MovingPoles:
    """The sizes of such an operator; its parameters Θ are one array "B Q".

    Attributes:
        modes: Poles.
        degree: Of the polynomials.
        channels: Forcing channels; there may be none.
        outputs: Output functions; they share the poles.

    Example:
        >>> MovingPoles(modes=2, degree=1, channels=1, outputs=1).count
        14
    """

    modes: int
    degree: int
    channels: int
    outputs: int

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Each kind of number and its axes behind the case's."""
        m, c, o = self.modes, self.channels, self.outputs
        return {
            "decay": (m,), "frequency": (m,), "residue": (2, o, c, m),
            "bypass": (o, c), "level": (o,), "start": (2, o, m),
        }  # fmt: skip

    @cached_property
    def count(self) -> int:
        """Q, how many numbers a case has."""
        return sum(int(np.prod(shape)) for shape in self.shapes.values())

    def split(self, numbers: Float[ndarray, "N Q"], step: float) -> Numbers:
        """The numbers by name."""
        sizes = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = {
            name: part.reshape(len(numbers), *shape)
            for (name, shape), part in zip(
                self.shapes.items(), np.split(numbers, sizes, axis=1), strict=True
            )
        }
        for name in ("residue", "start"):
            parts[name] = parts[name][:, 0] + 1j * parts[name][:, 1]
        parts["decay"] = np.clip(parts["decay"], SLOWEST, FASTEST - np.log(step))
        return Numbers(**parts)

    def answer(
        self,
        numbers: Float[ndarray, "N Q"],
        signal: Float[ndarray, "N C T"],
        grid: Float[ndarray, " T"],
    ) -> Float[ndarray, "N O T"]:
        """The response of each case."""
        own, poles, step = self._poles(numbers, grid)
        wave, _ = unit_waves(signal, poles, step, slopes=False)
        return self._summed(own, signal, wave, np.exp(poles[..., None] * (grid - grid[0])))

    def linearised(
        self,
        numbers: Float[ndarray, "N Q"],
        signal: Float[ndarray, "N C T"],
        grid: Float[ndarray, " T"],
    ) -> tuple[Float[ndarray, "N O T"], Float[ndarray, "N Q O T"]]:
        """The response of each case, and its derivatives by that case's numbers."""
        own, poles, step = self._poles(numbers, grid)
        wave, change = unit_waves(signal, poles, step)
        time = grid - grid[0]
        free = np.exp(poles[..., None] * time)
        by_pole: Any = np.einsum("nocm,ncmt->nmot", own.residue, change)
        by_pole += own.start.transpose(0, 2, 1)[..., None] * (time * free)[:, :, None]
        each = np.eye(self.outputs)
        spread = lambda rows: np.einsum("oe,nrt->noret", each, rows).reshape(
            len(rows), -1, self.outputs, len(grid)
        )
        waves: Any = wave.reshape(len(numbers), -1, len(grid))
        columns = [
            -np.exp(own.decay)[:, :, None, None] * by_pole.real,
            -by_pole.imag,
            spread(waves.real),
            -spread(waves.imag),
            spread(signal),
            spread(np.ones((len(numbers), 1, len(grid)))),
            spread(free.real),
            -spread(free.imag),
        ]
        return self._summed(own, signal, wave, free), np.concatenate(columns, axis=1)

    def _poles(self, numbers: ndarray, grid: ndarray) -> tuple[Numbers, ndarray, float]:
        step = float(grid[-1] - grid[0]) / (len(grid) - 1)
        own = self.split(numbers, step)
        return own, -np.exp(own.decay) + 1j * own.frequency, step

    def _summed(self, own: Numbers, signal: ndarray, wave: ndarray, free: ndarray) -> ndarray:
        answer = np.einsum("nocm,ncmt->not", own.residue, wave).real
        answer += np.einsum("noc,nct->not", own.bypass, signal) + own.level[..., None]
        return answer + np.einsum("nom,nmt->not", own.start, free).real
