"""What a choice sees: the candidates, what is known already, and, on demand, the posterior."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from mflno.active.beliefs import Beliefs, Posterior
from mflno.errors import ArgumentError
from mflno.shapes import Bool, Float, Int

SAME = 1e-9
"""Cases nearer than this in every scaled parameter are one case."""


@dataclass(frozen=True)
class View:
    """Everything a choice may look at; cases are scaled to the box [-1, 1].

    Attributes:
        candidates: What can be asked for.
        done: Cases whose runs the posterior has learned from.
        pending: Cases at work, and cases done that the posterior has not seen yet.
        failed: Cases that were given up.
        posterior: Cases to beliefs; called once, and only when a rule needs it.
        remaining: Runs left in the budget, the coming batch among them; 0 when not known.
    """

    candidates: Float[ndarray, "N P"]
    done: Float[ndarray, "M _"] = field(default_factory=lambda: np.zeros((0, 0)))
    pending: Float[ndarray, "Q _"] = field(default_factory=lambda: np.zeros((0, 0)))
    failed: Float[ndarray, "F _"] = field(default_factory=lambda: np.zeros((0, 0)))
    posterior: Posterior | None = field(default=None, repr=False)
    remaining: int = 0

    def __post_init__(self) -> None:
        """Give empty lists their number of columns, and refuse what does not fit."""
        width = self.candidates.shape[1]
        for name in ("done", "pending", "failed"):
            cases = getattr(self, name)
            if cases.size == 0:
                object.__setattr__(self, name, np.zeros((0, width)))
            elif cases.shape[1] != width:
                rule, remedy = f"must have {width} columns", "scale all cases alike"
                raise ArgumentError(f"View.{name}", rule, cases.shape[1], remedy)
        for name in ("candidates", "done", "pending", "failed"):
            if not np.all(np.abs(getattr(self, name)) <= 1 + 1e-6):
                rule, remedy = "must lie in [-1, 1]", "pass scaled cases, `scaled(cases, axes)`"
                raise ArgumentError(f"View.{name}", rule, "a case outside, or NaN", remedy)

    @cached_property
    def known(self) -> Float[ndarray, "K P"]:
        """Cases that are done, pending or failed: never to be asked for again."""
        return np.concatenate([self.done, self.pending, self.failed])

    @cached_property
    def free(self) -> Int[ndarray, " N"]:
        """Indices of the candidates that may be asked for, each place once."""
        taken = nearest(self.candidates, self.known, order=np.inf) <= SAME
        _, first = np.unique(np.round(self.candidates / SAME), axis=0, return_index=True)
        once = np.zeros(len(self.candidates), dtype=bool)
        once[first] = True
        return np.flatnonzero(once & ~taken)

    @cached_property
    def beliefs(self) -> Beliefs:
        """Beliefs about the candidates, then `done`, then `pending`."""
        if self.posterior is None:
            rule, remedy = "this choice reads a posterior", "fit first, or choose 'maximin'"
            raise ArgumentError("View.posterior", rule, None, remedy)
        return self.posterior(np.concatenate([self.candidates, self.done, self.pending]))

    @cached_property
    def chance(self) -> Float[ndarray, " N"]:
        """Chance that a candidate's run succeeds, from the runs near it; 1 without failures.

        p(x) = (1 + Σ_done k) / (1 + Σ_done k + Σ_failed k), k a Gaussian of the distance with
        a width of a quarter of the box: optimistic where nothing was tried.
        """
        weight = lambda cases: np.exp(-0.5 * (gaps(self.candidates, cases) / 0.5) ** 2).sum(1)
        hope = 1.0 + weight(self.done)
        return hope / (hope + weight(self.failed))


@runtime_checkable
class Choice(Protocol):
    """A rule that says which candidates to solve next.

    Attributes:
        reads_posterior: Whether it looks at `View.posterior`.
    """

    reads_posterior: ClassVar[bool]

    def choose(
        self, view: View, batch: int, generator: np.random.Generator
    ) -> Int[ndarray, " B"]:
        """Indices into `view.candidates`, best first; fewer than `batch` at the pool's end."""
        ...


def gaps(first: Float[ndarray, "N P"], second: Float[ndarray, "M P"]) -> Float[ndarray, "N M"]:
    """Euclidean distance of every case to every other."""
    return np.sqrt(np.square(first[:, None] - second[None]).sum(-1))


def nearest(
    first: Float[ndarray, "N P"], second: Float[ndarray, "M P"], *, order: float = 2
) -> Float[ndarray, " N"]:
    """Distance of every case to the nearest of the others; infinite where there is none."""
    least = np.full(len(first), np.inf)
    for case in second:
        least = np.minimum(least, np.linalg.norm(first - case, ord=order, axis=1))
    return least


def demand(view: View, batch: int) -> int:
    """How many candidates can be handed out; raises when the request makes no sense."""
    if batch < 1:
        raise ArgumentError("choose.batch", "must be at least 1", batch, "ask for one case")
    if len(view.free) == 0:
        rule, remedy = "a candidate that was not asked for before", "use a finer pool"
        raise ArgumentError("View.candidates", rule, "none left", remedy)
    return min(batch, len(view.free))


def best(scores: Float[ndarray, " N"], cases: Float[ndarray, "N P"]) -> int:
    """Index of the largest score; of equal ones the first case in the order of parameters.

    Ties are common on grids, and a rule must not depend on the order of its candidates.
    """
    top = scores.max()
    if np.isneginf(top):
        raise ArgumentError("choose", "a candidate with a score", "none", "use a finer pool")
    slack = 1e-12 * max(abs(top), 1e-300) if np.isfinite(top) else 0.0
    ties = np.flatnonzero(scores >= top - slack)
    order = np.lexsort(np.round(cases[ties], 9).T[::-1])
    return int(ties[order[0]])


def allowed(view: View) -> Bool[ndarray, " N"]:
    """True for the candidates in `view.free`."""
    mask = np.zeros(len(view.candidates), dtype=bool)
    mask[view.free] = True
    return mask
