"""What a campaign has done so far, read from its directory; takes no lock, changes nothing.

```
campaign.toml               the plan
journal.jsonl               all events; the truth
lower/level-0.npz           the cheap levels' trajectories
runs/0003/                  one finished run: spec.json, log.txt, output.npz, done.json
runs/0003-retry1/           its second attempt
rounds/2/picks.safetensors  what was predicted for the cases that round 2 chose
fits/2/surrogate.mflno      the surrogate of the third fit
```
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mflno.campaign.plan import Plan, read_plan
from mflno.campaign.state import Run, State, state_of
from mflno.data import Parameter, Trajectories
from mflno.errors import ArgumentError, StoreError
from mflno.exchange import read_trajectories
from mflno.store import Event, load_output, owner_of, process_start, read_journal

PLAN, JOURNAL, RUNS, ROUNDS, FITS, LOWER, LOCKS = (
    "campaign.toml", "journal.jsonl", "runs", "rounds", "fits", "lower", "locks",
)  # fmt: skip
SURROGATE, PICKS = "surrogate.mflno", "picks.safetensors"


@dataclass(frozen=True)
class FitRecord:
    """One fit, and what it is worth.

    Attributes:
        number: Its folder below `fits/`.
        runs: Names of the runs it has learned from.
        seconds: How long it took.
        surrogate: Its file; None when that is gone.
        method: What was fitted.
        expected: Relative error expected at the plan's quantile of the box, where the plan
            has a goal, else at 95 %; None while too little is known to tell.
        error: The surrogate's own `expected_error`: `mean`, `low`, `high`, `most`.
        verdict: The same in words.
        met: Whether the goal is met.
        left_out: Leave-one-out: lists `cases`, `spread`, `error`, where there is one.
        returned: What came back since the fit before: dicts of `run`, `round`, predicted
            `spread` (relative) and found relative `error`.
    """

    number: int
    runs: tuple[str, ...]
    seconds: float
    surrogate: Path | None
    method: str = ""
    expected: float | None = None
    error: Mapping[str, float] = field(default_factory=dict)
    verdict: str = ""
    met: bool = False
    left_out: Mapping[str, Any] = field(default_factory=dict)
    returned: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class RoundRecord:
    """One choice of runs.

    Attributes:
        number: Its folder below `rounds/`.
        fit: Number of the fit it was made with; None for the start.
        picks: Names of the runs.
        choice: The rule that was used.
        sentence: Why this rule, as the log said.
        trusted: Whether the posterior was trusted.
        seconds: How long it took.
    """

    number: int
    fit: int | None
    picks: tuple[str, ...]
    choice: str
    sentence: str
    trusted: bool = False
    seconds: float = 0.0


@dataclass(frozen=True)
class History:
    """A campaign as it stands.

    Attributes:
        path: Its directory.
        plan: What it shall do.
        about: The problem: `name`, `version`, `parameters`, `outputs`, `levels` (each with
            `name`, `cost`, `points`, `end`).
        versions: Of mflno, Python, torch, NumPy and SciPy at its beginning.
        state: The state that `next_action` sees.
        rounds: All choices in order.
        fits: All fits in order.
        failures: Every failed attempt: `run`, `attempt`, `kind`, `detail`, `again`.
        at_work: Whether a process drives it now.
        events: The journal.
    """

    path: Path
    plan: Plan
    about: Mapping[str, Any]
    versions: Mapping[str, str]
    state: State
    rounds: tuple[RoundRecord, ...]
    fits: tuple[FitRecord, ...]
    failures: tuple[Mapping[str, Any], ...]
    at_work: bool
    events: tuple[Event, ...] = field(repr=False)

    @property
    def runs(self) -> tuple[Run, ...]:
        """All runs in the order they were chosen."""
        return tuple(self.state.runs.values())

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The axes of the box."""
        return tuple(Parameter(*row) for row in self.about["parameters"])

    @property
    def surrogate(self) -> Path | None:
        """File of the last surrogate."""
        return next((fit.surrogate for fit in self.fits[::-1] if fit.surrogate), None)

    def output(self, run: Run) -> dict[str, np.ndarray]:
        """Arrays `values` "O T" and `inputs` "C T" of a run that is done."""
        return load_output(self.path / RUNS, run.folder)

    def trajectories(self, level: int | None = None) -> Trajectories:
        """All that is known of a level, the highest when none is named."""
        number = self.state.top if level is None else level
        found = bought(self, number)
        given = self.path / LOWER / f"level-{number}.npz"
        if number < self.state.top and given.exists():
            base = read_trajectories(given)
            return base.join(found) if found else base
        if found is None:
            remedy = "wait until a run is done"
            raise ArgumentError("History.trajectories", "a run that is done", "none", remedy)
        return found


def bought(history: History, level: int) -> Trajectories | None:
    """The runs of one level that are done, sorted by name."""
    names = [name for name in history.state.done if history.state.runs[name].level == level]
    runs = [history.state.runs[name] for name in names]
    if not runs:
        return None
    outputs = [history.output(run) for run in runs]
    about = history.about["levels"][level]
    return Trajectories(
        cases=np.array([run.case for run in runs]),
        grid=np.linspace(about["start"], about["end"], about["points"]),
        inputs=np.stack([each["inputs"] for each in outputs]),
        values=np.stack([each["values"] for each in outputs]),
        level=level,
        problem=history.about["name"],
        parameters=history.parameters,
        outputs=tuple(history.about["outputs"]),
    )


def is_begun(path: Path) -> bool:
    """Whether a campaign lies there: a kill may leave a journal without its first event."""
    journal = path / JOURNAL
    return journal.exists() and next(iter(read_journal(journal)), None) is not None


def read_campaign(path: Path | str) -> History:
    """Everything a campaign's directory tells.

    Raises:
        StoreError: There is no campaign, or its journal is damaged.
    """
    path = Path(path)
    if not is_begun(path):
        raise StoreError(
            f"{path}: no campaign in here; 'mflno run ... --out {path}' begins one"
        )
    events = tuple(read_journal(path / JOURNAL))
    if events[0]["event"] != "created":
        raise StoreError(f"{path / JOURNAL}: does not begin with 'created'; restore it")
    first = events[0]
    kinds = lambda kind: [event for event in events if event["event"] == kind]
    return History(
        path=path,
        plan=plan_at(path, events),
        about=first["problem"],
        versions=first["versions"],
        state=state_of(events),
        rounds=tuple(rounds_in(events)),
        fits=tuple(fit_in(path, k, event) for k, event in enumerate(kinds("fitted"))),
        failures=tuple(kinds("failed")),
        at_work=driven(path),
        events=events,
    )


def plan_at(path: Path, events: tuple[Event, ...]) -> Plan:
    """The plan that counts now: the last one in the journal."""
    plans = [event["plan"] for event in events if "plan" in event]
    return Plan(**plans[-1]) if plans else read_plan(path / PLAN)


def rounds_in(events: tuple[Event, ...]) -> list[RoundRecord]:
    """All choices."""
    found: list[RoundRecord] = []
    fits = 0
    for event in events:
        fits += event["event"] == "fitted"
        if event["event"] == "chosen":
            found.append(
                RoundRecord(
                    number=len(found),
                    fit=fits - 1 if fits else None,
                    picks=tuple(pick["run"] for pick in event["picks"]),
                    choice=event["choice"],
                    sentence=event["sentence"],
                    trusted=event.get("trusted", False),
                    seconds=event.get("seconds", 0.0),
                )
            )
    return found


def fit_in(path: Path, number: int, event: Event) -> FitRecord:
    """One fit."""
    file = path / FITS / str(number) / SURROGATE
    return FitRecord(
        number=number,
        runs=tuple(event["runs"]),
        seconds=event["seconds"],
        surrogate=file if file.exists() else None,
        method=event.get("method", ""),
        expected=event.get("expected"),
        error=event.get("error", {}),
        verdict=event.get("verdict", ""),
        met=event.get("met", False),
        left_out=event.get("left_out", {}),
        returned=tuple(event.get("returned", ())),
    )


def driven(path: Path) -> bool:
    """Whether the owner of the lock is alive, as far as this machine can tell."""
    owner = owner_of(path / f"{JOURNAL}.lock")
    if owner is None:
        return False
    start = process_start(int(owner.get("pid", 0)))
    return start is not None and start == owner.get("start")
