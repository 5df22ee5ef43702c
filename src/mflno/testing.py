"""Checks that a new problem, operator, sampler or score can run on itself."""

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from mflno.active import Choice, Sketched, View
from mflno.bayes import Draws, Inference
from mflno.errors import ArgumentError, StoreError
from mflno.problems import Problem, checked_values
from mflno.sampling import sample
from mflno.store import Journal


def check_journal(folder: Path, journal: Callable[[Path], Journal] = Journal) -> None:
    """Raise unless a journal keeps order, survives a torn tail and allows one writer.

    Args:
        folder: An empty folder to work in.
        journal: What opens a journal at a path; ours when left out.
    """
    path = folder / "checked.jsonl"
    events = [
        {"event": "created", "n": n, "text": "line\nbreak", "x": 0.1 * n} for n in range(3)
    ]
    with journal(path) as first:
        for event in events:
            first.append(event)
        expect(list(first.read()) == events, "events must come back in the order appended")
        try:
            journal(path).close()
        except StoreError:
            pass
        else:
            expect(False, "a second writer must be refused with a StoreError")
    with path.open("ab") as torn:
        torn.write(b'{"event": "half')
    with journal(path) as second:
        expect(list(second.read()) == events, "a torn last line must be overlooked")
        second.append(events[0])
        expect(list(second.read()) == [*events, events[0]], "a torn tail must be cut off")


def check_problem(problem: Problem, *, levels: Sequence[int] | None = None) -> None:
    """Raise unless a problem keeps the contract; solves three cases at each level, some again.

    Args:
        problem: What to check.
        levels: Which levels to solve at, when some are too dear; all when left out.

    Example:
        >>> from mflno.problems import Chain
        >>> check_problem(Chain())
    """
    check_description(problem)
    channels = set()
    for level in range(len(problem.levels)) if levels is None else levels:
        cases = box_cases(problem)
        first = [checked_values(problem, level, problem.solve(case, level)) for case in cases]
        again = problem.solve(cases[0], level)
        expect(
            np.array_equal(first[0], again),
            f"level {level}: a case must give the same numbers again after others were solved",
        )
        expect(np.array_equal(cases, box_cases(problem)), "solve must not change its case")
        differ = all(not np.array_equal(first[0], other) for other in first[1:])
        expect(differ, f"level {level}: other cases must give other numbers")
        inputs = [np.asarray(problem.inputs(case, level)) for case in cases]
        points = problem.levels[level].points
        fits = all(each.ndim == 2 and each.shape[1] == points for each in inputs)
        expect(fits, f"level {level}: inputs must have shape (C, {points})")
        expect(all(map(np.all, map(np.isfinite, inputs))), "inputs must be finite")
        channels |= {len(each) for each in inputs}
        check_together(problem, level, cases, first)
        check_elsewhere(problem, level, cases[1], first[1])
    expect(len(channels) == 1, f"inputs must have as many channels everywhere, not {channels}")
    check_refusals(problem)


def box_cases(problem: Problem) -> ndarray:
    """The lowest corner, a point inside and the highest corner of the box."""
    sides = [
        (each.low, 0.6 * each.low + 0.4 * each.high, each.high) for each in problem.parameters
    ]
    return np.array(sides).T.copy()


def check_description(problem: Problem) -> None:
    """Raise unless names, box, levels and costs are sound; `Level` itself sees to the grids."""
    expect(isinstance(problem, Problem), "must have the attributes and methods of a Problem")
    for name in ("name", "version"):
        text = getattr(problem, name)
        expect(isinstance(text, str) and text != "", f"{name} must be a word, not {text!r}")
    for name in ("parameters", "outputs"):
        names = [getattr(each, "name", each) for each in getattr(problem, name)]
        expect(bool(names) and len(set(names)) == len(names), f"{name} must differ: {names}")
    costs = [level.cost for level in problem.levels]
    expect(len(costs) >= 2, "there must be two levels or more")
    expect(costs == sorted(costs), f"levels must come cheapest first, not at costs {costs}")


def check_together(
    problem: Problem, level: int, cases: ndarray, alone: Sequence[ndarray]
) -> None:
    """Raise unless `solve_many`, where there is one, agrees with `solve`."""
    solve_many = getattr(problem, "solve_many", None)
    if solve_many is None:
        return
    together = np.asarray(solve_many(cases, level))
    scale = np.abs(together).max()
    close = together.shape == np.shape(alone) and np.allclose(
        together, alone, rtol=0.0, atol=1e-10 * scale
    )
    expect(close, f"level {level}: solve_many must give the numbers of solve")


def check_elsewhere(problem: Problem, level: int, case: ndarray, values: ndarray) -> None:
    """Raise unless the problem can travel to another process and solves the same there."""
    copy = pickle.loads(pickle.dumps(problem))
    expect(np.array_equal(copy.solve(case, level), values), "a pickled copy must solve alike")


def check_refusals(problem: Problem) -> None:
    """Raise unless wrong cases are refused instead of being solved."""
    good = box_cases(problem)[1]
    try:
        problem.solve(np.append(good, 0.5), 0)
    except Exception as error:
        expect(str(error) != "", "the error of a case that is too long must say something")
    else:
        expect(False, "solve must refuse a case that is too long")
    outside = good.copy()
    outside[0] = problem.parameters[0].high + (problem.parameters[0].high - good[0])
    try:
        sample(problem, [outside], 0, cache=False, show=False)
    except ArgumentError as error:
        name = problem.parameters[0].name
        expect(name in str(error), f"the error of a case outside the box must name {name}")
    else:
        expect(False, "a case outside the box must be refused")


def expect(holds: bool, rule: str) -> None:
    """Raise an `AssertionError` with the rule unless it holds, also under `python -O`."""
    if not holds:
        raise AssertionError(rule)


def check_choice(choice: Choice, *, width: int = 2) -> None:
    """Raise unless a choice keeps its contract on a small made-up campaign.

    Distinct free candidates, as many as asked for or all that are left; the same from the same
    generator; no posterior read by a rule that says it reads none; and, for a rule that draws
    no random numbers, the same cases in whatever order the candidates come.
    """
    view = made_up_view(width, reads_posterior=choice.reads_posterior)
    pick = lambda view, batch, seed=0: choose(choice, view, batch, seed)
    taken = {tuple(case) for case in view.known}
    for batch in (1, 2, 7):
        cases = [tuple(case) for case in view.candidates[pick(view, batch)]]
        expect(len(set(cases)) == len(cases) == batch, "as many distinct cases as asked for")
        expect(not taken & set(cases), "nothing done, pending or failed may be asked for again")
    expect(np.array_equal(pick(view, 4), pick(view, 4)), "same generator, same picks")
    if np.array_equal(pick(view, 4, 1), pick(view, 4, 2)):
        order = np.random.default_rng(5).permutation(len(view.candidates))
        mixed = replace(view, candidates=view.candidates[order])
        same = np.array_equal(order[pick(mixed, 4)], pick(view, 4))
        expect(same, "the order of the candidates must not matter")
    few = replace(view, candidates=np.concatenate([view.known, view.candidates[-2:]]))
    expect(len(pick(few, 5)) == len(few.free), "all that are left, where fewer are left")
    try:
        pick(replace(view, candidates=view.known), 1)
    except ArgumentError:
        return
    expect(False, "an ArgumentError where nothing is left")


def choose(choice: Choice, view: View, batch: int, seed: int) -> np.ndarray:
    """The picks from a fresh generator."""
    return np.asarray(choice.choose(view, batch, np.random.default_rng(seed)))


def made_up_view(width: int, *, reads_posterior: bool) -> View:
    """Candidates among which some are done, pending and failed, and a smooth posterior."""
    candidates = np.random.default_rng(0).uniform(-1.0, 1.0, size=(40, width))
    waves = np.random.default_rng(1).normal(size=(6, width, 5))

    def draws(cases: np.ndarray) -> np.ndarray:
        """Six draws of a smooth random function at five times."""
        expect(reads_posterior, "a rule that reads no posterior must not ask for one")
        return np.sin(np.einsum("np,spt->snt", cases, waves))[:, :, None]

    return View(
        candidates,
        done=candidates[:3],
        pending=candidates[5:7],
        failed=candidates[[9]],
        posterior=Sketched(draws, np.random.default_rng(2)),
        remaining=9,
    )


def check_inference(inference: Inference, *, ladders: int = 2, parameters: int = 3) -> None:
    """Raise unless an inference keeps the contract of its door on a small noisy bowl.

    Finite draws that say where they come from; the same from the same generator and others
    from another; starting states and torch's global generator left alone; an `ArgumentError`
    for starts that are not finite.
    """
    start = torch.linspace(-1, 1, ladders * inference.chains * parameters)
    start = start.view(-1, parameters)
    kept, world = start.clone(), torch.get_rng_state()
    draws, again, other = (drawn(inference, start, seed) for seed in (0, 0, 1))
    expect(torch.equal(start, kept), "starting states must be left alone")
    expect(torch.equal(torch.get_rng_state(), world), "the global generator must be left alone")
    expect(torch.equal(draws.theta, again.theta), "same generator, same draws")
    expect(not torch.equal(draws.theta, other.theta), "another generator, other draws")
    expect(draws.theta.shape == (len(draws), parameters), "one state a row")
    expect(len(draws) >= ladders, "at least one draw of each ladder")
    expect(bool(draws.theta.isfinite().all()), "draws must be finite")
    expect(sorted(set(draws.ladder.tolist())) == list(range(ladders)), "every ladder has draws")
    inside = (draws.chain >= 0) & (draws.chain < inference.chains)
    expect(bool(inside.all()), "chains are counted from 0, the coldest")
    expect(draws.trace.parameters == parameters, "the trace knows how large a state is")
    try:
        drawn(inference, start * torch.nan, 0)
    except ArgumentError:
        return
    expect(False, "an ArgumentError for starts that are not finite")


def drawn(inference: Inference, start: Tensor, seed: int) -> Draws:
    """Draws of a bowl around the mean of five centres, one a case."""
    centres = torch.linspace(-1, 1, 5)

    def energy(theta: Tensor, batch: Tensor | None) -> Tensor:
        chosen = centres if batch is None else centres[batch]
        return (theta[:, None] - chosen[:, None]).square().sum(-1).mean(-1)

    generator = torch.Generator().manual_seed(seed)
    return inference.sample(energy, start, cases=5, generator=generator, show=False)
