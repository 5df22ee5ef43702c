"""The demonstration: a campaign, its errors on other cases, its report."""

import json
from pathlib import Path

import pytest

from mflno.cli import main


def test_the_demo_spends_its_budget_and_leaves_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    line = ["demo", "--problem", "chain", "--budget", "4", "--method", "pod-gp", "--json"]
    assert main([*line, "--out", str(tmp_path / "d")]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["runs"] == 4
    assert told["mean_error"] < told["worst_error"] < 2.0
    assert Path(told["page"]).read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("budget", ["2", "0"])
def test_too_small_a_budget_is_wrong_usage(budget):
    assert main(["demo", "--budget", budget]) == 2
