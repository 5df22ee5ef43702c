"""What a campaign begins with: its first event, its runner, and a check of who comes back."""

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mflno.campaign.choosing import guard_of, rule_of
from mflno.campaign.learning import method_of
from mflno.campaign.plan import Plan, named
from mflno.campaign.pools import candidates, lower_cases
from mflno.campaign.runners import Elsewhere, Inline, Local, Runner, default_slots
from mflno.campaign.thrift import NEEDY
from mflno.errors import ArgumentError
from mflno.problems import Problem

RUNNERS = "local", "inline", "ask", "dask"


def runner_of(plan: Plan, problem: Problem) -> Runner:
    """The runner that a plan names."""
    name, options = named(plan.runner)
    slots = plan.jobs or default_slots(plan.batch)
    if name == "ask":
        return Elsewhere()
    if name == "inline" or (name == "local" and not plan.problem):
        return Inline(problem)
    if name == "local":
        return Local(slots)
    if name == "dask":
        from mflno.campaign.dask_runner import Dask

        return Dask(slots=slots, **options)
    rule = f"must be one of {', '.join(RUNNERS)}"
    raise ArgumentError("Plan.runner", rule, repr(name), "or pass a runner to Campaign.run")


def check_plan(problem: Problem, plan: Plan) -> None:
    """Raise for every word of a plan that would fail once runs are paid for."""
    method_of(plan.method)
    if plan.buys and named(plan.method)[0] in NEEDY:
        rule, remedy = (
            "must answer without solving a level that is bought",
            "choose mf-gp or auto",
        )
        raise ArgumentError("Plan.method", rule, repr(named(plan.method)[0]), remedy)
    candidates(problem, plan.pool, seed=plan.seed, folder=plan.folder)
    if not plan.buys:
        lower_cases(problem, plan.lower, seed=plan.seed, folder=plan.folder)
    name, options = named(plan.choice)
    if name in ("auto", "guard"):
        guard_of(options, plan.seed)
    else:
        rule_of(plan.choice, plan.seed)


def versions() -> dict[str, str]:
    """Versions of all that shapes the numbers."""
    found = {"python": platform.python_version()}
    for name in ("mflno", "torch", "numpy", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


def about(problem: Problem) -> dict[str, Any]:
    """A problem in words and numbers."""
    return {
        "name": problem.name,
        "version": problem.version,
        "parameters": [[p.name, p.low, p.high, p.unit] for p in problem.parameters],
        "outputs": list(problem.outputs),
        "levels": [
            {
                "name": level.name, "cost": float(level.cost), "points": level.points,
                "start": float(level.grid[0]), "end": float(level.grid[-1]),
            }
            for level in problem.levels
        ],
    }  # fmt: skip


def created_event(problem: Problem, plan: Plan) -> dict[str, Any]:
    """The first event of a journal."""
    return {
        "event": "created",
        "plan": plan.as_dict(),
        "problem": about(problem),
        "levels": len(problem.levels),
        "versions": versions(),
    }


def check_same(before: Mapping[str, Any], problem: Problem) -> str:
    """Raise when the box, outputs or grids changed; a remark when the solver did."""
    now = about(problem)
    for name in ("name", "parameters", "outputs", "levels"):
        if now[name] != before[name]:
            rule, remedy = f"the same {name} as when the campaign began", "begin a new campaign"
            raise ArgumentError("Campaign.problem", rule, now[name], remedy)
    if now["version"] == before["version"]:
        return ""
    return f"the problem changed from version {before['version']} to {now['version']}"
