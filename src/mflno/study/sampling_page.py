"""The figures and tables of docs/sampling.md, computed and written into the page.

    python -m mflno.study.sampling_page [--docs docs]

Takes some minutes on one core.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mflno.bayes import (
    All,
    Bowl,
    Cold,
    Constant,
    Corrected,
    Drift,
    Final,
    Metropolis,
    Mixture,
    Never,
    Noisy,
    Paper,
    ReplicaExchange,
    Rule,
    Window,
)
from mflno.progress import progress
from mflno.seeds import torch_stream
from mflno.study.sampling_plots import draw_page
from mflno.study.toy_oscillator import banded, oscillator

Row = dict[str, Any]
"""One line of a table: its columns by name."""


def rule_row(name: str, rule: Rule, noise: float = 0.0, ladders: int = 500) -> Row:
    """What the coldest of three chains samples on the two far modes."""
    mixture = Mixture()
    sampler = ReplicaExchange(
        chains=3, steps=8000, step_size=(0.004, 0.03), temperature=(1.0, 10.0), swap=rule,
        drift=Drift(weight=0.0), schedule=Constant(), collect=Cold(burn=0.5, thin=100),
    )  # fmt: skip
    energy = Noisy(mixture, noise, torch_stream(0, "page", "noise")) if noise else mixture
    # As many ladders start in the left mode as belong there: without swaps they stay.
    start = torch.full((ladders, 3, 1), 3.0)
    start[: ladders // 2] = -4.0
    draws = sampler.sample(
        energy, start.flatten(0, 1), cases=1, generator=torch_stream(0, "page"), show=False
    )
    x = draws.theta.view(-1, ladders)
    left, level = (x < 0).float().mean(0), mixture(draws.theta, None).view(-1, ladders).mean(0)
    return {
        "rule": name,
        "noise": noise,
        "weight": float(left.mean()),
        "weight error": float(left.std()) / ladders**0.5,
        "E[U]": float(level.mean()),
        "E[U] error": float(level.std()) / ladders**0.5,
        "sd left": float(x[x < 0].std()),
        "sd right": float(x[x > 0].std()),
        "swaps": float(draws.trace.swapped[4000:].float().mean()),
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
            variance = float(draws.theta.square().mean())
            row = {"first": first, "a": share, "variance": variance, "law": narrow**2}
            rows.append(row)
    return rows


def collection_rows(seeds: int = 5) -> list[Row]:
    """Coverage, width and error of the bands that each collection gives on a toy surrogate."""
    energy, start, predict, truth = oscillator(seeds=seeds, chains=6)
    paper = ReplicaExchange(chains=6, steps=5000)
    cold = {"temperature": (0.0, 0.0), "swap": Never(), "step_size": (1e-2, 1e-2)}
    asked = [
        ("`Cold()`, the paper's ten snapshots", replace(paper, collect=Cold())),
        ("`All()`, ten snapshots of six chains", replace(paper, collect=All())),
        ("`Final()`, six states", replace(paper, collect=Final())),
        ("six independent fits (τ = 0, no swaps)", replace(paper, **cold, collect=Final())),
        ("`Final()` with `Metropolis`", replace(paper, swap=Metropolis(), collect=Final())),
    ]
    rows = []
    for name, sampler in asked:
        begin = time.perf_counter()
        generator = torch_stream(0, "page", "toy")
        draws = sampler.sample(energy, start, cases=9, generator=generator)
        seconds = (time.perf_counter() - begin) / seeds
        bands = [
            banded(predict(draws.where(draws.ladder == s).theta), truth) for s in range(seeds)
        ]
        means = {key: sum(band[key] for band in bands) / seeds for key in bands[0]}
        rows.append({"collection": name, **means, "seconds": seconds})
    return rows


def table(rows: list[Row], columns: dict[str, str]) -> str:
    """A Markdown table; `columns` gives each column's form."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = [form.format(_=row[column]) for column, form in columns.items()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def fill(text: str, name: str, content: str) -> str:
    """The page with the block between two markers replaced."""
    begin, end = f"<!-- {name} -->\n", f"\n<!-- end of {name} -->"
    head, rest = text.split(begin)
    return head + begin + content + end + rest.split(end)[1]


def main(words: list[str]) -> int:
    """Compute everything, draw it, and write it into the page."""
    parser = argparse.ArgumentParser(prog="mflno.study.sampling_page", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    docs = parser.parse_args(words).docs
    rules, drifts, collections = rule_rows(), drift_rows(), collection_rows()
    page = docs / "sampling.md"
    three = "{_:.3f}"
    text = fill(page.read_text(), "rules", table(rules, {
        "rule": "{_}", "noise": "{_:g}", "weight": three, "weight error": three, "E[U]": three,
        "E[U] error": three, "sd left": three, "sd right": three, "swaps": "{_:.4f}",
    }))  # fmt: skip
    text = fill(text, "drift", table(drifts, {
        "first": "{_:g}", "a": "{_:g}", "variance": three, "law": three,
    }))  # fmt: skip
    text = fill(text, "collections", table(collections, {
        "collection": "{_}", "coverage": "{_:.2f}", "width": "{_:.4f}", "CRPS": "{_:.5f}",
        "relative error": "{_:.4f}", "seconds": "{_:.1f}",
    }))  # fmt: skip
    page.write_text(text)
    draw_page(docs / "figures", rules, drifts, collections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
