"""Which runs next: the plan's rule, looking at the pool, at what is known, at the posterior."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.active import (
    CHOICES,
    Choice,
    Decision,
    Evidence,
    Guard,
    Posterior,
    Sketched,
    View,
    after_pending,
    choice_named,
    nearest,
    noise_floor,
    refined,
    scaled,
    unscaled,
)
from mflno.campaign.plan import Named, Plan, named
from mflno.data import Parameter
from mflno.errors import ArgumentError
from mflno.multifidelity import Surrogate
from mflno.problems import Problem
from mflno.seeds import numpy_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class Known:
    """Cases of the highest level that were asked for, in physical units.

    Attributes:
        done: What the surrogate has learned from.
        pending: At work, or back and not learned from yet.
        failed: Given up.
    """

    done: Float[ndarray, "N P"]
    pending: Float[ndarray, "Q P"]
    failed: Float[ndarray, "F P"]


@dataclass(frozen=True)
class Question:
    """Everything a choice depends on.

    Attributes:
        problem: What is studied.
        plan: Rule, seed and draws.
        pool: Candidates in physical units.
        known: What was asked for already.
        round: Number of the coming round; seeds depend on it.
        remaining: Runs left, the coming batch among them.
        surrogate: The posterior; none before the first fit.
        evidence: What was predicted and came back, round by round.
    """

    problem: Problem
    plan: Plan
    pool: Float[ndarray, "N P"] = field(repr=False)
    known: Known
    round: int
    remaining: int
    surrogate: Surrogate | None = None
    evidence: Sequence[Evidence] = ()

    @property
    def posterior(self) -> Posterior | None:
        """Scaled cases to beliefs; none before the first fit."""
        surrogate, axes = self.surrogate, self.problem.parameters
        if surrogate is None:
            return None
        # Scaling there and back moves bits, and a case is known by its bits.
        own = [self.pool, self.known.done, self.known.pending]
        pairs = [zip(placed(part, axes), part, strict=True) for part in own]
        exact = {row.tobytes(): case for pair in pairs for row, case in pair}

        def draws(cases: Float[ndarray, "N P"]) -> Float[ndarray, "S N O T"]:
            """Joint draws of the trajectories."""
            back = unscaled(cases, axes)
            found = [exact.get(row.tobytes(), b) for row, b in zip(cases, back, strict=True)]
            drawn = surrogate.predict(np.array(found), draws=self.plan.draws).draws
            if drawn is None:
                rule, remedy = "a method with draws", "choose 'planned' or 'maximin'"
                raise ArgumentError("choice", rule, surrogate.method, remedy)
            return drawn

        return Sketched(draws, numpy_stream(self.plan.seed, "sketch", self.round))

    @property
    def view(self) -> View:
        """What the rule sees."""
        axes = self.problem.parameters
        place = lambda cases: placed(cases, axes)
        return View(
            place(self.pool),
            done=place(self.known.done),
            pending=place(self.known.pending),
            failed=place(self.known.failed),
            posterior=self.posterior,
            remaining=self.remaining,
        )


def placed(cases: Float[ndarray, "N _"], axes: Sequence[Parameter]) -> Float[ndarray, "N P"]:
    """Cases scaled to the box; no cases at all have no columns yet."""
    if not len(cases):
        return np.zeros((0, len(axes)))
    return np.clip(scaled(cases, axes), -1.0, 1.0)


@dataclass(frozen=True)
class Chosen:
    """What was chosen, and why.

    Attributes:
        cases: In physical units, in the order picked.
        choice: The rule.
        sentence: Why this rule.
        trusted: Whether the posterior was trusted.
        levels: Of each case; the highest when left out.
    """

    cases: Float[ndarray, "B P"]
    choice: str
    sentence: str
    trusted: bool
    levels: tuple[int, ...] = ()


def design(question: Question, count: int) -> Chosen:
    """The first runs, by the plan's design."""
    rule = rule_of(question.plan.design, question.plan.seed)
    cases = picked(rule, question, count, "start")
    return Chosen(cases, question.plan.design, "no fit yet: a design without a model", False)


def choose(question: Question, count: int) -> Chosen:
    """The next runs, by the plan's choice."""
    decision = decided(question)
    cases = picked(decision.choice, question, count, "choice")
    return Chosen(cases, word_of(decision.choice), decision.sentence, decision.trusted)


def decided(question: Question) -> Decision:
    """The rule for this round."""
    name, options = named(question.plan.choice)
    if name in ("auto", "guard"):
        return guard_of(options, question.plan.seed).decide(question.evidence)
    rule = rule_of(question.plan.choice, question.plan.seed)
    if rule.reads_posterior and question.surrogate is None:
        careful = rule_of("planned", question.plan.seed)
        return Decision(careful, False, f"{name} needs a fit: filling the space")
    return Decision(rule, rule.reads_posterior, f"{name}, as planned")


def rule_of(value: Named, seed: int) -> Choice:
    """A rule from a plan; a Sobol sequence is scrambled by the plan's seed."""
    name, options = named(value)
    if name == "sobol":
        options.setdefault("scramble", seed)
    return choice_named(name, **options)


def guard_of(options: dict[str, Any], seed: int) -> Guard:
    """A guard whose two rules may be given by name."""
    rules = {
        key: rule_of(options.pop(key), seed) for key in ("careful", "bold") & options.keys()
    }
    try:
        return Guard(**rules, **options)
    except TypeError as error:
        remedy = "it takes careful, bold, luck and agreement"
        raise ArgumentError("Plan.choice", "a guard's options", error, remedy) from error


def word_of(rule: Choice) -> str:
    """The name by which a plan knows a rule."""
    words = [name for name, kind in CHOICES.items() if type(rule) is kind]
    return words[0] if words else type(rule).__name__


def picked(rule: Choice, question: Question, count: int, stream: str) -> Float[ndarray, "B P"]:
    """The cases a rule picks, moved off the pool's points where the plan says so."""
    view, plan = question.view, question.plan
    generator = numpy_stream(plan.seed, stream, question.round)
    if not len(view.free):
        return question.pool[:0]
    cases = question.pool[np.asarray(rule.choose(view, count, generator), dtype=int)]
    return moved(question, view, rule, cases) if plan.refine else cases


def moved(
    question: Question, view: View, rule: Choice, cases: Float[ndarray, "B P"]
) -> Float[ndarray, "B P"]:
    """Each pick moved to where it is better, the others staying."""
    axes = question.problem.parameters
    places = placed(cases, axes)
    step = 1.0 / max(2.0, round(len(question.pool) ** (1.0 / len(axes))))
    posterior = view.posterior if rule.reads_posterior else None
    for index in range(len(places)):
        others = np.concatenate([view.known, np.delete(places, index, axis=0)])
        score = worth(posterior, others)
        places[index] = refined(places[index], score, step=step, smallest=step / 8.0)
    return unscaled(places, axes)


def worth(posterior: Posterior | None, others: Float[ndarray, "M P"]) -> Any:  # noqa: ANN401
    """Scores cases: variance left once the others are observed, or distance from them."""
    if posterior is None:
        return lambda cases: nearest(cases, others)

    def left(cases: Float[ndarray, "N P"]) -> Float[ndarray, " N"]:
        """Relative variance that the others leave."""
        features = posterior(np.concatenate([cases, others])).relative().features
        noise = noise_floor(features, 0.01)
        rest = after_pending(features[: len(cases)], features[len(cases) :], noise)
        return np.square(rest).sum(1)

    return left
