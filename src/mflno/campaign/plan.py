"""The plan: what a campaign shall do, as a frozen object and as a TOML file."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mflno.active import CHOICES
from mflno.errors import ArgumentError

Named = str | Mapping[str, Any]
"""A name, or a table with a `name` and options."""

FREE = (
    "budget", "goal", "quantile", "overlap", "retries", "time_limit", "runner", "jobs",
)  # fmt: skip
"""What may change when a campaign goes on; all else would make it another campaign."""
WHOLE = {"batch": 1, "start": 2, "draws": 2, "overlap": 0, "retries": 0,
         "seed": 0, "jobs": 1}  # fmt: skip
"""Whole numbers, and the least that each may be."""
ALLOWED = {
    "design": ("planned", "maximin", "sobol", "random"),
    "levels": ("given", "buy"),
}
BOUGHT = {"choice": "auto", "lower": "auto", "refine": False}
"""What a plan that buys its levels leaves as it is: cases and levels are chosen together."""


@dataclass(frozen=True)
class Plan:
    """What to spend, how to choose, what to learn with, and when to stop.

    Args:
        problem: A built-in name, `file.py:name`, a problem's TOML file, or its table.
        budget: Runs of the highest level to ask for, in all; a run that failed was paid too.
            Where levels are bought: what all runs may cost, in the unit of `Level.cost`.
        batch: Runs a round; where levels are bought, what so many of the highest level cost.
        levels: `given`: lower levels are solved at `lower` and cost nothing. `buy`: a run of
            any level is paid for, and case and level are chosen by gain per cost.
        start: Runs to have before the first fit; where levels are bought, at every level.
        design: Rule for those: `planned`, `maximin`, `sobol`, or the paper's `random`.
        method: What to fit: a name, a table with its options, or `file.py:name`.
        choice: Rule for the next runs, by name or table; `auto` fills the space until the
            runs that came back show that the posterior can be trusted.
        pool: Candidates: `auto`, `study`, `grid:20`, `sobol:1024`, or a `.csv` of cases.
        refine: Move each pick from the pool to a better case nearby, anywhere in the box.
        lower: Cases solved at each lower level, written as `pool` is.
        draws: Draws of the posterior that the choice sees.
        goal: Stop when the relative error expected over the box is below this.
        quantile: Share of the box that must be below the goal.
        overlap: Runs that may still be at work when the next round is chosen. With 0 a
            campaign gives the same picks whatever happens to it; with more, a slow run does
            not hold the others back.
        retries: How often a run is tried again where that can help.
        time_limit: Seconds a run may take.
        seed: Of everything random.
        runner: Where runs are solved: `local`, `dask`, `ask` (elsewhere), or a table.
        jobs: Runs at once; as many as a batch when left out.
        folder: Where relative paths start.

    Example:
        >>> Plan("lorenz", budget=7).batch
        2
    """

    problem: Named = ""
    budget: int | float = 9
    batch: int = 2
    levels: str = "given"
    start: int = 3
    design: str = "planned"
    method: Named = "auto"
    choice: Named = "auto"
    pool: str = "auto"
    refine: bool = False
    lower: str = "auto"
    draws: int = 64
    goal: float | None = None
    quantile: float = 0.95
    overlap: int = 0
    retries: int = 1
    time_limit: float | None = None
    seed: int = 0
    runner: Named = "local"
    jobs: int | None = None
    folder: str = field(default_factory=lambda: str(Path.cwd()))

    def __post_init__(self) -> None:
        """Refuse numbers and names that make no sense."""
        check_values({each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def buys(self) -> bool:
        """Whether lower levels are bought."""
        return self.levels == "buy"

    def different(self, other: "Plan") -> list[str]:
        """What another plan says differently and may not, once a campaign has begun."""
        held = [each.name for each in fields(self) if each.name not in (*FREE, "folder")]
        return [name for name in held if getattr(self, name) != getattr(other, name)]

    def as_dict(self) -> dict[str, Any]:
        """What JSON and TOML hold of it; what was left open is left out."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in found.items() if value is not None}


def wrong(name: str, rule: str, came: object, remedy: str) -> ArgumentError:
    """The error of one field."""
    return ArgumentError(f"Plan.{name}", rule, came, remedy)


def check_values(values: Mapping[str, Any]) -> None:
    """Raise unless every field that is there makes sense."""
    for name, value in values.items():
        if name in WHOLE and not (name == "jobs" and value is None):
            check_whole(name, value, WHOLE[name])
        elif name in ("goal", "time_limit"):
            check_positive(name, value)
        elif name in ALLOWED:
            check_name(name, value, ALLOWED[name])
        elif name in ("problem", "method", "choice", "runner"):
            check_named(name, value)
    if not 0 < values.get("quantile", 0.95) < 1:
        raise wrong("quantile", "must lie between 0 and 1", values["quantile"], "0.95 is usual")
    check_budget(values)


def check_budget(values: Mapping[str, Any]) -> None:
    """Raise unless the budget is runs, or money where levels are bought."""
    if values.get("levels", "given") == "given":
        if "budget" in values:
            check_whole("budget", values["budget"], 1)
        return
    check_positive("budget", values.get("budget"))
    for name, usual in BOUGHT.items():
        if values.get(name, usual) != usual:
            rule, remedy = f"must be {usual!r} where levels are bought", "leave it out"
            raise wrong(name, rule, repr(values[name]), remedy)


def check_named(name: str, value: object) -> None:
    """Raise unless this is a name or a table."""
    if not isinstance(value, str | Mapping):
        raise wrong(name, "must be a name or a table", repr(value), "correct it")
    if name == "choice":
        check_name("choice", named(value)[0], ("auto", "guard", *CHOICES))


def check_whole(name: str, value: object, least: int) -> None:
    """Raise unless this is a whole number, large enough."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise wrong(name, f"must be a whole number from {least} up", repr(value), "correct it")


def check_positive(name: str, value: object) -> None:
    """Raise unless this is a positive number or was left out."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise wrong(name, "must be a positive number", repr(value), "or leave it out")


def check_name(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise unless this is one of the names."""
    if value not in allowed:
        raise wrong(name, f"must be one of {', '.join(allowed)}", repr(value), "choose one")


def named(value: Named) -> tuple[str, dict[str, Any]]:
    """Name and options of a field that takes either."""
    if isinstance(value, str):
        return value, {}
    options = dict(value)
    name = options.pop("name", "")
    if not isinstance(name, str) or not name:
        rule, remedy = "a table needs a name", 'as {name = "ivr", relative = false}'
        raise ArgumentError("Plan", rule, dict(value), remedy)
    return name, options


def plan_of(table: Mapping[str, Any], folder: str | Path) -> Plan:
    """A plan from the keys of a file; a problem's own file is a plan with all else left open.

    Args:
        table: What the file holds.
        folder: Where relative paths start.
    """
    given: dict[str, Any] = dict(table)
    if "parameters" in given and "problem" not in given:
        given = {"problem": given}
    known = [each.name for each in fields(Plan)]
    for name in given:
        if name not in known:
            remedy = "correct or remove it"
            raise ArgumentError("plan", f"takes {', '.join(known)}", repr(name), remedy)
    if not given.get("problem"):
        raise wrong("problem", "is needed", "nothing", 'add it, as problem = "lorenz"')
    check_values(given)
    given.setdefault("folder", str(Path(folder).absolute()))
    problem = given["problem"]
    if isinstance(problem, str):
        given["problem"] = absolute(problem, Path(given["folder"]))
    return Plan(**given)


def absolute(problem: str, folder: Path) -> str:
    """A problem's name with the file in it, if there is one, found from the folder."""
    home, colon, name = problem.rpartition(":")
    if problem.endswith(".toml"):
        return str(folder / problem)
    return f"{folder / home}:{name}" if colon and home.endswith(".py") else problem


def read_plan(path: Path | str) -> Plan:
    """A plan from a TOML file."""
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        text = error.strerror or str(error)
        raise ArgumentError(str(path), "must be readable", text, "check the path") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(str(path), "must be TOML", error, "correct that line") from error
    return plan_of(table, path.absolute().parent)


def plan_text(plan: Plan) -> str:
    """The plan as a TOML file.

    Example:
        >>> table = tomllib.loads(plan_text(Plan("lorenz", folder="/")))
        >>> plan_of(table, "/") == Plan("lorenz", folder="/")
        True
    """
    return "".join(f"{key} = {toml(value)}\n" for key, value in plan.as_dict().items())


def toml(value: object) -> str:
    """One value as TOML, tables and all on one line."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{toml_key(key)} = {toml(each)}" for key, each in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return json.dumps(value)


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key)


def amended(plan: Plan, changes: Mapping[str, Any]) -> Plan:
    """The plan with some fields given anew; those that are None stay."""
    return replace(plan, **{name: new for name, new in changes.items() if new is not None})
