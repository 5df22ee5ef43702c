"""The figures and tables of docs/sampling.md, computed and written into the page.

    python -m mflno.study.sampling_page [--docs docs] [--only PART ...]

What is computed is kept in docs/figures/sampling.json; `--only` computes the named parts anew
and takes the others from there (`--only none` just draws). All parts take some five minutes of
one core. Figures of a GPU are read from docs/figures/sampler-speed-gpu.json, where somebody
with one puts what `python -m mflno.study.sampler_speed --device cuda --chains 5 50 --json`
prints.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mflno.study.sampler_speed import measured
from mflno.study.sampling_figures import Row, collections, drift_rows, rule_rows
from mflno.study.sampling_plots import draw_page

PARTS: dict[str, Callable[[], Any]] = {
    "rules": rule_rows,
    "drift": drift_rows,
    "collections": collections,
    "speed": lambda: measured("cpu", [5]),
}
COLUMNS = {
    "rules": {
        "rule": "{}", "noise": "{:g}", "weight": "{:.3f} ± {weight error:.3f}",
        "E[U]": "{:.3f} ± {energy error:.3f}", "sd left": "{:.3f}", "sd right": "{:.3f}",
        "held": "{:.4f}", "swapped": "{:.4f}",
    },
    "drift": {
        "first": "{:g}", "a": "{:g}", "variance": "{:.3f} ± {error:.3f}", "law": "{:.3f}",
    },
    "collections": {
        "collection": "{}", "draws": "{}",
        "coverage": "{:.1%} ({least coverage:.0%} to {most coverage:.0%})",
        "width": "{:.4f}", "CRPS": "{:.5f}", "relative error": "{:.4f}", "seconds": "{:.0f}",
    },
}  # fmt: skip


def table(rows: list[Row], columns: dict[str, str]) -> str:
    """A Markdown table; `columns` gives each column's form, which may name others."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    for row in rows:
        cells = [form.format(row[column], **row) for column, form in columns.items()]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed_table(cpu: dict[str, float], gpu: dict[str, float]) -> str:
    """Every figure on both machines; what one of them lacks stays empty."""
    form = lambda name: ",.0f" if name.endswith("us a step") else ".3g"
    known = lambda found, name: format(found[name], form(name)) if name in found else ""
    rows = [
        {"figure": name, "one CPU core": known(cpu, name), "one H200": known(gpu, name)}
        for name in {**cpu, **gpu}
    ]
    return table(rows, {"figure": "{}", "one CPU core": "{}", "one H200": "{}"})


def told(facts: Row) -> str:
    """What the paper's settings did on the toy, in a sentence."""
    return (
        "There, η|g|²/(2τ) per parameter is {cold ratio:.2g} in the coldest chain and "
        "{hot ratio:.2g} in the hottest (median over the second half); a pair swaps "
        "{swaps:.1f} times in 5,000 iterations, and {trips} round trips were made by "
        "{replicas} replicas."
    ).format(**facts)


def fill(text: str, name: str, content: str) -> str:
    """The page with the block between two markers replaced."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, rest = text.split(begin)
    return head + begin + content + "\n" + end + rest.split(end)[1]


def computed(kept: Path, asked: list[str]) -> dict[str, Any]:
    """Every part: those asked for computed anew and kept, the others as they were kept."""
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for name, compute in PARTS.items():
        if name in asked or name not in found:
            found[name] = compute()
            kept.write_text(json.dumps(found, indent=1) + "\n")
    return found


def main(words: list[str]) -> int:
    """Compute everything, draw it, and write it into the page."""
    parser = argparse.ArgumentParser(prog="mflno.study.sampling_page", description=__doc__)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--only", nargs="+", choices=[*PARTS, "none"], default=list(PARTS))
    asked = parser.parse_args(words)
    torch.set_num_threads(1)
    folder = asked.docs / "figures"
    folder.mkdir(exist_ok=True)
    found = computed(folder / "sampling.json", asked.only)
    page, gpu = asked.docs / "sampling.md", folder / "sampler-speed-gpu.json"
    text = page.read_text()
    rows = {**found, "collections": found["collections"]["rows"]}
    for name, columns in COLUMNS.items():
        text = fill(text, name, table(rows[name], columns))
    text = fill(text, "facts", told(found["collections"]["facts"]))
    there = json.loads(gpu.read_text()) if gpu.exists() else {}
    text = fill(text, "speed", speed_table(found["speed"], there))
    page.write_text(text)
    draw_page(folder, found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
