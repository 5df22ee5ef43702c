"""Several methods for the same data, weighed by how they do at runs left out.

    û  = Σ_k w_k û_k,    w_k ∝ e_k^-N,    e_k: relative error of method k at the N runs left out
    σ² = Σ_k w_k σ_k² + Σ_k v_k (û_k - û)²,    v_k ∝ e_k^-4

w are the weights that the errors' likelihood gives, were they normal with one scale a method,
and as if there were five runs at least: with fewer a bad method is not to drag the good ones
along. Methods err alike, so N errors are fewer votes than N; disagreement is therefore counted
with weights v that decide less. Nothing but the runs paid for is looked at. A run left out is
judged by weights it had no say in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy import ndarray

from mflno.bayes import relative_error
from mflno.errors import ArgumentError
from mflno.multifidelity.calibrating import LEAST, left_out_law
from mflno.multifidelity.law import Data, Law, Method, Predictor
from mflno.multifidelity.names import predictor_kind
from mflno.multifidelity.query import Query
from mflno.progress import progress
from mflno.seeds import numpy_stream
from mflno.shapes import Float

ENOUGH = 1e-5
"""Relative error at runs left out from which no further method is tried."""
SMALLEST, FAINT = 5e-3, 3e-2
"""Least w and v worth the time of another answer."""
FIRM, LOOSE = 5, 4
"""Least exponent of w; exponent of v."""


class Member(NamedTuple):
    """One method under trial.

    Attributes:
        name: How the story calls it.
        predictor: Fitted to all runs.
        left: Its answers at runs left out; none with too few runs.
        score: Its expected relative error.
    """

    name: str
    predictor: Predictor
    left: Law | None
    score: float


def tried(
    methods: Mapping[str, Method],
    data: Data,
    *,
    seed: int,
    device: str,
    warm: "StackPredictor | None" = None,
    show: bool = True,
) -> tuple[list[Member], dict[str, str]]:
    """Those methods that suit the data, and why the others do not; quick ones stand first."""
    members: list[Member] = []
    unfit: dict[str, str] = {}
    with progress("trying methods", len(methods), show=show) as bar:
        for name, method in methods.items():
            bar.note(name)
            best = min(members, key=lambda each: each.score, default=None)
            if best is not None and best.score < ENOUGH:
                unfit[name] = f"not tried: {best.name} errs by {best.score:.1e} alone"
                continue
            try:
                members.append(member(name, method, data, seed=seed, device=device, warm=warm))
            except (ArgumentError, np.linalg.LinAlgError) as error:
                unfit[name] = str(error)
            bar.advance()
    if not members:
        rule, remedy = "a method that suits the data", "see why each was refused"
        raise ArgumentError("stack", rule, "; ".join(unfit.values()), remedy)
    return members, unfit


def member(
    name: str,
    method: Method,
    data: Data,
    *,
    seed: int,
    device: str,
    warm: "StackPredictor | None",
) -> Member:
    """One method, fitted and judged."""
    known = warm.named(name) if warm else None
    predictor = method.fit(data, seed=seed, device=device, warm=known, show=False)
    if len(data.high) < LEAST:
        return Member(name, predictor, None, 1.0)
    left = left_out_law(method, data, predictor, seed=seed, device=device, show=False)
    if not (np.isfinite(left.mean).all() and np.isfinite(left.std).all()):
        rule, remedy = "finite answers at runs left out", "leave it out"
        raise ArgumentError(f"method {name!r}", rule, "NaN or infinity", remedy)
    error = float(np.sqrt(np.square(relative_error(left.mean, data.high.values)).mean()))
    return Member(name, predictor, left, float(getattr(predictor, "score", error)))


def weighed(
    scores: Sequence[float], power: int, smallest: float = SMALLEST
) -> Float[ndarray, " M"]:
    """The weights e^-power, those left out that are less than the smallest worth its time.

    Example:
        >>> weighed([0.01, 0.02], 3).round(3).tolist()
        [0.889, 0.111]
    """
    logs = -power * np.log(np.maximum(scores, 1e-300))
    weights = np.exp(logs - logs.max())
    weights = np.where(weights < smallest * weights.sum(), 0.0, weights)
    return weights / weights.sum()


class Votes(NamedTuple):
    """How much each member counts.

    Attributes:
        weights: w, in the mean.
        doubts: v, where members disagree.
    """

    weights: Float[ndarray, " M"]
    doubts: Float[ndarray, " M"]


def votes(scores: Sequence[float], runs: int) -> Votes:
    """Both weights, from so many runs left out."""
    return Votes(weighed(scores, max(runs, FIRM)), weighed(scores, LOOSE, FAINT))


def combined(members: Sequence[Member], data: Data) -> Law | None:
    """The stack's own answers at runs left out, each with the weights that the others give."""
    laws = [each.left for each in members if each.left is not None]
    if len(laws) < len(members):
        return None
    truth = data.high.values
    squares = np.stack([np.square(relative_error(law.mean, truth)) for law in laws])
    count = len(truth)
    means, stds = np.empty_like(truth), np.empty_like(truth)
    for i in range(count):
        # The score may count a misfit too; the share of the run left out is taken from it.
        without = np.delete(squares, i, axis=1).mean(1) / np.maximum(squares.mean(1), 1e-300)
        scores = [each.score for each in members] * np.sqrt(without)
        own = [Law(law.mean[i : i + 1], law.std[i : i + 1]) for law in laws]
        law = mixed(own, votes(list(scores), count - 1))
        means[i], stds[i] = law.mean[0], law.std[0]
    return Law(means, stds)


def mixed(laws: Sequence[Law], counted: Votes) -> Law:
    """Mean, and deviation within the members and between them."""
    rows = [*zip(*counted, laws, strict=True)]
    mean = sum(w * law.mean for w, _, law in rows)
    within = sum(w * np.square(law.std) for w, _, law in rows)
    between = sum(v * np.square(law.mean - mean) for _, v, law in rows)
    return Law(np.asarray(mean), np.sqrt(np.asarray(within + between)))


@dataclass(frozen=True)
class StackPredictor:
    """Fitted methods and their weights.

    Attributes:
        names: Of those that count.
        predictors: Those.
        votes: Their weights; each kind adds up to 1.
        story: Score and weight of every method tried, or why it did not suit.
        seed: Of the draws.
        left: Each run as a stack without it had it; not kept in files.
    """

    kind: ClassVar[str] = "stack"
    worth: ClassVar[float] = 3.0

    names: tuple[str, ...]
    predictors: tuple[Predictor, ...] = field(repr=False)
    votes: Votes
    story: Mapping[str, Any] = field(repr=False)
    seed: int
    left: Law | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls, members: Sequence[Member], unfit: Mapping[str, str], data: Data, seed: int
    ) -> "StackPredictor":
        """Those members that count."""
        counted = votes([each.score for each in members], len(data.high))
        story: dict[str, Any] = {
            each.name: {"error": each.score, "weight": float(w)}
            for each, w in zip(members, counted.weights, strict=True)
        }
        story |= {name: {"refused": why} for name, why in unfit.items()}
        keep = [int(i) for i in np.flatnonzero(counted.weights + counted.doubts)]
        return cls(
            tuple(members[i].name for i in keep),
            tuple(members[i].predictor for i in keep),
            Votes(counted.weights[keep], counted.doubts[keep]),
            story,
            seed,
            combined(members, data),
        )

    @property
    def score(self) -> float:
        """Expected relative error: the members' own, in the weighted mean of squares."""
        told = [self.story[name]["error"] for name in self.names]
        return float(np.sqrt(self.votes.weights @ np.square(told)))

    def named(self, name: str) -> Predictor | None:
        """A member by its name."""
        return dict(zip(self.names, self.predictors, strict=True)).get(name)

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """The mixture; draw s is one member's everywhere, about the mean of one member."""
        streams = [numpy_stream(self.seed, "member", s) for s in range(draws)]
        chances = self.votes.weights, self.votes.doubts
        picks = [[int(each.choice(len(p), p=p)) for p in chances] for each in streams]
        spread = {pick for pick, _ in picks}
        laws = [
            each.law(query, draws=draws if number in spread else 0)
            for number, each in enumerate(self.predictors)
        ]
        law = mixed(laws, self.votes)
        if not draws:
            return law
        rows = []
        for s, (pick, other) in enumerate(picks):
            drawn = laws[pick].draws
            if drawn is not None:
                rows.append(drawn[s] - laws[pick].mean + laws[other].mean)
        return Law(law.mean, law.std, np.stack(rows))

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Every member's, under its number."""
        arrays, about = self.votes._asdict(), []
        for number, (name, each) in enumerate(zip(self.names, self.predictors, strict=True)):
            own, told = each.arrays()
            arrays |= {f"{number}.{key}": value for key, value in own.items()}
            about.append({"name": name, "kind": each.kind, "about": told})
        return arrays, {"members": about, "story": dict(self.story), "seed": self.seed}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "StackPredictor":
        """The same stack, bit for bit."""
        predictors = []
        for number, told in enumerate(about["members"]):
            mark = f"{number}."
            own = {k.removeprefix(mark): v for k, v in arrays.items() if k.startswith(mark)}
            predictors.append(predictor_kind(told["kind"]).from_arrays(own, told["about"]))
        names = tuple(told["name"] for told in about["members"])
        counted = Votes(arrays["weights"], arrays.get("doubts", arrays["weights"]))
        return cls(names, tuple(predictors), counted, about["story"], int(about["seed"]))
