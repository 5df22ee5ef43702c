"""The paper's appendix, and the looks inside that its figures give.

learning-rate   Duffing: error against the first step size, temperature 0, ten repeats
chains          Lorenz: error against the number of chains, linear and nonlinear corrections
sensitivity     Lorenz: does σ follow the error? against chains, temperature and noise
exchange        how a ladder of chains crosses between two modes
poles           what the Laplace layers have learned
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy import ndarray
from scipy.stats import pearsonr, spearmanr

import mflno
from mflno.bayes import All, Constant, Drift, Mixture, Paper, ReplicaExchange, relative_error
from mflno.multifidelity import LNO, Learnt, Site
from mflno.operators import LaplaceOperator, Packing, Spectrum
from mflno.seeds import torch_stream
from mflno.study.cells import Cell, Row, Shelf, digits, machine
from mflno.study.contenders import PaperMFLNO, shortened
from mflno.study.material import Material, material

RATES = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
CHAINS = (1, 2, 4, 6, 8, 10)
LADDERS = (2, 3, 4, 5, 6, 8, 10)
HOTTEST = (1e-8, 1e-6, 1e-4, 1e-2)
NOISES = (0.0, 1.0, 10.0, 100.0)
RUNS = 9
KEYS = (
    "kind",
    "problem",
    "rate",
    "chains",
    "relation",
    "setting",
    "value",
    "contender",
    "budget",
)
"""What tells one cell from another, the code that made it apart."""


@dataclass(frozen=True)
class Effort:
    """How much of it.

    Attributes:
        repeats: Of each configuration in the appendix.
        seeds: Of each configuration in the sensitivity.
        share: Of the epochs.
        thinned: Every so many of the configurations.
        device: Where networks are trained.
    """

    repeats: int = 10
    seeds: int = 5
    share: float = 1.0
    thinned: int = 1
    device: str = "cpu"


def ablations(folder: Path, shelf: Shelf, effort: Effort) -> Iterator[Cell]:
    """All of them, one cell after the other; those on the shelf are not computed again."""
    lorenz, duffing = material("lorenz", folder), material("duffing", folder)
    yield from learning_rates(duffing, shelf, effort)
    yield from chain_counts(lorenz, shelf, effort)
    yield from sensitivities(lorenz, shelf, effort)
    for each in (lorenz, duffing):
        yield poles(each, shelf, effort)
    yield exchange(shelf)


def known_ablations(shelf: Shelf, effort: Effort) -> list[Cell]:
    """Those that are there, the latest of each; nothing is computed."""
    found: dict[tuple[Any, ...], Cell] = {}
    for cell in sorted(shelf.all(), key=lambda each: shelf.path(each.asked).stat().st_mtime):
        asked = cell.asked
        if asked["kind"] == "exchange" or asked.get("share") == effort.share:
            found[tuple(asked.get(name) for name in KEYS)] = cell
    return [cell for cell in found.values() if cell.asked["kind"] != "errors"]


Made = Callable[[], tuple[Row, dict[str, ndarray]]]


def found_or(shelf: Shelf, asked: Row, made: Made, device: str = "cpu") -> Cell:
    """The cell on the shelf, or one that is made and kept now."""
    asked = {**asked, "mflno": mflno.__version__}
    cell = shelf.find(asked)
    if cell is not None:
        return cell
    begin = time.perf_counter()
    found, arrays = made()
    found |= {"seconds": time.perf_counter() - begin, "machine": machine(device)}
    return shelf.keep(Cell(asked, found, arrays))


def still(problem: str, effort: Effort) -> PaperMFLNO:
    """The paper's method at temperature 0, as its appendix has it."""
    paper = PaperMFLNO.paper(problem)
    cold = lambda sampler: replace(sampler, temperature=(0.0, 0.0))
    made = replace(
        paper, low_inference=cold(paper.low_inference), inference=cold(paper.inference)
    )
    return shortened(made, effort.share)


def sampler_of(method: PaperMFLNO, **changes: Any) -> PaperMFLNO:  # noqa: ANN401
    """The method with another sampler in phase 2; phase 1 stays as it is, and trained once."""
    return replace(method, inference=replace(method.inference, **changes))  # pyright: ignore


def learning_rates(data: Material, shelf: Shelf, effort: Effort) -> Iterator[Cell]:
    """One chain of phase 2 at each first step size."""
    base = still("duffing", effort)
    for rate in RATES[:: effort.thinned]:
        method = sampler_of(base, chains=1, step_size=(rate, rate))
        asked = question("learning-rate", data, method, effort) | {"rate": rate}
        yield found_or(shelf, asked, lambda m=method: repeated(data, m, effort), effort.device)


def chain_counts(data: Material, shelf: Shelf, effort: Effort) -> Iterator[Cell]:
    """Ladders of more and more chains, for either half of the correction alone."""
    base = still("lorenz", effort)
    forms = {"linear": LNO(hidden=(2,), activation="identity"), "nonlinear": LNO(hidden=(2,))}
    for relation, form in forms.items():
        for count in CHAINS[:: effort.thinned]:
            method = replace(sampler_of(base, chains=count), form=form)
            asked = question("chains", data, method, effort)
            asked |= {"chains": count, "relation": relation}
            yield found_or(
                shelf, asked, lambda m=method: repeated(data, m, effort), effort.device
            )


def question(kind: str, data: Material, method: PaperMFLNO, effort: Effort) -> Row:
    """What a cell of the appendix depends on."""
    problem = data.problem
    repeats = effort.seeds if kind == "sensitivity" else effort.repeats
    return {
        "kind": kind, "problem": problem.name, "version": problem.version,
        "method": repr(method), "repeats": repeats, "share": effort.share, "budget": RUNS,
    }  # fmt: skip


def repeated(
    data: Material, method: PaperMFLNO, effort: Effort
) -> tuple[Row, dict[str, ndarray]]:
    """Mean error over the test cases of each repeat: the same runs, another start."""
    one = data.data(data.order(0)[:RUNS])
    seeds = list(range(effort.repeats))
    fits = method.fit_many([one] * len(seeds), seeds=seeds, device=effort.device, show=False)
    query = one.query(data.tests.cases)
    errors = []
    for each in fits:
        mean = each.law(query).mean
        wrong = (
            relative_error(mean, data.tests.values).mean() if np.isfinite(mean).all() else None
        )
        errors.append(wrong if wrong is None else float(wrong))
    return {"errors": errors}, {}


def sensitivities(data: Material, shelf: Shelf, effort: Effort) -> Iterator[Cell]:
    """Correlation of σ with the error when one setting of the sampler moves."""
    base = shortened(PaperMFLNO.paper("lorenz"), effort.share)
    cold, hot = base.inference.temperature
    asked: list[tuple[str, float, dict[str, Any]]] = []
    asked += [("chains", n, {"chains": n}) for n in LADDERS]
    asked += [("temperature", t, {"temperature": (t * cold / hot, t)}) for t in HOTTEST]
    # The noise has size √(2ητ): s times the noise is s² times the temperature.
    asked += [("noise", s, {"temperature": (cold * s**2, hot * s**2)}) for s in NOISES]
    for setting, value, changes in asked[:: effort.thinned]:
        method = sampler_of(base, **changes)
        words = question("sensitivity", data, method, effort)
        words |= {"setting": setting, "value": value}
        yield found_or(
            shelf, words, lambda m=method: correlated(data, m, effort), effort.device
        )


def correlated(
    data: Material, method: PaperMFLNO, effort: Effort
) -> tuple[Row, dict[str, ndarray]]:
    """Pearson and Spearman of σ and the error over the test cases, for every seed."""
    seeds = list(range(effort.seeds))
    datas = [data.data(data.order(seed)[:RUNS]) for seed in seeds]
    fits = method.fit_many(datas, seeds=seeds, device=effort.device, show=False)
    rows = []
    for each, own in zip(fits, datas, strict=True):
        law = each.law(own.query(data.tests.cases))
        errors, spread = relative_error(law.mean, data.tests.values), law.std.mean((1, 2))
        rows.append({
            "pearson": agreement(pearsonr, spread, errors),
            "spearman": agreement(spearmanr, spread, errors),
            "error": float(errors.mean()), "spread": float(spread.mean()),
        })  # fmt: skip
    return {"rows": rows}, {}


def agreement(measure: Callable[..., Any], spread: ndarray, errors: ndarray) -> float | None:
    """A correlation; none where σ is the same everywhere."""
    if not np.isfinite(spread).all() or np.ptp(spread) == 0:
        return None
    return float(measure(spread, errors).statistic)


def poles(data: Material, shelf: Shelf, effort: Effort) -> Cell:
    """Poles and residues of G_L and of the correction's two operators."""
    name = data.problem.name
    method = shortened(PaperMFLNO.paper(name), effort.share)
    asked = question("poles", data, method, effort)

    def made() -> tuple[Row, dict[str, ndarray]]:
        """Fit once, and read the layers."""
        one = data.data(data.order(0)[:RUNS])
        fit = method.fit_many([one], seeds=[0], device=effort.device, show=False)[0]
        found: Row = {}
        for place, stage in zip(("G_L", "correction"), fit.stages, strict=True):
            for part, operator in operators_of(stage).items():
                name = f"{place} {part}".strip()
                found[name] = read_poles(operator)
        return {"poles": found, "waves": strongest(data)}, {}

    return found_or(shelf, asked, made, effort.device)


def operators_of(stage: Learnt) -> dict[str, LaplaceOperator]:
    """The Laplace operators of a trained network's best draw."""
    site = Site(stage.channels, stage.outputs, len(stage.grid), Spectrum())
    module = stage.form.build(site, torch.Generator().manual_seed(0))
    best = torch.from_numpy(stage.theta[int(np.argmin(stage.loss))])
    values = Packing.of(module).unpack(best)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(values[name])
    if isinstance(module, LaplaceOperator):
        return {"": module}
    return {
        part: getattr(module, part)
        for part in ("linear", "nonlinear")
        if isinstance(getattr(module, part, None), LaplaceOperator)
    }


def read_poles(operator: LaplaceOperator) -> Row:
    """Real and imaginary parts, and the weight |β / Re μ| of each."""
    with torch.no_grad():
        mu, beta = operator.poles()[0].flatten(), operator.residues()[0].flatten()
    weight = beta.abs() / mu.real.abs()
    parts = {"real": mu.real, "imaginary": mu.imag, "weight": weight / weight.max()}
    return {name: digits(part.detach().numpy()) for name, part in parts.items()}


def strongest(data: Material, count: int = 3) -> list[float]:
    """The angular frequencies that are strongest in the expensive runs, mean removed."""
    values = data.candidates.values[:, 0]
    step = data.candidates.grid[1] - data.candidates.grid[0]
    power = np.square(np.abs(np.fft.rfft(values - values.mean(1, keepdims=True)))).mean(0)
    inner = power[1:-1]
    peak = np.flatnonzero((inner > power[:-2]) & (inner >= power[2:])) + 1
    chosen = peak[np.argsort(power[peak])[::-1][:count]]
    return digits(2 * np.pi * np.fft.rfftfreq(values.shape[1], step)[chosen])


def exchange(shelf: Shelf, steps: int = 3000) -> Cell:
    """One ladder on two far modes, every state kept."""
    sampler = ReplicaExchange(
        chains=3, steps=steps, step_size=(0.004, 0.03), temperature=(1.0, 10.0),
        swap=Paper(0.02), drift=Drift(weight=0.0), schedule=Constant(),
        collect=All(burn=0.0, thin=1),
    )  # fmt: skip
    asked = {"kind": "exchange", "method": repr(sampler)}

    def made() -> tuple[Row, dict[str, ndarray]]:
        """Run it."""
        start = torch.tensor([[-4.0], [-4.0], [-4.0]])
        draws = sampler.sample(
            Mixture(), start, cases=1, generator=torch_stream(0, "exchange"), show=False
        )
        paths = [draws.where(draws.chain == k).theta[:, 0].numpy() for k in range(3)]
        swapped = draws.trace.swapped[:, 0].numpy()
        return {"temperatures": digits(draws.trace.temperature.numpy())}, {
            "paths": np.stack(paths), "swapped": swapped,
        }  # fmt: skip

    return found_or(shelf, asked, made)


def spread_of(values: Sequence[float | None]) -> tuple[float, float, int]:
    """Mean, half of the 95 % interval of the mean, and how many repeats diverged."""
    good = np.array([x for x in values if x is not None], dtype=float)
    if len(good) == 0:
        return np.nan, np.nan, len(values)
    half = 1.96 * good.std(ddof=1) / len(good) ** 0.5 if len(good) > 1 else np.nan
    return float(good.mean()), float(half), len(values) - len(good)
