"""Comparisons: nested designs, resumed files, honest tables, what a middle level is worth."""

import json

import numpy as np
import pytest

from mflno.cli import main
from mflno.errors import ArgumentError, StoreError
from mflno.problems import Chain, study_cases
from mflno.study import compare
from mflno.study.compare import compared, grounds, picks, rows_in, runs_of, table, trials
from mflno.study.middle import Ends, equal_cost, split_budget


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))


def some(budgets=(3, 4), seeds=(0, 1), methods=("pod-gp",)):
    return trials("chain", "maximin", budgets=budgets, seeds=seeds, methods=methods)


@pytest.mark.parametrize("design", ["maximin", "random"])
def test_designs_are_nested_and_the_seed_s_own(design):
    shared = grounds("chain")
    first = picks(shared, design, 0, 9)
    assert len(set(first)) == 9
    assert np.array_equal(picks(shared, design, 0, 4), first[:4])
    assert not np.array_equal(picks(shared, design, 1, 9), first)


def test_methods_see_the_same_runs_and_no_test_case():
    trial = some()[0]
    low, middle, high = runs_of(grounds("chain"), trial)
    assert (len(low), len(middle), len(high)) == (100, 6, 3)
    assert np.array_equal(middle.cases[:3], high.cases)
    tests = {case.tobytes() for case in study_cases(Chain()).tests}
    assert not tests & {case.tobytes() for case in low.cases}


def test_a_file_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    every = list(compared(some(), path=path))
    assert len(every) == 4
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:2]) + lines[2][:20])
    done = []
    tried = compare.tried
    monkeypatch.setattr(compare, "tried", lambda trial: done.append(trial) or tried(trial))
    again = list(compared(some(), path=path))
    assert len(done) == 2
    assert len(rows_in(path)) == 4
    figures = lambda rows: sorted((row["budget"], row["seed"], row["mean"]) for row in rows)
    assert figures(again) == figures(every)
    path.write_text("{}\nnot a row\n{}\n")
    with pytest.raises(StoreError, match="not a file of rows"):
        rows_in(path)


def test_a_method_that_fails_is_told_not_hidden(monkeypatch):
    def broken(*_, **__):
        raise ArgumentError("fit", "cannot", "this", "try another")

    monkeypatch.setattr(compare, "fit", broken)
    rows = list(compared(some(budgets=(3,), seeds=(0,))))
    assert "try another" in rows[0]["failed"]
    assert "failed" in table(rows)


def test_the_table_is_the_mean_over_seeds():
    base = {"budget": 3, "method": "a", "problem": "p", **dict.fromkeys(compare.FIGURES, 0.0)}
    rows = [{**base, "seed": s, "mean": mean} for s, mean in enumerate((0.1, 0.3))]
    rows.append({**base, "seed": 0, "method": "b", "mean": 0.05})
    lines = table(rows).splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["b", "a"]
    assert lines[2].split()[2:4] == ["2", "0.2"]


def test_the_command_writes_rows_and_prints_a_table(tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    line = ["compare", "chain", "--budgets", "3", "--seeds", "1", "--methods", "pod-gp,line"]
    assert main([*line, "--json", str(path)]) == 0
    out, _ = capsys.readouterr()
    assert "coverage" in out
    rows = [json.loads(each) for each in path.read_text().splitlines()]
    assert {row["method"] for row in rows} == {"pod-gp", "line"}
    assert all(0 <= row["coverage"] <= 1 and row["mean"] > 0 for row in rows)
    assert main(["compare", "chain", "--design", "best"]) == 2
    assert main(["compare", "chain", "--methods", "oracle"]) == 2
    assert main(["compare", "chain", "--budgets", "many"]) == 2


def test_a_middle_level_lowers_the_error_at_equal_cost():
    rows = list(equal_cost("chain", (6,), shares=(0.0, 1 / 3), seeds=(0,)))
    without, with_it = rows
    cost = [level.cost for level in Chain().levels]
    assert with_it["dear"] * cost[2] + with_it["middle"] * cost[1] <= without["dear"] * cost[2]
    assert with_it["mean"] < 0.5 * without["mean"]
    assert with_it["max"] < without["max"]


def test_money_is_never_overspent():
    for budget in range(4, 13):
        for share in (0.0, 0.2, 0.4):
            dear, middle = split_budget(Chain(), budget, share)
            assert dear + middle * 0.0625 <= budget + 1e-9
    with pytest.raises(ArgumentError, match="dear runs"):
        split_budget(Chain(), 3, 0.9)
    case = np.array([3.0, 0.2])
    assert np.array_equal(Ends(Chain()).solve(case, 1), Chain().solve(case, 2))
