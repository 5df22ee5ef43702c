"""Choices compared by whole campaigns: resumable, paired, and those of a real campaign."""

import json

import pytest

from mflno.campaign import Campaign, Inline
from mflno.cli import main
from mflno.study.choices import Cell, compare, read_rows, table


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def cells(*choices, **words):
    small = {"budget": 5, "pool": "grid:6", "lower": "grid:3", **words}
    return [Cell("chain", choice, 0, "pod-gp", **small) for choice in choices]


def test_a_cell_picks_what_a_campaign_picks(tmp_path):
    for cell in cells("ivr", "random", "auto"):
        rows = list(compare([cell], tmp_path / "rows.jsonl"))
        campaign = Campaign(tmp_path / cell.choice, plan=cell.plan())
        campaign.run(runner=Inline(campaign.problem), show=False)
        wanted = [list(run.case) for run in campaign.history.runs]
        assert rows[-1]["picks"] == wanted


def test_a_torn_file_goes_on_and_nothing_is_done_twice(tmp_path):
    path = tmp_path / "rows.jsonl"
    list(compare(cells("random"), path))
    whole = path.read_text()
    path.write_text(whole + '{"problem": "cha')
    assert list(compare(cells("random"), path)) == []
    fresh = list(compare(cells("random", "maximin"), path))
    assert {row["choice"] for row in fresh} == {"maximin"}
    assert path.read_text().startswith(whole)
    assert len(read_rows(path)) == 4


def test_the_table_pairs_by_seed():
    base = {"problem": "p", "method": "m", "batch": 2, "design": "random", "runs": 5}
    row = lambda choice, seed, mean: {**base, "choice": choice, "seed": seed, "mean": mean,
                                      "max": 2 * mean, "coverage": 1.0}  # fmt: skip
    rows = [row("a", 0, 1.0), row("a", 1, 4.0), row("random", 0, 2.0), row("random", 1, 2.0)]
    told = {each["choice"]: each for each in table(rows)}
    assert told["a"]["mean/random"] == pytest.approx(1.0)
    assert told["a"]["mean wins/random"] == 1
    assert told["a"]["mean/maximin"] is None


def test_the_command_writes_rows_and_prints_the_table(tmp_path, capsys):
    out = tmp_path / "rows.jsonl"
    words = ["--problem", "chain", "--choice", "random", "--method", "pod-gp", "--seeds", "1"]
    line = ["bench", "choices", *words, "--budget", "3", "--pool", "grid:5", "--out", str(out)]
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["runs"] == 3
    assert main(["bench", "choices"]) == 2
