"""What docs/sampling.md measures: rules on two modes, adaptive drift, collections on a toy."""

import time
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mflno.bayes import (
    SGHMC,
    SWAG,
    All,
    Bowl,
    Cold,
    Constant,
    Corrected,
    CyclicalSGLD,
    DeepEnsemble,
    Draws,
    Drift,
    Inference,
    LastLayer,
    Metropolis,
    Mixture,
    Never,
    Noisy,
    Paper,
    ReplicaExchange,
    Rule,
    Window,
    diagnosis,
    last_states,
)
from mflno.progress import progress
from mflno.seeds import torch_stream
from mflno.study.toy_oscillator import Toy, banded, oscillator

Row = dict[str, Any]
"""One line of a table: its columns by name."""

CHAINS, SEEDS = 6, 4


def rule_row(name: str, rule: Rule, noise: float = 0.0, ladders: int = 500) -> Row:
    """What the coldest of three chains samples on the two far modes."""
    mixture = Mixture()
    sampler = ReplicaExchange(
        chains=3, steps=8000, step_size=(0.004, 0.03), temperature=(1.0, 10.0), swap=rule,
        drift=Drift(weight=0.0), schedule=Constant(), collect=Cold(burn=0.5, thin=100),
    )  # fmt: skip
    energy = Noisy(mixture, noise, torch_stream(0, "page", "noise")) if noise else mixture
    # Half the ladders start in each mode, not the share that belongs there: without swaps
    # they stay.
    start = torch.full((ladders, 3, 1), 3.0)
    start[: ladders // 2] = -4.0
    draws = sampler.sample(
        energy, start.flatten(0, 1), cases=1, generator=torch_stream(0, "page"), show=False
    )
    x = draws.theta.view(-1, ladders)
    left, level = (x < 0).float().mean(0), mixture(draws.theta, None).view(-1, ladders).mean(0)
    trace = draws.trace
    return {
        "rule": name,
        "noise": noise,
        "weight": float(left.mean()),
        "weight error": float(left.std()) / ladders**0.5,
        "E[U]": float(level.mean()),
        "energy error": float(level.std()) / ladders**0.5,
        "sd left": float(x[x < 0].std()),
        "sd right": float(x[x > 0].std()),
        "held": float(trace.tentative[4000:].float().mean()),
        "swapped": float(trace.swapped[4000:].float().mean()),
    }


def rule_rows() -> list[Row]:
    """Every rule, the deterministic ones at several targets."""
    asked: list[tuple[str, Rule, float]] = [("no swaps", Never(), 0.0)]
    asked += [("`Metropolis`", Metropolis(), 0.0)]
    for target in (0.2, 0.05, 0.02, 0.005):
        asked += [(f"`Paper`, 𝕊 = {target:g}", Paper(target), 0.0)]
    for target in (0.2, 0.05, 0.005):
        asked += [(f"`Window`, 𝕊 = {target:g}", Window(target), 0.0)]
    asked += [("`Metropolis`", Metropolis(), 2.0), ("`Corrected`", Corrected(), 2.0)]
    with progress("rules", len(asked)) as line:
        rows = []
        for name, rule, noise in asked:
            rows.append(rule_row(name, rule, noise))
            line.advance()
    return rows


def drift_rows() -> list[Row]:
    """Variance of a Gaussian under adaptive drift, against the law without it."""
    rows, eta = [], 0.02
    for first in (0.0, 0.9):
        for share in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0):
            sampler = ReplicaExchange(
                chains=1, steps=5000, step_size=(eta, eta), temperature=(1.0, 1.0),
                drift=Drift(weight=share, first=first), schedule=Constant(),
                collect=All(burn=0.5, thin=50),
            )  # fmt: skip
            start = torch.randn(50, 100, generator=torch_stream(0, "page", "bowl"))
            draws = sampler.sample(
                Bowl(), start, cases=1, generator=torch_stream(0, "page", "drift"), show=False
            )
            narrow = (-share + (share**2 + 4) ** 0.5) / 2
            by_chain = draws.theta.square().view(-1, 50, 100).mean((0, 2))
            row = {"first": first, "a": share, "variance": float(by_chain.mean())}
            error = float(by_chain.std()) / 50**0.5
            rows.append({**row, "error": error, "law": narrow**2})
    return rows


@dataclass(frozen=True)
class Timed:
    """Draws, and the processor seconds of one of the repetitions they took."""

    draws: Draws
    seconds: float


def timed(inference: Inference, toy: Toy, start: Tensor) -> Timed:
    """Draws from these starts."""
    begin = time.process_time()
    draws = inference.sample(
        toy.energy, start, cases=9, generator=torch_stream(0, "page", "toy")
    )
    return Timed(draws, (time.process_time() - begin) / SEEDS)


def collection_row(name: str, toy: Toy, run: Timed, extra: float = 0.0) -> Row:
    """Scores of the bands of these draws, mean over repetitions; their range of coverage."""
    draws = run.draws
    owner = draws.ladder * SEEDS // (int(draws.ladder.amax()) + 1)
    bands = [
        banded(toy.predict(draws.theta[owner == seed]), toy.truth) for seed in range(SEEDS)
    ]
    means = {key: sum(band[key] for band in bands) / SEEDS for key in bands[0]}
    covers = [band["coverage"] for band in bands]
    spread = {"least coverage": min(covers), "most coverage": max(covers)}
    count = {"draws": len(draws) // SEEDS, "seconds": run.seconds + extra}
    return {"collection": name, **means, **spread, **count}


def collections() -> dict[str, Any]:
    """Rows of the table, the shares of one band for the drawing, and facts on the run."""
    toy = oscillator(seeds=SEEDS, chains=CHAINS)
    ladder = timed(ReplicaExchange(chains=CHAINS), toy, toy.start)
    draws, last = ladder.draws, ladder.draws.step.amax()
    kept = {
        "`Cold()`": draws.where(draws.chain == 0),
        "`All()`": draws,
        "`Final()`": draws.where(draws.step == last),
    }
    rows = [
        collection_row(f"{name} of `ReplicaExchange()`", toy, Timed(some, ladder.seconds))
        for name, some in kept.items()
    ]
    fits = timed(DeepEnsemble(chains=CHAINS), toy, toy.start)
    rows.append(collection_row("`DeepEnsemble()`", toy, fits))
    begun = last_states(fits.draws, toy.start)
    for name, inference in around_fits(toy).items():
        rows.append(collection_row(name, toy, timed(inference, toy, begun), fits.seconds))
    bands = {name: one_band(toy, some) for name, some in kept.items()}
    bands["`DeepEnsemble()`"] = one_band(toy, fits.draws)
    return {"rows": rows, "bands": bands, "facts": facts(draws)}


def around_fits(toy: Toy) -> dict[str, Inference]:
    """Inferences that start from trained networks."""
    path = DeepEnsemble(
        CHAINS, 1000, 1e-3, schedule=Constant(), batch=3, collect=All(burn=0.5, thin=10)
    )
    return {
        "`SWAG` around these": SWAG(path),
        "`SGHMC` from these": SGHMC(CHAINS, 1000, step_size=1e-5, temperature=1e-4),
        "`CyclicalSGLD` from these": CyclicalSGLD(CHAINS, 1000, 1e-4),
        "`LastLayer` on these": LastLayer(toy.fitted, toy.targets, toy.last_layer),
    }


def one_band(toy: Toy, draws: Draws, case: int = 25) -> dict[str, list[float]]:
    """Error of the mean, and half-width of the 95 % band, for one held-out case and seed."""
    found = toy.predict(draws.where(draws.ladder == 0).theta)[:, case, 0]
    error, spread = toy.truth[case, 0] - found.mean(0), found.std(0)
    return {
        "time": toy.grid.tolist(), "error": error.tolist(),
        "half": (1.959964 * spread).tolist(),
    }  # fmt: skip


def facts(draws: Draws) -> Row:
    """How hot and how well mixed the paper's settings are on the toy."""
    found, trace = diagnosis(draws.trace), draws.trace
    share = found.ratio / trace.parameters
    return {
        "cold ratio": float(share[0]),
        "hot ratio": float(share[-1]),
        "swaps": float(trace.swapped.sum((0, 2)).double().mean() / (CHAINS - 1)),
        "trips": int(found.trips.sum()),
        "replicas": found.trips.size,
    }
