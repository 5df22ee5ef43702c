"""The composite beam: a perforated layered cantilever, and a thin one in its place."""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import islice
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.data import Level, Parameter
from mflno.problems.beam_reduction import Reduction, reduced, reduction_basis
from mflno.problems.checking import checked_case, checked_cases, checked_level
from mflno.problems.euler_bernoulli import EulerBernoulli
from mflno.problems.newmark import Modes, System, newmark
from mflno.problems.plane_stress import PlaneStress, Plate, assembled
from mflno.shapes import Float, Int

GRID = np.linspace(0.0, 20.0, 101)
SUBSTEPS = 8
STEP = 20.0 / 100 / SUBSTEPS
MOMENTS = STEP * np.arange(100 * SUBSTEPS + 1)


@dataclass(frozen=True)
class TipLoad:
    """Two Gaussian pulses, the first of varying strength.

    ```
    g(t) = a₁ exp(-(t - τ₁)² / (2σ₁²)) + a₂ exp(-(t - τ₂)² / (2σ₂²))
    ```

    Args:
        strength: a₂.
        centres: τ₁, τ₂.
        widths: σ₁, σ₂.
    """

    strength: float = 0.35
    centres: tuple[float, float] = (1.5, 4.2)
    widths: tuple[float, float] = (0.55, 0.8)

    def pulses(self, times: Float[ndarray, " T"]) -> Float[ndarray, "2 T"]:
        """The first pulse for a₁ = 1, and the second."""
        centres, widths = (np.array(each)[:, None] for each in (self.centres, self.widths))
        pulses = np.exp(-0.5 * ((times - centres) / widths) ** 2)
        return np.array([[1.0], [self.strength]]) * pulses


class Beam:
    """The tip of a cantilever under a pulsing load (Section 3.3 of the paper).

    The high fidelity is a layered beam with nine holes in plane stress, the low one a thin
    Euler-Bernoulli beam: stiffer, blind to holes and shear, so that it swings at another
    frequency. The paper gives neither geometry, densities, damping nor stiffness; the
    constants here are reconstructed from the figures it prints and are not unique.

    Both models are linear: a trajectory is a₁ times that of the first pulse, plus that of the
    second. The high fidelity is solved in a reduced basis, built once in each process and
    within 5e-5 of the full solution; `full` solves all 13,166 equations of motion instead, once
    for each core. The stated costs are the seconds of one run alone on one core, in full.

    Args:
        low: The thin beam.
        high: The perforated beam.
        load: What pulls at the tip.
        full: Solve the high fidelity in full, for what a run costs in earnest.

    Example:
        >>> Beam().solve(np.array([1.0, 10000.0]), level=0).shape
        (1, 101)
    """

    def __init__(
        self,
        low: EulerBernoulli | None = None,
        high: PlaneStress | None = None,
        *,
        load: TipLoad | None = None,
        full: bool = False,
    ) -> None:
        self.low, self.high = low or EulerBernoulli(), high or PlaneStress()
        self.load, self.full = load or TipLoad(), full
        self.name = "beam"
        # Other constants give other numbers, and the version is part of the cache key.
        constants = repr((self.low, self.high, self.load, full)).encode()
        self.version = f"1-{sha256(constants).hexdigest()[:8]}"
        self.parameters = Parameter("a1", 0.7, 1.3), Parameter("xi2", 8000.0, 12000.0)
        self.levels = (
            Level("Euler-Bernoulli", GRID, cost=0.008),
            Level("plane stress", GRID, cost=3.0),
        )
        self.outputs = ("tip",)
        self.solved: dict[float, ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The reduced beam travels along; what was solved in full stays behind."""
        return {**self.__dict__, "solved": {}}

    def inputs(self, case: Float[ndarray, " P"], level: int) -> Float[ndarray, "C T"]:
        """The load g(t); both levels feel the same."""
        return self.inputs_many(checked_case(self, case)[None], level)[0]

    def inputs_many(self, cases: Float[ndarray, "N P"], level: int) -> Float[ndarray, "N C T"]:
        """The loads of many cases."""
        strength = checked_cases(self, cases)[:, :1]
        first, second = self.load.pulses(self.levels[checked_level(self, level)].grid)
        return (strength * first + second)[:, None]

    def solve(
        self, case: Float[ndarray, " P"], level: int, *, full: bool | None = None
    ) -> Float[ndarray, "O T"]:
        """One case; `solve_many` gives the same bits.

        Args:
            case: a₁ and ξ₂.
            level: 0 or 1.
            full: Whether to solve the high fidelity in full; None is as the beam was made.
        """
        return self.solve_many(checked_case(self, case)[None], level, full=full)[0]

    def solve_many(
        self, cases: Float[ndarray, "N P"], level: int, *, full: bool | None = None
    ) -> Float[ndarray, "N O T"]:
        """Many cases; each core is solved once, whatever the loads."""
        cases, level = checked_cases(self, cases), checked_level(self, level)
        cores, place = np.unique(cases[:, 1], return_inverse=True)
        if level == 0:
            tips = tip_trajectories(self.low.modes(cores), self.load)
        elif self.full if full is None else full:
            tips = self.full_tips(cores)
        else:
            tips = tip_trajectories(self.reduction.modes(cores), self.load)
        first, second = np.moveaxis(tips[place.ravel()], 1, 0)
        return (cases[:, :1] * first + second)[:, None]

    def full_tips(self, cores: Float[ndarray, " N"]) -> Float[ndarray, "N L T"]:
        """The tip without reduction; a core that was solved before is not solved again."""
        for core in map(float, cores):
            if core not in self.solved:
                system = self.plate.system(core)
                self.solved[core] = tip_trajectories(system, self.load)
        return np.stack([self.solved[core] for core in map(float, cores)])

    def deformation(
        self, case: Float[ndarray, " P"], moments: Int[ndarray, " S"]
    ) -> Float[ndarray, "S K 2"]:
        """Displacement of every node of `high.mesh()` at some points of the time grid."""
        strength, core = checked_case(self, case)
        _, shapes = self.reduction.shapes(np.array([core]))
        motions = newmark(
            self.reduction.modes(np.array([core])), self.load.pulses(MOMENTS), STEP
        )
        steps = {SUBSTEPS * int(moment) for moment in moments}
        states = {n: m.displacement[0] for n, m in enumerate(motions) if n in steps}
        chosen = np.stack([states[SUBSTEPS * int(moment)] for moment in moments])
        coordinates = (strength * chosen[:, 0] + chosen[:, 1]) @ shapes[0].T
        basis = basis_of(self.high, ends_and_middle(self.parameters[1]))
        return np.moveaxis(self.plate.field(basis @ coordinates.T), 2, 0)

    @property
    def plate(self) -> Plate:
        """The assembled finite elements; needs scikit-fem."""
        return plate_of(self.high)

    @cached_property
    def reduction(self) -> Reduction:
        """The reduced beam."""
        return reduced_beam(self.high, ends_and_middle(self.parameters[1]))


def full_beam() -> Beam:
    """The beam solved in full, a run that costs seconds: `mflno.problems:full_beam`."""
    return Beam(full=True)


def ends_and_middle(core: Parameter) -> tuple[float, float, float]:
    """The cores whose motions make the basis of the reduced beam."""
    return core.low, 0.5 * (core.low + core.high), core.high


@lru_cache(maxsize=4)
def plate_of(high: PlaneStress) -> Plate:
    """The assembled beam, made once in a process however many problems ask for it."""
    return assembled(high)


@lru_cache(maxsize=4)
def basis_of(high: PlaneStress, cores: tuple[float, ...]) -> Float[ndarray, "D B"]:
    """The vectors of the reduced beam, made once in a process."""
    return reduction_basis(plate_of(high), cores)


@lru_cache(maxsize=4)
def reduced_beam(high: PlaneStress, cores: tuple[float, ...]) -> Reduction:
    """The reduced beam, made once in a process."""
    return reduced(plate_of(high), basis_of(high, cores))


def tip_trajectories(system: System, load: TipLoad) -> Float[ndarray, "*N L T"]:
    """The tip on the grid under each pulse of the load."""
    pulses = load.pulses(MOMENTS)
    if isinstance(system, Modes):
        return system.tips(pulses, STEP, every=SUBSTEPS)
    shown = islice(newmark(system, pulses, STEP), 0, None, SUBSTEPS)
    return np.stack([system.tip(motion.displacement) for motion in shown], axis=-1)
