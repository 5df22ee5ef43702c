"""Who takes part in the study: a method, and how its expensive runs are chosen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from mflno.bayes import Cold, Inference
from mflno.multifidelity import (
    HFLNO,
    LFLNO,
    METHODS,
    MFLNO,
    Data,
    GaussNewton,
    Method,
    MFDeepONet,
    Stages,
    method_named,
)


@dataclass(frozen=True)
class PaperMFLNO(MFLNO):
    """The paper's MF-LNO, its phase 1 trained once for all rounds and choices of a seed.

    Phase 1 reads the cheap runs and the seed alone, so the answer is that of training it anew.
    """

    kept: dict[Any, Stages] = field(default_factory=dict, compare=False, repr=False)

    def low_stages(
        self, datas: Sequence[Data], seeds: Sequence[int], *, device: str, show: bool
    ) -> list[Stages]:
        """Phase 1 of each data set."""
        keys = [(device, id(d.lower[0]), seed) for d, seed in zip(datas, seeds, strict=True)]
        if any(key not in self.kept for key in keys):
            made = super().low_stages(datas, seeds, device=device, show=show)
            self.kept.update(zip(keys, made, strict=True))
        return [self.kept[key] for key in keys]


@dataclass(frozen=True)
class Contender:
    """One line of the study's tables.

    Attributes:
        key: Short and stable; part of a cell's address.
        label: As tables and legends say it.
        rule: `random`, `maximin`, the paper's `topb`, or the `auto` of a campaign.
        made: The problem's name to the method.
        banded: Whether it is fitted by `mflno.fit`, which calibrates its bands.
        alone: Whether it reads no expensive run, so that one budget tells all.
        paper: The line of the paper's tables it stands beside.
    """

    key: str
    label: str
    rule: str
    made: Callable[[str], Method]
    banded: bool = False
    alone: bool = False
    paper: str | None = None


def contenders(share: float = 1.0) -> list[Contender]:
    """All of them; `share` shortens the training of the paper's methods, for a quick look."""
    kept: dict[str, PaperMFLNO] = {}

    def paper(problem: str) -> MFLNO:
        """The paper's sizes and settings."""
        if problem not in kept:
            kept[problem] = shortened(PaperMFLNO.paper(problem), share)
        return kept[problem]

    def cold(problem: str) -> MFLNO:
        """The posterior as the paper words it: ten snapshots of the coldest chain."""
        same = paper(problem)
        return replace(same, inference=replace(same.inference, collect=Cold()))  # pyright: ignore

    deep = lambda problem: shortened(MFDeepONet(), share)
    high = lambda problem: shortened(HFLNO(), share)
    # By default its inference is several times what a quick look may take.
    few = GaussNewton(chains=4, survivors=2, kept=2, trial=5, steps=(15,), points=(96,))
    ours = named("mflno") if share == 1.0 else lambda problem: MFLNO(inference=few)
    everybody = [
        Contender("mflno-active", "MF-LNO (Active)", "topb", paper, paper="MF-LNO (Active)"),
        Contender("mflno-random", "MF-LNO (Random)", "random", paper, paper="MF-LNO (Random)"),
        Contender("mflno-maximin", "MF-LNO (maximin)", "maximin", paper),
        Contender("mflno-cold", "MF-LNO (Active, cold snapshots)", "topb", cold),
        Contender("mf-deeponet", "MF-DeepONet (Random)", "random", deep,
                  paper="MF-DeepONet (Random)"),
        Contender("lf-lno", "LF-LNO", "random", lambda p: LFLNO(paper(p)), alone=True,
                  paper="LF-LNO"),
        Contender("hf-lno", "HF-LNO", "random", high, paper="HF-LNO"),
        Contender("mflno", "our MF-LNO", "auto", ours, banded=True),
        Contender("pod-gp", "POD-GP", "auto", named("pod-gp"), banded=True),
        Contender("auto", "Auto", "auto", named("auto"), banded=True),
    ]  # fmt: skip
    return [each for each in everybody if not each.banded or each.key in METHODS]


def named(name: str) -> Callable[[str], Method]:
    """A method of the package, the same for every problem."""
    return lambda problem: method_named(name)


def shortened(method: Any, share: float) -> Any:  # noqa: ANN401
    """The same method with a share of its epochs and steps."""
    if share == 1.0:
        return method
    changes: dict[str, Any] = {}
    for each in fields(method):
        value = getattr(method, each.name)
        if each.name == "low_epochs" and value:
            changes[each.name] = max(1, round(value * share))
        elif is_dataclass(value) and isinstance(value, Inference) and hasattr(value, "steps"):
            inner: Any = value
            changes[each.name] = replace(inner, steps=max(1, round(inner.steps * share)))
    return replace(method, **changes)
