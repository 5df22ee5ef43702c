"""All seeds of a contender, round by round side by side.

The next picks of a seed depend on its last fit, so seeds cannot run ahead; but at each budget
all of them are fitted together, in one buffer where the method can.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

import mflno
from mflno.active import Beliefs, Maximin, TopB, View, scaled
from mflno.bayes import relative_error
from mflno.campaign import Plan
from mflno.campaign.choosing import Known, Question, choose
from mflno.campaign.learning import Forecast, grouped
from mflno.errors import ArgumentError
from mflno.multifidelity import Law, Method, Predictor, Surrogate
from mflno.seeds import numpy_stream
from mflno.shapes import Float
from mflno.study.cells import Cell, Row, Shelf, digits, machine
from mflno.study.contenders import Contender
from mflno.study.material import START, Material

GAUSSIAN = 1.959964
DESIGNS = ("random", "maximin")
"""Rules that read no posterior: all budgets are known at once."""


@dataclass(frozen=True)
class Course:
    """What the seeds of a contender go through.

    Attributes:
        seeds: All of them, fitted together.
        budgets: Expensive runs at each fit, rising.
        device: Where networks are trained.
        share: Of the paper's epochs, for the record; contenders are made with it.
        show: Show progress of single fits.
    """

    seeds: tuple[int, ...]
    budgets: tuple[int, ...]
    device: str = "cpu"
    share: float = 1.0
    show: bool = False


@dataclass(frozen=True)
class Answer:
    """What one fitted method says, with its 95 % band."""

    predictor: Predictor | Surrogate
    material: Material

    def law(self, cases: Float[ndarray, "N P"]) -> tuple[Law, float]:
        """Mean, deviation, and half-width of the 95 % band in units of it."""
        if isinstance(self.predictor, Surrogate):
            found = self.predictor.predict(cases)
            levels, widths = zip(*found.radius, strict=True)
            width = float(np.interp(0.95, levels, widths))
            return Law(found.mean, found.std), width
        query = self.material.data([0]).query(cases)
        return self.predictor.law(query), GAUSSIAN


def asked_of(material: Material, contender: Contender, course: Course, budget: int) -> Row:
    """Everything a cell depends on."""
    problem = material.problem
    return {
        "kind": "errors", "problem": problem.name, "version": problem.version,
        "contender": contender.key, "method": repr(contender.made(problem.name)),
        "rule": contender.rule, "seeds": list(course.seeds), "budget": budget,
        "start": START, "share": course.share, "mflno": mflno.__version__,
        # Designs without a model have all budgets in one buffer; rounds come one by one.
        "company": list(course.budgets) if contender.rule in DESIGNS else None,
    }  # fmt: skip


def cells(
    material: Material, contender: Contender, course: Course, shelf: Shelf
) -> Iterator[Cell]:
    """The contender's cells, budget by budget; those on the shelf are not computed again."""
    if contender.alone:
        course = replace(course, budgets=course.budgets[-1:])
    asked = {n: asked_of(material, contender, course, n) for n in course.budgets}
    if contender.rule in DESIGNS:
        yield from design_cells(material, contender, course, (shelf, asked))
        return
    picks = [material.order(seed)[:START] for seed in course.seeds]
    evidence: list[list[Row]] = [[] for _ in course.seeds]
    for budget in course.budgets:
        cell = shelf.find(asked[budget])
        if cell is None:
            cell = round_cell(material, contender, course, (asked[budget], picks, evidence))
            shelf.keep(cell)
        yield cell
        picks = [[*row["picks"], *row["next"]] for row in cell.found["rows"]]
        evidence = [row["evidence"] for row in cell.found["rows"]]


def design_cells(
    material: Material,
    contender: Contender,
    course: Course,
    where: tuple[Shelf, dict[int, Row]],
) -> Iterator[Cell]:
    """All budgets of a design at once."""
    shelf, asked = where
    known = {budget: shelf.find(asked[budget]) for budget in course.budgets}
    found = [cell for cell in known.values() if cell is not None]
    if len(found) == len(known):
        yield from found
        return
    most = course.budgets[-1]
    orders = {seed: designed(material, contender.rule, seed, most) for seed in course.seeds}
    designs = [(n, seed, orders[seed][:n]) for n in course.budgets for seed in course.seeds]
    begin = time.perf_counter()
    method = contender.made(material.problem.name)
    answers = fitted(material, method, contender, course, [d[1:] for d in designs])
    seconds = (time.perf_counter() - begin) / len(course.budgets)
    for budget in course.budgets:
        own = [(a, d) for a, d in zip(answers, designs, strict=True) if d[0] == budget]
        rows = [
            {"seed": seed, "picks": picks, "next": [], "evidence": [], **judged(answer)}
            for answer, (_, seed, picks) in own
        ]
        arrays = drawn(own[0][0])
        found = {"rows": rows, "seconds": seconds, "machine": machine(course.device)}
        yield shelf.keep(Cell(asked[budget], found, arrays))


def designed(material: Material, rule: str, seed: int, count: int) -> list[int]:
    """Candidates in the order a rule without a model asks for them, after the random start."""
    order = material.order(seed)
    if rule == "random":
        return order[:count]
    picks = order[:START]
    places = np.clip(scaled(material.candidates.cases, material.problem.parameters), -1.0, 1.0)
    view = View(places, done=places[picks])
    rest = Maximin().choose(view, count - START, numpy_stream(seed, "maximin"))
    return [*picks, *rest.tolist()]


def round_cell(
    material: Material, contender: Contender, course: Course,
    state: tuple[Row, list[list[int]], list[list[Row]]],
) -> Cell:  # fmt: skip
    """One round of every seed: fit, judge, choose."""
    asked, picks, evidence = state
    begin = time.perf_counter()
    method = contender.made(material.problem.name)
    jobs = list(zip(course.seeds, picks, strict=True))
    answers = fitted(material, method, contender, course, jobs)
    seconds = time.perf_counter() - begin
    later = [n for n in course.budgets if n > asked["budget"]]
    rows = []
    for answer, (seed, own), known in zip(answers, jobs, evidence, strict=True):
        chosen, told = [], known
        if later:
            count = later[0] - asked["budget"]
            chosen, told = next_picks(answer, contender, (seed, own, known), count)
        rows.append({
            "seed": seed, "picks": own, "next": chosen, "evidence": told, **judged(answer),
        })  # fmt: skip
    found = {"rows": rows, "seconds": seconds, "machine": machine(course.device)}
    return Cell(asked, found, drawn(answers[0]))


def fitted(
    material: Material, method: Method, contender: Contender, course: Course,
    jobs: Sequence[tuple[int, list[int]]],
) -> list[Answer]:  # fmt: skip
    """A fit for each seed and its runs."""
    how: dict[str, Any] = {"device": course.device, "show": course.show}
    if contender.banded:
        runs = lambda picks: [*material.lower, material.candidates.take(picks)]
        return [
            Answer(mflno.fit(material.problem, runs(picks), method, seed=seed, **how), material)
            for seed, picks in jobs
        ]
    datas = [material.data(picks) for _, picks in jobs]
    seeds = [seed for seed, _ in jobs]
    together = getattr(method, "fit_many", None)
    if together:
        found = together(datas, seeds=seeds, **how)
    else:
        found = [method.fit(d, seed=s, **how) for d, s in zip(datas, seeds, strict=True)]
    return [Answer(each, material) for each in found]


def judged(answer: Answer) -> Row:
    """Errors, spreads and coverage over the test cases; the five shown; the candidates."""
    material = answer.material
    tests, shown = material.tests, material.shown
    law, width = answer.law(tests.cases)
    missed = np.abs(law.mean - tests.values)
    inside = missed <= width * law.std
    there, _ = answer.law(shown.cases)
    off = there.mean - shown.values
    over, _ = answer.law(material.candidates.cases)
    return {
        "errors": digits(relative_error(law.mean, tests.values)),
        "spread": digits(law.std.mean((1, 2))),
        "coverage": digits(inside.mean((1, 2))),
        "shown": {
            "relative_l2": digits(relative_error(there.mean, shown.values)),
            "rmse": digits(np.sqrt(np.square(off).mean((1, 2)))),
            "mae": digits(np.abs(off).mean((1, 2))),
        },
        "plane": {
            "errors": digits(relative_error(over.mean, material.candidates.values)),
            "spread": digits(over.std.mean((1, 2))),
        },
    }


def drawn(answer: Answer) -> dict[str, ndarray]:
    """The five shown trajectories with their band, for a figure."""
    law, width = answer.law(answer.material.shown.cases)
    return {"mean": law.mean, "half": width * law.std}


def next_picks(
    answer: Answer, contender: Contender, state: tuple[int, list[int], list[Row]], count: int
) -> tuple[list[int], list[Row]]:
    """Indices of the next candidates, and the evidence once their runs are back."""
    seed, picks, evidence = state
    if contender.rule == "topb":
        return paper_picks(answer, seed, picks, count), evidence
    if not isinstance(answer.predictor, Surrogate):
        rule, remedy = "'auto' needs calibrated bands", "make the contender banded"
        raise ArgumentError(f"contender {contender.key!r}", rule, contender.rule, remedy)
    material, rounds = answer.material, (len(picks) - START) // 2 + 1
    pool = material.candidates.cases
    none = np.zeros((0, pool.shape[1]))
    question = Question(
        material.problem, Plan(material.problem.name, seed=seed), pool,
        Known(pool[sorted(picks)], none, none), rounds, count, answer.predictor,
        grouped(evidence),
    )  # fmt: skip
    cases = choose(question, count).cases
    places = {case.tobytes(): place for place, case in enumerate(pool)}
    chosen = [places[case.tobytes()] for case in cases]
    forecast = Forecast.made(answer.predictor, cases)
    back = material.candidates.values[chosen]
    told = [
        {"round": rounds, "spread": float(forecast.spread[k]), "error": forecast.error(k, each)}
        for k, each in enumerate(back)
    ]
    return chosen, [*evidence, *told]


def paper_picks(answer: Answer, seed: int, picks: list[int], count: int) -> list[int]:
    """The paper's rule: the largest mean standard deviations, Eq. 18."""
    material = answer.material
    cases = material.candidates.cases
    law, _ = answer.law(cases)
    size = np.sqrt(np.square(law.mean).mean((1, 2)))
    beliefs = Beliefs(np.zeros((len(cases), 1)), law.std.mean((1, 2)), size)
    places = np.clip(scaled(cases, material.problem.parameters), -1.0, 1.0)
    # The view asks about the candidates, then about the runs that are done.
    order = [*range(len(cases)), *picks]
    view = View(places, done=places[picks], posterior=lambda _: beliefs.take(np.array(order)))
    generator = numpy_stream(seed, "paper picks")
    return TopB().choose(view, count, generator).tolist()
