"""The page on sampling says what its kept figures say, and a step costs what it may."""

import json
from pathlib import Path

import pytest
import torch

from mflno.bayes import Eager
from mflno.study import sampling_page
from mflno.study.sampler_speed import engine_figures
from mflno.study.toy_oscillator import banded, oscillator

DOCS = Path(__file__).parents[2] / "docs"
FIGURES = DOCS / "figures"


def test_the_page_is_the_one_its_kept_figures_give(tmp_path, monkeypatch):
    (tmp_path / "figures").mkdir()
    for name in ("sampling.json", "sampler-speed-gpu.json"):
        if (FIGURES / name).exists():
            (tmp_path / "figures" / name).write_text((FIGURES / name).read_text())
    text = (DOCS / "sampling.md").read_text()
    emptied = text
    for name in (*sampling_page.COLUMNS, "facts", "speed"):
        emptied = sampling_page.fill(emptied, name, "gone")
    (tmp_path / "sampling.md").write_text(emptied)
    monkeypatch.setattr(sampling_page, "draw_page", lambda folder, found: None)
    sampling_page.main(["--docs", str(tmp_path), "--only", "none"])
    assert (tmp_path / "sampling.md").read_text() == text


def test_every_drawing_of_the_page_is_there_and_is_drawn_again(tmp_path):
    pytest.importorskip("matplotlib")
    found = json.loads((FIGURES / "sampling.json").read_text())
    sampling_page.draw_page(tmp_path, found)
    drawn = sorted(path.name for path in tmp_path.iterdir())
    assert drawn == sorted(path.name for path in FIGURES.glob("sampling-*.svg"))
    assert all(f"figures/{name}" in (DOCS / "sampling.md").read_text() for name in drawn)


def test_cells_may_name_other_columns():
    rows = [{"a": 0.5, "error": 0.25}]
    assert sampling_page.table(rows, {"a": "{:.1f} ± {error:.2f}"}) == (
        "| a |\n| --- |\n| 0.5 ± 0.25 |"
    )


def test_bands_of_a_gaussian_cover_what_they_promise():
    """Truth and many draws of one law: 95 %, and the CRPS of a standard normal, 1/√π."""
    generator = torch.Generator().manual_seed(0)
    draws = torch.randn(200, 400, 1, 20, generator=generator)
    found = banded(draws, torch.randn(400, 1, 20, generator=generator))
    assert found["coverage"] == pytest.approx(0.95, abs=0.01)
    assert found["width"] == pytest.approx(2 * 1.96, rel=0.01)
    assert found["CRPS"] == pytest.approx(torch.pi**-0.5, rel=0.03)


def test_the_last_layer_of_the_toy_is_linear():
    toy = oscillator(seeds=1, chains=1)
    twice, half = toy.start.clone(), toy.start.clone()
    twice[:, toy.last_layer] *= 2
    half[:, toy.last_layer] = 0
    torch.testing.assert_close(toy.fitted(twice), 2 * toy.fitted(toy.start))
    assert float(toy.fitted(half).abs().max()) == 0


@pytest.mark.slow
def test_chains_and_the_sampler_cost_no_more_than_they_may():
    """Processor time of one thread, in turns: the machine may have other work."""
    found = engine_figures("eager", Eager(), "cpu", [5])
    assert found["eager, net: 5 chains against 1"] <= 2.5
    for chains in (1, 5):
        assert found[f"eager, {chains} chains: sampler's share of an MF-LNO step"] <= 0.15
