"""A run under way: its state, what it recorded, what it kept; and the loop that drives it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from mflno.bayes.collect import Collection
from mflno.bayes.draws import Draws, Energy, Trace
from mflno.bayes.state import Info, State
from mflno.errors import ArgumentError
from mflno.progress import progress
from mflno.shapes import Bool, Float

Step = Callable[[Any], tuple[Any, Info]]
"""state -> (state, info)."""


@dataclass(frozen=True)
class Run:
    """A run under way; `bayes.run_arrays` writes it down, `bayes.run_from` reads it back.

    Attributes:
        state: Where it stands.
        info: One row an iteration, filled up to the state's step.
        kept: States kept so far by their step, `L` ladders of the chains that are kept.
    """

    state: State
    info: Info
    kept: dict[int, Float[Tensor, "L K P"]]


def proceed(run: Run, step: Step, *, until: int, collect: Collection, show: bool = True) -> Run:
    """The run after it has come to `until` moves; keeps the states that are due on the way."""
    state, steps = run.state, len(run.info.energy)
    if not state.step <= until <= steps:
        rule, remedy = f"from {state.step} to {steps}", "a run goes forward, up to its steps"
        raise ArgumentError("proceed.until", rule, until, remedy)
    ladders, chains = run.info.energy.shape[1:]
    # copies, so that a run may be taken further twice
    kept, infos = dict(run.kept), Info(*(record.clone() for record in run.info))
    often = max(1, steps // 100)
    with progress("sampling", steps, show=show) as line:
        line.advance(state.step)
        for now in range(state.step, until):
            if collect.due(now, steps):
                kept[now] = chosen(state, ladders, chains, collect)
            state, info = step(state)
            for record, entry in zip(infos, info, strict=True):
                record[now] = entry
            if now % often == 0 or now == until - 1:
                check_alive(info.healthy, now)
                line.note(f"energy {float(info.energy.nan_to_num(torch.inf).min()):.3g}")
            line.advance()
    return replace(run, state=state, info=infos, kept=kept)


def chosen(
    state: State, ladders: int, chains: int, collect: Collection
) -> Float[Tensor, "L K P"]:
    """A copy of the chains that are kept, from the coldest up."""
    theta = state.theta.view(ladders, chains, -1)
    return theta[:, : collect.kept(chains)].detach().clone()


def check_alive(healthy: Bool[Tensor, "L K"], step: int) -> None:
    """Refuse to go on when a ladder has no finite chain left to restart from."""
    if not bool(healthy.any(-1).all()):
        rule = "must leave each ladder a chain with finite energy and gradient"
        remedy = "lower it, or shorten gradients with Drift(clip=1.0)"
        raise ArgumentError("step_size", rule, f"none at iteration {step}", remedy)


def finished(
    run: Run,
    energy: Energy,
    *,
    collect: Collection,
    step_size: Float[Tensor, "I K"],
    temperature: Float[Tensor, " K"],
) -> Draws:
    """The draws of a run that came to its end; states that were not finite are left out."""
    steps, ladders, chains = run.info.energy.shape
    if run.state.step != steps:
        rule, remedy = f"must have made all {steps} moves", f"proceed(..., until={steps}) first"
        raise ArgumentError("finish.run", rule, run.state.step, remedy)
    with torch.no_grad():
        last = energy(run.state.theta, None) + run.state.theta.sum(-1)
    healthy = torch.cat([run.info.healthy, last.isfinite().view(1, ladders, chains)])
    check_alive(healthy[-1], steps)
    kept = {**run.kept, steps: chosen(run.state, ladders, chains, collect)}
    theta = torch.stack(list(kept.values()))
    when = torch.tensor(list(kept), device=theta.device)
    good = healthy[when, :, : theta.shape[2]].flatten()
    axes = [torch.arange(size, device=theta.device) for size in theta.shape[1:3]]
    step, ladder, chain = (
        axis.flatten()[good] for axis in torch.meshgrid(when, *axes, indexing="ij")
    )
    trace = Trace(
        **run.info._asdict(), step_size=step_size, temperature=temperature,
        parameters=theta.shape[-1],
    )  # fmt: skip
    return Draws(theta.flatten(0, 2)[good], ladder, chain, step, temperature[chain], trace)
