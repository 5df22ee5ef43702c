"""The MF-LNO: an operator for the cheap level, corrected by two more (Section 2 of the paper).

    û_L = G_L(f)                                          phase 1: trained on cheap runs, frozen
    û_H = α G_l(f, û_L) + (1 - α) G_nl(f, û_L)            phase 2: Eq. 10

Phase 1 minimises Eq. 11 on the cheap trajectories, phase 2 samples or minimises Eq. 12 on the
expensive ones: λ of Eq. 13 is 1, then 0. With more than two levels phase 2 is done level by
level, each network reading the one below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from numpy import ndarray

from mflno.bayes import (
    Collection,
    Cosine,
    DeepEnsemble,
    Drift,
    Final,
    Inference,
    Paper,
    ReplicaExchange,
)
from mflno.data import Trajectories
from mflno.multifidelity.channels import scaled_cases
from mflno.multifidelity.forms import LNO, Form, Mixture
from mflno.multifidelity.grouping import alike
from mflno.multifidelity.law import Data, Predictor
from mflno.multifidelity.learnt import Learnt
from mflno.multifidelity.lessons import Lesson, lesson
from mflno.multifidelity.network_law import NetworkPredictor, chained, warm_start
from mflno.multifidelity.training import Trainer, lengthened
from mflno.problems import Problem

Stages = tuple[Learnt, ...]

LADDERS = {"lorenz": (5e-6, 5e-4), "duffing": (5e-3, 5e-2)}
"""Step sizes of the coldest and the hottest chain in the paper's appendix."""


@dataclass(frozen=True)
class MFLNO:
    """The multi-fidelity Laplace neural operator.

    Args:
        low: G_L, and of any level between.
        low_inference: Trains it; its best draws are frozen.
        low_members: How many of them are averaged.
        low_epochs: Passes over the cheap runs, in place of the inference's own steps.
        form: G_l, G_nl and their weight.
        inference: Trains or samples them.
        solver: Read the cheap solvers' own trajectories instead of G_L's: no phase 1, but
            each prediction needs a cheap run.
        parameters: Constant channels: those "hidden" from the forcing, "all" or "none".
        time: Whether time is a channel of the correction.
        residual: Learn the difference to the cheaper trajectory instead of the trajectory.
        order: p of the loss.
        precision: "single" or "double".

    Example:
        >>> from mflno.operators import count_parameters
        >>> MFLNO.paper().low.width, MFLNO.paper().form.linear.hidden
        (3, (2,))
    """

    name: ClassVar[str] = "mflno"
    low: Form = field(default_factory=LNO)
    low_inference: Inference = field(
        default_factory=lambda: DeepEnsemble(chains=1, steps=3000, batch=20)
    )
    low_members: int = 1
    low_epochs: int | None = None
    form: Form = field(default_factory=Mixture)
    inference: Inference = field(default_factory=lambda: DeepEnsemble(chains=5, steps=3000))
    solver: bool = False
    parameters: str = "hidden"
    time: bool = False
    residual: bool = False
    order: float = 2.0
    precision: str = "single"

    @classmethod
    def paper(
        cls, problem: str = "duffing", *, chains: int = 5, collect: Collection | None = None
    ) -> "MFLNO":
        """The paper's sizes and settings: 806 + 179 + 179 + 1 = 1,165 parameters.

        Two phases of 2,000 and 5,000 epochs in batches of 20 and 10, 5 chains (6 in the
        ablation), step sizes of the appendix under a cosine to 1 %, the paper's swap rule.
        `parameters="none"` gives the 1,156 of its first two tables.

        The paper leaves open: the weight a of the adaptive drift, the temperatures, the swap
        rate, the beam's step sizes (here Duffing's), poles and their start (here stable ones),
        normalisation (here to unit spread), and which states are the posterior: `collect`
        takes the last state of every chain here, `Cold()` ten of the coldest chain.
        """
        ladder = LADDERS.get(problem, LADDERS["duffing"])
        # The push of Eq. 14 has size a η whatever the loss: a makes the middle of the ladder
        # move 5e-3 a step, which is what so small a net takes in 5,000 steps.
        weight = 5e-3 / (ladder[0] * ladder[1]) ** 0.5
        sampler = ReplicaExchange(
            chains=chains, steps=5000, step_size=ladder, temperature=(1e-8, 1e-6),
            drift=Drift(weight=weight, unbiased=True, clip=1.0), swap=Paper(),
            schedule=Cosine(0.01), batch=10, collect=collect or Final(),
        )  # fmt: skip
        low = replace(sampler, batch=20, collect=Final())
        return cls(low_inference=low, low_epochs=2000, inference=sampler)

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> NetworkPredictor:
        """Phase 1 and phase 2; `warm` gives phase 1 as it is and a start for phase 2."""
        known = warm_start(warm)
        if known:
            lows = [known.stages[:-1]]
        else:
            lows = self.low_stages([data], [seed], device=device, show=show)
        return self._fitted([data], [seed], lows, warm=known, device=device, show=show)[0]

    def fit_many(
        self,
        datas: Sequence[Data],
        *,
        seeds: Sequence[int],
        device: str = "cpu",
        show: bool = True,
    ) -> list[NetworkPredictor]:
        """A fit a data set, those of one shape in one buffer; phase 1 once a seed."""
        lows = self.low_stages(datas, seeds, device=device, show=show)
        found: dict[int, NetworkPredictor] = {}
        for group in alike([(each.problem.name, len(each.high)) for each in datas]):
            some = self._fitted(
                [datas[i] for i in group], [seeds[i] for i in group], [lows[i] for i in group],
                device=device, show=show,
            )  # fmt: skip
            found |= dict(zip(group, some, strict=True))
        return [found[i] for i in range(len(datas))]

    def low_stages(
        self, datas: Sequence[Data], seeds: Sequence[int], *, device: str, show: bool
    ) -> list[Stages]:
        """Phase 1 for each data set; those that share cheap runs are trained together."""
        if self.solver:
            return [() for _ in datas]
        found: dict[tuple[int, int], Stages] = {}
        keys = [(id(data.lower[0]), seed) for data, seed in zip(datas, seeds, strict=True)]
        for group in alike([id(data.lower[0]) for data in datas]):
            own = sorted({seeds[i] for i in group})
            made = self._low(datas[group[0]], own, device=device, show=show)
            found |= {
                (keys[group[0]][0], seed): each for seed, each in zip(own, made, strict=True)
            }
        return [found[key] for key in keys]

    def _low(self, data: Data, seeds: list[int], *, device: str, show: bool) -> list[Stages]:
        """One network a level below the highest, for every seed at once."""
        stages: list[Stages] = [() for _ in seeds]
        for level, runs in enumerate(data.lower):
            form = self.low if level == 0 else self.form
            steps = lengthened(self.low_inference, cases=len(runs), epochs=self.low_epochs)
            trainer = Trainer(form, steps, f"low {level}", self.order, self.precision, device)
            if level == 0:
                one = self.lesson(data.problem, runs, [])
                lessons = [replace(one, seed=seed) for seed in seeds]
            else:
                lessons = [
                    replace(
                        self.lesson(data.problem, runs, below_runs(data.problem, runs, own)),
                        seed=seed,
                    )
                    for own, seed in zip(stages, seeds, strict=True)
                ]
            kept = [
                each.leading(self.low_members) for each in trainer.learnt(lessons, show=show)
            ]
            stages = [(*below, own) for below, own in zip(stages, kept, strict=True)]
        return stages

    def _fitted(
        self,
        datas: Sequence[Data],
        seeds: Sequence[int],
        lows: Sequence[Stages],
        *,
        warm: NetworkPredictor | None = None,
        device: str,
        show: bool,
    ) -> list[NetworkPredictor]:
        """Phase 2 for data sets of one shape."""
        lessons = []
        for data, seed, low in zip(datas, seeds, lows, strict=True):
            if self.solver:
                lower = list(data.query().lower)
            else:
                lower = below_runs(data.problem, data.high, low)
            start = warm.stages[-1] if warm else None
            taught = self.lesson(data.problem, data.high, lower)
            lessons.append(replace(taught, seed=seed, start=start))
        trainer = Trainer(
            self.form, self.inference, "correction", self.order, self.precision, device
        )
        tops = trainer.learnt(lessons, show=show)
        return [
            NetworkPredictor((*low, top), self.solver, self.residual)
            for low, top in zip(lows, tops, strict=True)
        ]

    def lesson(self, problem: Problem, runs: Trajectories, lower: Sequence[ndarray]) -> Lesson:
        """What a network of this method is taught about these runs."""
        return lesson(
            problem, runs, lower, parameters=self.parameters, order=self.order,
            time=self.time, residual=self.residual,
        )  # fmt: skip


def below_runs(problem: Problem, runs: Trajectories, stages: Stages) -> list[ndarray]:
    """What the networks below say at these runs, on their grid."""
    return chained(stages, runs.inputs, scaled_cases(problem, runs.cases), runs.grid)
