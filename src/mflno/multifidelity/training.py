"""Networks trained by any inference: many data sets and starts in one buffer."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mflno.bayes import Captured, Draws, Eager, Inference
from mflno.multifidelity.account import Account
from mflno.multifidelity.forms import Form, Site
from mflno.multifidelity.learnt import Learnt
from mflno.multifidelity.lessons import Lesson
from mflno.multifidelity.misfit import Misfit
from mflno.multifidelity.normalising import Normalising
from mflno.operators import Packing, Spectrum
from mflno.seeds import torch_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class Trainer:
    """How lessons are taught.

    Attributes:
        form: The networks' sizes.
        inference: What finds or samples their parameters.
        stream: Name of the random stream, one a phase.
        order: p of the loss.
        precision: "single" or "double".
        device: Where to compute.
    """

    form: Form
    inference: Inference
    stream: str
    order: float = 2.0
    precision: str = "single"
    device: str = "cpu"

    def learnt(self, lessons: Sequence[Lesson], *, show: bool = True) -> list[Learnt]:
        """A trained network a lesson; all lessons have as many cases on the same grid."""
        normalising = [start_normalising(each) for each in lessons]
        pupils = [
            self.starts(lesson, scale)
            for lesson, scale in zip(lessons, normalising, strict=True)
        ]
        misfit = self.misfit(lessons, normalising, pupils[0][0][0])
        theta = torch.cat([start for _, start in pupils]).to(self.device)
        generator = torch_stream(lessons[0].seed, self.stream, "inference")
        inference = fitted_engine(self.inference, self.device)
        draws = inference.sample(
            misfit, theta, cases=misfit.cases, generator=generator, show=show
        )
        made = zip(lessons, normalising, pupils, strict=True)
        return [
            self.packed(lesson, scale, pupil[0][0], draws, place, misfit)
            for place, (lesson, scale, pupil) in enumerate(made)
        ]

    @property
    def dtype(self) -> torch.dtype:
        """Of parameters and data."""
        return torch.float64 if self.precision == "double" else torch.float32

    def starts(
        self, lesson: Lesson, scale: Normalising
    ) -> tuple[list[nn.Module], Float[Tensor, "K P"]]:
        """Modules, and their parameters: first those of the earlier fit, the rest fresh."""
        generator = torch_stream(lesson.seed, self.stream, "starts")
        told = torch.from_numpy(scale.told(lesson.targets))
        spectrum = Spectrum.of(told, torch.from_numpy(lesson.grid))
        site = Site(lesson.channels, lesson.targets.shape[1], len(lesson.grid), spectrum)
        chains = self.inference.chains
        modules = [self.form.build(site, generator).to(self.dtype) for _ in range(chains)]
        theta = Packing.of(modules[0]).pack(modules)
        if lesson.start is not None:
            known = torch.from_numpy(lesson.start.theta).to(self.dtype)[:chains]
            theta = torch.cat([known, theta[len(known) :]])
        return modules, theta

    def misfit(
        self, lessons: Sequence[Lesson], scales: Sequence[Normalising], module: nn.Module
    ) -> Misfit:
        """The energy of all rows: data in common, or one set a row."""
        tensor = lambda array: torch.as_tensor(array, dtype=self.dtype, device=self.device)
        sets = [
            (
                scale.shown(each.inputs),
                scale.told(each.targets),
                each.size / scale.output_spread,
            )
            for each, scale in zip(lessons, scales, strict=True)
        ]
        if all(each.inputs is lessons[0].inputs for each in lessons):
            parts = [tensor(part) for part in sets[0]]
        else:
            stacks = [tensor(np.stack(part)) for part in zip(*sets, strict=True)]
            parts = [each.repeat_interleave(self.inference.chains, 0) for each in stacks]
        grid = torch.as_tensor(lessons[0].grid, dtype=self.dtype, device=self.device)
        return Misfit(module.to(self.device), *parts, grid=grid, order=self.order)

    def packed(
        self,
        lesson: Lesson,
        scale: Normalising,
        module: nn.Module,
        draws: Draws,
        place: int,
        misfit: Misfit,
    ) -> Learnt:
        """The draws of one lesson, with the losses they end at."""
        mine = draws.where(draws.ladder == place)
        chains = self.inference.chains
        own = misfit.rows(torch.full((len(mine),), place * chains, device=mine.theta.device))
        with torch.no_grad():
            loss = own(mine.theta, None)
        return Learnt(
            form=self.form, channels=lesson.channels, normalising=scale,
            grid=lesson.grid, theta=mine.theta.cpu().numpy(), loss=loss.cpu().numpy(),
            account=Account.of(draws.trace, place),
        )  # fmt: skip


def start_normalising(lesson: Lesson) -> Normalising:
    """That of the earlier fit, whose parameters mean nothing under another, or a fresh one."""
    if lesson.start is not None:
        return lesson.start.normalising
    return Normalising.of(lesson.inputs, lesson.targets)


def fitted_engine(inference: Inference, device: str) -> Inference:
    """On a GPU iterations are captured, unless the user chose an engine."""
    if not device.startswith("cuda") or not is_dataclass(inference):
        return inference
    engine = getattr(inference, "engine", None)
    return replace(inference, engine=Captured()) if isinstance(engine, Eager) else inference


def lengthened(inference: Inference, *, cases: int, epochs: int | None) -> Inference:
    """The inference with as many steps as these passes over the cases take."""
    if epochs is None or not is_dataclass(inference):
        return inference
    names = {each.name for each in fields(inference)}
    if "steps" not in names:
        return inference
    batch: Any = getattr(inference, "batch", None)
    passes = 1 if batch is None else max(1, cases // batch)
    return replace(inference, steps=epochs * passes)
