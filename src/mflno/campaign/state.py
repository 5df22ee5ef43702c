"""The state of a campaign, and the two decisions everything follows from. Both are pure.

A campaign is its journal: `advance` folds one event into the state, `next_action` reads off
the state and the plan what to do now. The loop does it, writes down what happened as an event,
and asks again. So a campaign killed anywhere goes on where it stood, and the same events give
the same state on any machine.

```
created ─> [chosen ─> submitted ─> returned | failed]* ─> fitted ─> [chosen ...]* ─> stopped
```

Times are in the events for readers; no decision looks at a clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from mflno.campaign.plan import Plan

Event = Mapping[str, Any]

ROUND = 32
"""Runs that a round buys at most: what levels say of each other is then measured again."""
LEAST = 2
"""Runs of the highest level that any method needs."""


@dataclass(frozen=True)
class Run:
    """One case at one level, from the moment it was chosen.

    Attributes:
        name: Its folder below `runs/`.
        case: In physical units.
        level: Which level.
        round: The round that chose it; -1 for one that nobody chose.
        state: `waiting`, `working`, `asked` (solved elsewhere), `done` or `failed`.
        attempt: Attempts that ended without an output.
        seconds: How long the last attempt took.
        cost: What all attempts cost, in the level's unit.
        kind: Why the last attempt failed, in one word.
        detail: The same in words.
        retryable: Whether the same case may succeed when tried again.
    """

    name: str
    case: tuple[float, ...]
    level: int
    round: int
    state: str = "waiting"
    attempt: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    kind: str = ""
    detail: str = ""
    retryable: bool = False

    @property
    def folder(self) -> str:
        """The folder of the present attempt."""
        return f"{self.name}-retry{self.attempt}" if self.attempt else self.name


@dataclass(frozen=True)
class State:
    """Where a campaign stands.

    Attributes:
        top: Number of the highest level.
        costs: What a run costs at each level.
        runs: All runs by name, in the order they were chosen.
        fitted: Names of the runs that the present surrogate has learned from.
        fits: How many fits there were.
        rounds: How many rounds were chosen.
        met: Whether the last fit meets the goal.
        stopped: Why the campaign stopped last; empty while it goes on.
    """

    top: int = 0
    costs: tuple[float, ...] = ()
    runs: Mapping[str, Run] = field(default_factory=dict)
    fitted: tuple[str, ...] = ()
    fits: int = 0
    rounds: int = 0
    met: bool = False
    stopped: str = ""

    def named(self, *states: str) -> list[Run]:
        """The runs in these states."""
        return [run for run in self.runs.values() if run.state in states]

    @property
    def done(self) -> tuple[str, ...]:
        """Names of all runs with an output, sorted: no fit depends on who was first."""
        return tuple(sorted(run.name for run in self.named("done")))

    @property
    def spent(self) -> int:
        """Runs asked for so far, failed ones among them; those that were only told are free."""
        return sum(run.round >= 0 for run in self.runs.values())

    @property
    def paid(self) -> float:
        """What these runs cost so far, every attempt of each, in the unit of the levels."""
        asked = [run for run in self.runs.values() if run.round >= 0]
        return float(sum(max(run.cost, self.costs[run.level]) for run in asked))

    def name(self, place: int = 0) -> str:
        """A name that no run has yet, so many places behind the last one."""
        return f"{1 + place + max(map(int, self.runs), default=-1):04d}"

    def known_at(self, level: int) -> int:
        """Runs of one level with an output."""
        return sum(run.level == level for run in self.named("done"))

    @property
    def known(self) -> int:
        """Runs of the highest level with an output."""
        return self.known_at(self.top)

    def left(self, plan: Plan) -> int | float:
        """What the budget still has: runs, or money where levels are bought."""
        return plan.budget - (self.paid if plan.buys else self.spent)

    def scarce(self, plan: Plan) -> int | None:
        """A level with too few outputs to learn from, the highest first; none when all have."""
        levels = range(self.top, -1 if plan.buys else self.top - 1, -1)
        return next((level for level in levels if self.known_at(level) < LEAST), None)


@dataclass(frozen=True)
class Submit:
    """Send this run to the runner."""

    run: Run


@dataclass(frozen=True)
class Choose:
    """Choose so many runs; `design` says that it is the start, before any fit.

    Where levels are bought, `count` is the most runs, and `money` what they may cost together.
    """

    count: int
    design: bool
    money: float = float("inf")


@dataclass(frozen=True)
class Fit:
    """Fit a surrogate to all runs that are done."""


@dataclass(frozen=True)
class Wait:
    """Wait until a run comes back."""


@dataclass(frozen=True)
class Stop:
    """Nothing is left to do, and why."""

    reason: str


Action = Submit | Choose | Fit | Wait | Stop


def next_action(state: State, plan: Plan, slots: int = 1) -> Action:
    """What to do now.

    Args:
        state: Where the campaign stands.
        plan: What it shall do.
        slots: Runs that the runner can take at once.
    """
    waiting, working = state.named("waiting"), state.named("working")
    if waiting and len(working) < slots:
        return Submit(waiting[0])
    pending = len(waiting) + len(working) + len(state.named("asked"))
    if pending > plan.overlap:
        return Wait() if working else Stop(f"{pending} runs asked for are not told yet")
    rest = Wait() if working else Stop(verdict(state, plan))
    return next_step(state, plan) or rest


def next_step(state: State, plan: Plan) -> Choose | Fit | None:
    """What to choose or fit now that few enough runs are pending; nothing at the end."""
    start, least = prices(state, plan)
    left = state.left(plan) * (1.0 + 1e-9)
    tops = [run for run in state.named("waiting", "working", "asked") if run.level == state.top]
    short = plan.start - state.known - len(tops)
    if short > 0 and left >= start:
        return Choose(min(short, int(left / start)), design=True)
    spent = left < least
    if state.scarce(plan) is not None or (spent and state.named("working")):
        return None
    if state.fitted != state.done:
        return Fit()
    return None if spent or state.met else next_round(state, plan, left)


def next_round(state: State, plan: Plan, left: float) -> Choose:
    """The choice of a round with so much left."""
    if not plan.buys:
        return Choose(min(plan.batch, int(left)), design=False)
    top = state.costs[-1]
    # What would be left over for less than one dear run is spent with the last batch.
    return Choose(ROUND, False, left if left < (plan.batch + 1) * top else plan.batch * top)


def asked(state: State, plan: Plan, count: int) -> Choose | None:
    """What to choose when somebody asks for so many runs; nothing when too little is left."""
    start, least = prices(state, plan)
    left, begun = state.left(plan) * (1.0 + 1e-9), state.fits > 0
    most = int(left / (least if begun else start))
    if most < 1:
        return None
    if plan.buys and begun:
        return Choose(min(count, ROUND), False, left)
    return Choose(min(count, most), design=not begun)


def prices(state: State, plan: Plan) -> tuple[float, float]:
    """What a case of the start takes of the budget, and what the least run takes."""
    return (sum(state.costs), min(state.costs)) if plan.buys else (1.0, 1.0)


def verdict(state: State, plan: Plan) -> str:
    """Why nothing is left to do."""
    scarce = state.scarce(plan)
    if scarce is not None:
        words = f" of level {scarce}" if plan.buys else ""
        asked = sum(run.level == scarce and run.round >= 0 for run in state.runs.values())
        known = state.known_at(scarce)
        return f"{known} of {asked} runs{words} succeeded: too few to learn from"
    if state.met:
        return "the goal is met"
    unit = "" if plan.buys else " runs"
    return f"the budget of {plan.budget:g}{unit} is spent"


def advance(state: State, event: Event) -> State:
    """The state after an event; events of an unknown kind change nothing."""
    change = EVENTS.get(event["event"])
    return change(state, event) if change else state


def state_of(events: Iterable[Event]) -> State:
    """The state after all these events.

    Example:
        >>> events = [{"event": "created", "levels": 2}]
        >>> picks = [{"run": "0000", "case": [1.0], "level": 1}]
        >>> state_of([*events, {"event": "chosen", "picks": picks}]).spent
        1
    """
    return reduce(advance, events, State())


def created(state: State, event: Event) -> State:
    """The campaign begins."""
    levels = event.get("problem", {}).get("levels", ())
    costs = tuple(level["cost"] for level in levels) or (1.0,) * event["levels"]
    return replace(state, top=event["levels"] - 1, costs=costs)


def chosen(state: State, event: Event) -> State:
    """A round: runs that wait to be solved here, or were asked for elsewhere."""
    at = "asked" if event.get("elsewhere") else "waiting"
    runs = [
        Run(pick["run"], tuple(pick["case"]), pick["level"], state.rounds, at)
        for pick in event["picks"]
    ]
    more = {run.name: run for run in runs}
    return replace(state, runs={**state.runs, **more}, rounds=state.rounds + 1, stopped="")


def changed(state: State, event: Event, /, **changes: Any) -> State:  # noqa: ANN401
    """The state with one run changed."""
    run = state.runs[event["run"]]
    return replace(state, runs={**state.runs, run.name: replace(run, **changes)}, stopped="")


def submitted(state: State, event: Event) -> State:
    """A run went to the runner."""
    return changed(state, event, state="working")


def returned(state: State, event: Event) -> State:
    """A run came back with an output."""
    cost = state.runs[event["run"]].cost + event["cost"]
    return changed(state, event, state="done", seconds=event["seconds"], cost=cost)


def failed(state: State, event: Event) -> State:
    """An attempt failed; it is tried again, or given up and never asked for again."""
    run = state.runs[event["run"]]
    again = event["again"]
    return changed(
        state, event,
        state="waiting" if again else "failed", attempt=run.attempt + again,
        seconds=event["seconds"], cost=run.cost + event["cost"],
        kind=event["kind"], detail=event["detail"], retryable=event["retryable"],
    )  # fmt: skip


def lost(state: State, event: Event) -> State:
    """The output of a run is gone from the disk, or its worker is: it waits again."""
    return changed(state, event, state="asked" if event.get("elsewhere") else "waiting")


def told(state: State, event: Event) -> State:
    """A run that was solved elsewhere came in, asked for or not."""
    run = state.runs.get(event["run"])
    if run is None:
        run = Run(event["run"], tuple(event["case"]), event["level"], round=-1)
    run = replace(run, state="done", cost=event["cost"], attempt=event["attempt"])
    return replace(state, runs={**state.runs, run.name: run}, stopped="")


def fitted(state: State, event: Event) -> State:
    """A surrogate has learned from all runs that were done."""
    runs, met = tuple(event["runs"]), bool(event.get("met"))
    return replace(state, fitted=runs, fits=state.fits + 1, met=met, stopped="")


def stopped(state: State, event: Event) -> State:
    """Nothing was left to do."""
    return replace(state, stopped=event["reason"])


EVENTS = {
    "created": created, "chosen": chosen, "submitted": submitted, "returned": returned,
    "failed": failed, "lost": lost, "told": told, "fitted": fitted, "stopped": stopped,
}  # fmt: skip
"""What each event of the journal means; others, as `replanned`, are for readers."""
