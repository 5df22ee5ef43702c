"""The MF-LNO: an operator for the cheap level, corrected by two more (Section 2 of the paper).

    û_L = G_L(f)                                          phase 1: trained on cheap runs, frozen
    û_H = α G_l(f, û_L) + (1 - α) G_nl(f, û_L)            phase 2: Eq. 10

Phase 1 minimises Eq. 11 on the cheap trajectories, phase 2 samples or minimises Eq. 12 on the
expensive ones: λ of Eq. 13 is 1, then 0. With more than two levels phase 2 is done level by
level, each network reading the one below.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy import ndarray

from mflno.bayes import (
    Collection,
    Cosine,
    Drift,
    Final,
    Inference,
    Paper,
    ReplicaExchange,
)
from mflno.data import Trajectories
from mflno.multifidelity.channels import scaled_cases
from mflno.multifidelity.forms import LNO, Form, Mixture
from mflno.multifidelity.gauss_newton import GaussNewton
from mflno.multifidelity.grouping import alike
from mflno.multifidelity.law import Data, Law, Predictor, joined
from mflno.multifidelity.learnt import Learnt
from mflno.multifidelity.lessons import Lesson, lesson
from mflno.multifidelity.network_law import NetworkPredictor, chained, warm_start
from mflno.multifidelity.query import interpolated
from mflno.multifidelity.training import Trainer, lengthened
from mflno.seeds import numpy_stream

Stages = tuple[Learnt, ...]

LADDERS = {"lorenz": (5e-6, 5e-4), "duffing": (5e-3, 5e-2)}
"""Step sizes of the coldest and the hottest chain in the paper's appendix."""
FEW = 6
"""Expensive runs up to which many small networks generalise better than few larger ones."""


def second_order(steps: int, points: int) -> Inference:
    """How G_L is trained by default: three starts, of which the best is kept."""
    return GaussNewton(chains=3, survivors=1, kept=1, trial=8, steps=(steps,), points=(points,))


@dataclass(frozen=True)
class MFLNO:
    """The multi-fidelity Laplace neural operator.

    By default the correction is trained by damped Gauss-Newton steps from several starts, in
    double precision; its size and the number of starts follow the number of expensive runs.

    Args:
        low: G_L.
        low_inference: Trains it; its best draws are frozen.
        low_members: How many of them are averaged.
        low_epochs: Passes over the cheap runs, in place of the inference's own steps.
        low_cases: Most cheap runs that phase 1 looks at, spread over all; `None` for all.
        form: G_l, G_nl and their weight; also of any level between.
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

    name: ClassVar[str] = "mflno-networks"
    low: Form = field(default_factory=lambda: LNO(width=6, modes=4, hidden=(32,)))
    low_inference: Inference = field(default_factory=lambda: second_order(45, 160))
    low_members: int = 1
    low_epochs: int | None = None
    low_cases: int | None = 36
    form: Form | None = None
    inference: Inference | None = None
    solver: bool = True
    parameters: str = "all"
    time: bool = True
    residual: bool = False
    order: float = 2.0
    precision: str = "double"

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
        return cls(
            low=LNO(), low_inference=low, low_epochs=2000, low_cases=None, form=Mixture(),
            inference=sampler, solver=False, parameters="hidden", time=False,
            precision="single",
        )  # fmt: skip

    def correction(self, runs: int) -> tuple[Form, Inference]:
        """Form and inference for so many expensive runs: many small nets for few of them."""
        few = runs <= FEW
        sizes = LNO(width=2, modes=6, hidden=(4,)) if few else LNO(width=3, hidden=(8,))
        starts = GaussNewton(chains=16, survivors=10, kept=8) if few else GaussNewton()
        return self.form or Mixture(sizes, sizes), self.inference or starts

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

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """Each run as a lighter fit without it has it; all of them are made at once.

        Lighter means half as many starts, and one grid; the sizes are those for one run less.
        """
        folds = [data.without(index) for index in range(len(data.high))]
        form, inference = self.correction(len(data.high) - 1)
        lighter = replace(self, form=form, inference=lightened(inference))
        known = warm_start(predictor)
        lows = [known.stages[:-1] if known else ()] * len(folds)
        device, seeds = "cpu", [seed] * len(folds)
        found = lighter._fitted(folds, seeds, lows, device=device, show=False)
        return joined(each.law(data.at_high(i)) for i, each in enumerate(found))

    def low_stages(
        self, datas: Sequence[Data], seeds: Sequence[int], *, device: str, show: bool
    ) -> list[Stages]:
        """Phase 1 for each data set; those that share cheap runs are trained together."""
        found: dict[Hashable, Stages] = {}
        runs = [tuple(id(each) for each in data.lower) for data in datas]
        keys = [*zip(runs, seeds, strict=True)]
        for group in alike(runs):
            own = sorted({seeds[i] for i in group})
            made = self._low(datas[group[0]], own, device=device, show=show)
            found |= {
                (keys[group[0]][0], seed): each for seed, each in zip(own, made, strict=True)
            }
        return [found[key] for key in keys]

    def _low(self, data: Data, seeds: list[int], *, device: str, show: bool) -> list[Stages]:
        """One network a level below the highest, for every seed at once."""
        stages: list[Stages] = [() for _ in seeds]
        for level, every in enumerate(data.lower):
            if level == 0 and self.solver:
                continue
            form = self.low if level == 0 else self.correction(len(every))[0]
            runs = spread(every, self.low_cases)
            steps = lengthened(self.low_inference, cases=len(runs), epochs=self.low_epochs)
            trainer = Trainer(form, steps, f"low {level}", self.order, self.precision, device)
            # before the first network all seeds read the same
            differing = stages if stages[0] else stages[:1]
            taught = [self.lesson(data, runs, own) for own in differing]
            pairs = zip(taught * (len(seeds) // len(taught)), seeds, strict=True)
            lessons = [replace(own, seed=seed) for own, seed in pairs]
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
        form, inference = self.correction(len(datas[0].high))
        lessons = []
        for data, seed, low in zip(datas, seeds, lows, strict=True):
            # with more runs the default networks are larger: then the start is a fresh one
            start = warm.stages[-1] if warm and warm.stages[-1].form == form else None
            taught = self.lesson(data, data.high, low)
            lessons.append(replace(taught, seed=seed, start=start))
        trainer = Trainer(form, inference, "correction", self.order, self.precision, device)
        tops = trainer.learnt(lessons, show=show)
        return [
            NetworkPredictor((*low, top), self.solver, self.residual)
            for low, top in zip(lows, tops, strict=True)
        ]

    def lesson(self, data: Data, runs: Trajectories, stages: Stages) -> Lesson:
        """What a network above these is taught about these runs."""
        first: list[ndarray] = []
        if self.solver:
            query = data.query(runs.cases)
            first = [interpolated(query.grid, query.cheapest, runs.grid)]
        scaled = scaled_cases(data.problem, runs.cases)
        lower = chained(stages, runs.inputs, scaled, runs.grid, first)
        return lesson(
            data.problem, runs, lower, parameters=self.parameters, order=self.order,
            time=self.time and bool(lower), residual=self.residual,
        )  # fmt: skip


def lightened(inference: Inference) -> Inference:
    """Half as many second-order starts on the coarsest grid; other inferences as they are."""
    if isinstance(inference, GaussNewton):
        chains = max(2, inference.chains // 2)
        kept = max(1, min(inference.kept, chains // 2))
        first = inference.steps[:1], inference.points[:1]
        return replace(
            inference, chains=chains, survivors=max(kept, chains // 2), kept=kept,
            steps=first[0], points=first[1],
        )  # fmt: skip
    return inference


def spread(runs: Trajectories, most: int | None) -> Trajectories:
    """No more than so many of the runs, the same ones each time."""
    if most is None or len(runs) <= most:
        return runs
    chosen = numpy_stream(0, "cheap runs", len(runs)).permutation(len(runs))[:most]
    return runs.take(np.sort(chosen))
