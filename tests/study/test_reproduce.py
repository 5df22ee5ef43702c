"""The study: everybody starts alike, choices are what they say, nothing is computed twice."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from mflno.bayes import relative_error
from mflno.cli import main
from mflno.data import Trajectories
from mflno.errors import ArgumentError, StoreError
from mflno.multifidelity import Law
from mflno.multifidelity.mflno import MFLNO
from mflno.problems import Lorenz
from mflno.study import tables
from mflno.study.ablations import spread_of
from mflno.study.cells import Cell, Shelf, address
from mflno.study.contenders import Contender, shortened
from mflno.study.lockstep import Answer, Course, cells, judged
from mflno.study.material import START, Material, material, paper_tables, shown_cases
from mflno.study.networks_table import network_rows
from mflno.study.reproduce import Outcome, Scope, shares
from mflno.study.results import write_about


@dataclass(frozen=True)
class Nearest:
    """Says the nearest run, unsure by the distance to it; counts how often it is fitted."""

    name: ClassVar[str] = "nearest"
    fits: ClassVar[list] = []

    def fit_many(self, datas, *, seeds, device="cpu", show=True):
        self.fits.append([len(data.high) for data in datas])
        return [Answers(data.high.cases, data.high.values) for data in datas]

    def fit(self, data, *, seed, device="cpu", warm=None, show=True):
        return self.fit_many([data], seeds=[seed])[0]


@dataclass(frozen=True)
class Answers:
    kind: ClassVar[str] = "nearest"
    cases: np.ndarray
    values: np.ndarray

    def law(self, query, *, draws=0):
        scaled = lambda cases: (cases - [0.01, 5.0]) / [0.99, 3.0]
        gaps = np.linalg.norm(scaled(query.cases)[:, None] - scaled(self.cases), axis=-1)
        mean = self.values[gaps.argmin(1)]
        return Law(mean, np.ones_like(mean) * gaps.min(1)[:, None, None])

    def arrays(self):
        return {}, {}

    @classmethod
    def from_arrays(cls, arrays, about):
        raise NotImplementedError


def solved(cases, level):
    """Lorenz thinned to few points: enough to tell cases apart."""
    problem = Lorenz()
    grid = problem.levels[level].grid[::64]
    return Trajectories(
        cases, grid, problem.inputs_many(cases, level)[..., ::64],
        problem.solve_many(cases, level)[..., ::64], level, problem.name, problem.parameters,
    )  # fmt: skip


@pytest.fixture(scope="module")
def small():
    problem = Lorenz()
    axes = [np.linspace(p.low, p.high, 6) for p in problem.parameters]
    grid = np.stack([each.ravel() for each in np.meshgrid(*axes, indexing="ij")], 1)
    tests = np.random.default_rng(0).uniform([0.01, 5.0], [1.0, 8.0], (7, 2))
    parts = solved(grid, 1), solved(tests, 1), solved(shown_cases(problem), 1)
    return Material(problem, *parts, (solved(grid, 0),))


def taking(rule):
    return Contender(f"nearest-{rule}", rule, rule, lambda problem: Nearest())


COURSE = Course(seeds=(0, 1), budgets=(3, 5, 7))


def test_everybody_of_a_seed_starts_alike_and_never_asks_twice(small, tmp_path):
    starts = {}
    for rule in ("random", "maximin", "topb"):
        found = list(cells(small, taking(rule), COURSE, Shelf(tmp_path)))
        assert [cell.asked["budget"] for cell in found] == [3, 5, 7]
        for cell in found:
            for row in cell.found["rows"]:
                assert len(set(row["picks"])) == cell.asked["budget"]
                starts.setdefault(row["seed"], set()).add(tuple(row["picks"][:START]))
    assert all(len(each) == 1 for each in starts.values())
    assert starts[0] != starts[1]


def test_paper_rule_takes_the_two_largest_spreads(small, tmp_path):
    first, second, _ = cells(small, taking("topb"), COURSE, Shelf(tmp_path))
    for row, later in zip(first.found["rows"], second.found["rows"], strict=True):
        spread = np.array(row["plane"]["spread"])
        spread[row["picks"]] = -1
        assert sorted(spread[row["next"]]) == sorted(np.sort(spread)[-2:])
        assert later["picks"] == [*row["picks"], *row["next"]]


def test_maximin_takes_the_farthest_from_all_picks(small, tmp_path):
    last = [*cells(small, taking("maximin"), COURSE, Shelf(tmp_path))][-1]
    scaled = (small.candidates.cases - [0.01, 5.0]) / [0.99, 3.0]
    picks = last.found["rows"][0]["picks"]
    for place in range(START, len(picks)):
        gaps = np.linalg.norm(scaled[:, None] - scaled[picks[:place]], axis=-1).min(1)
        assert gaps[picks[place]] == pytest.approx(gaps.max())


def test_a_killed_study_goes_on_and_computes_nothing_twice(small, tmp_path):
    whole = [*cells(small, taking("topb"), COURSE, Shelf(tmp_path / "whole"))]
    shelf = Shelf(tmp_path / "killed")
    Nearest.fits.clear()
    walk = cells(small, taking("topb"), COURSE, shelf)
    for _ in range(2):
        next(walk)
    del walk
    again = [*cells(small, taking("topb"), COURSE, shelf)]
    assert Nearest.fits == [[3, 3], [5, 5], [7, 7]]
    for one, other in zip(whole, again, strict=True):
        assert one.found["rows"] == other.found["rows"]
    list(cells(small, taking("topb"), COURSE, shelf))
    assert len(Nearest.fits) == 3


def test_an_address_depends_on_all_that_was_asked(small, tmp_path):
    found = [*cells(small, taking("topb"), COURSE, Shelf(tmp_path))]
    asked = dict(found[0].asked)
    for name, other in (("budget", 5), ("seeds", [0]), ("method", "x"), ("version", "2")):
        assert address({**asked, name: other}) != address(asked)


def test_errors_are_those_of_the_tests(small):
    answer = Answer(Nearest().fit(small.data([0, 1, 2]), seed=0), small)
    row = judged(answer)
    law, _ = answer.law(small.tests.cases)
    off = law.mean - small.tests.values
    np.testing.assert_allclose(
        row["errors"], relative_error(law.mean, small.tests.values), 1e-5
    )
    np.testing.assert_allclose(
        row["coverage"], (np.abs(off) <= 1.959964 * law.std).mean((1, 2)), 1e-5
    )
    np.testing.assert_allclose(row["spread"], law.std.mean((1, 2)), 1e-5)
    off = answer.law(small.shown.cases)[0].mean - small.shown.values
    np.testing.assert_allclose(row["shown"]["mae"], np.abs(off).mean((1, 2)), 1e-5)


@pytest.mark.parametrize("name", ["lorenz", "duffing"])
def test_shown_trajectories_have_the_size_the_paper_prints(name, tmp_path):
    problem = {"lorenz": Lorenz}.get(name)
    if problem is None:
        from mflno.problems import Duffing as problem
    made = problem()
    values = made.solve_many(shown_cases(made), 1)
    for value, row in zip(values, paper_tables()[name]["trajectories"], strict=True):
        own = row["methods"]["MF-LNO (Active)"]
        size = own["rmse"] / own["relative_l2"]
        # Relative L2 is |e| / |u| and RMSE |e| / √T: their ratio is the size of u.
        assert np.sqrt(np.mean(value**2)) == pytest.approx(size, rel=1e-3)


def outcome(small, tmp_path, rules=("topb", "random", "maximin")):
    known = {"topb": "mflno-active", "random": "mflno-random", "maximin": "mflno-maximin"}
    paper = {"topb": "MF-LNO (Active)", "random": "MF-LNO (Random)"}
    everybody, found = [], {}
    for rule in rules:
        one = replace(taking(rule), key=known[rule], label=rule, paper=paper.get(rule))
        everybody.append(one)
        for cell in cells(small, one, COURSE, Shelf(tmp_path)):
            found[one.key, cell.asked["budget"]] = cell
    return Outcome("lorenz", small, tuple(everybody), found)


def test_tables_lay_ours_beside_the_paper(small, tmp_path):
    found = outcome(small, tmp_path)
    rows = tables.error_rows(found)
    assert len(rows) == 3 * 2 * 3
    row = next(
        r for r in rows if (r["runs"], r["metric"], r["method"]) == (5, "maximum", "topb")
    )
    seeds = [max(each["errors"]) for each in found.cells["mflno-active", 5].found["rows"]]
    assert row["ours"] == pytest.approx(np.mean(seeds))
    assert row["spread"] == pytest.approx(np.std(seeds, ddof=1))
    assert row["paper"] == 0.043242
    assert row["ratio"] == pytest.approx(np.mean(seeds) / 0.043242)
    shown = tables.trajectory_rows(found)
    assert len(shown) == 5 * 3 * 3
    duel = tables.duel_rows(found)[0]
    assert duel["ratio"] == pytest.approx(1.0)
    assert "×" in tables.wide_errors(rows)
    paths = tables.write_table(tmp_path / "tables", "errors", rows, tables.wide_errors(rows))
    assert json.loads(paths[2].read_text()) == rows
    assert paths[1].read_text().count("\n") == len(rows) + 1


def test_figures_are_drawn_with_labels(small, tmp_path):
    pytest.importorskip("matplotlib")
    from mflno.study.paper_figures import problem_figures

    paths = problem_figures(tmp_path / "figures", outcome(small, tmp_path))
    assert {path.stem for path in paths} == {
        f"lorenz-{each}" for each in ("errors", "predictions", "fidelities", "acquisition")
    }
    text = (tmp_path / "figures" / "lorenz-errors.svg").read_text()
    for words in ("expensive runs", "average relative", "paper: MF-LNO (Active)"):
        assert words in text


def test_networks_have_as_many_numbers_as_the_paper_prints():
    rows = {(r["problem"], r["network"], r["parameter channels"]): r for r in network_rows()}
    for name, channels in (("lorenz", "none"), ("duffing", "none"), ("beam", "hidden ones")):
        row = rows[name, "MF-LNO", channels]
        assert (row["G_L"], row["linear"], row["total"]) == (
            row["paper G_L"], row["paper linear"], row["paper total"],
        )  # fmt: skip
    for name in ("lorenz", "beam"):
        row = rows[name, "MF-DeepONet", "hidden ones"]
        assert row["total"] == row["paper total"]


def test_a_share_of_the_epochs_is_a_share_of_all_phases():
    method = MFLNO.paper("duffing")
    less = shortened(method, 0.1)
    assert (method.low_epochs, getattr(method.inference, "steps", 0)) == (2000, 5000)
    assert (less.low_epochs, less.inference.steps) == (200, 500)


def test_diverged_repeats_are_counted_not_averaged():
    assert spread_of([1.0, None, 3.0])[::2] == (2.0, 1)
    assert np.isnan(spread_of([None])[0])


def test_material_of_another_version_is_refused(tmp_path):
    from mflno.store import write_arrays

    write_arrays(tmp_path / "lorenz.safetensors", {"tests": np.zeros(1)}, {"version": "old"})
    with pytest.raises(StoreError, match="holds version old of lorenz"):
        material("lorenz", tmp_path)


def test_a_cell_survives_the_disk(tmp_path):
    cell = Cell({"kind": "x"}, {"rows": [1.5, None]}, {"mean": np.ones((2, 3))})
    shelf = Shelf(tmp_path)
    shelf.keep(cell)
    found = shelf.find({"kind": "x"})
    assert found is not None
    assert found.found == cell.found
    assert found.arrays["mean"].shape == (2, 3)
    assert shelf.find({"kind": "y"}) is None


def test_unknown_contenders_are_refused(tmp_path, capsys):
    assert main(["reproduce", "lorenz", "--only", "nobody", "--out", str(tmp_path)]) == 2
    assert "must be among" in capsys.readouterr().err


def test_command_writes_results_resumes_and_reports(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "out"
    words = ["reproduce", "lorenz", "--quick", "--only", "pod-gp", "--out", str(out), "--json"]
    assert main(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert all(Path(each).exists() for each in [*told["tables"], *told["figures"]])
    times = {path: path.stat().st_mtime_ns for path in (out / "cells").glob("*")}
    assert len(times) == 4
    assert main(words) == 0
    assert times == {path: path.stat().st_mtime_ns for path in (out / "cells").glob("*")}
    assert main(["report", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert "POD-GP" in page


def test_a_choice_that_needs_bands_says_so(small, tmp_path):
    with pytest.raises(ArgumentError, match="needs calibrated bands"):
        list(cells(small, taking("auto"), COURSE, Shelf(tmp_path)))


def test_work_is_shared_so_that_every_contender_is_computed_once(tmp_path):
    whole = Scope(tmp_path)
    parts = shares("beam", whole)
    keys = [each.key for part in parts for each in part.contenders()]
    assert sorted(keys) == sorted(each.key for each in whole.contenders())
    # Whoever shares phase 1 shares a process.
    assert {"mflno-active", "mflno-random", "lf-lno"} <= set(parts[0].only)


def test_results_say_what_made_them_and_where(tmp_path):
    scope = Scope(out=tmp_path, seeds=3)
    cell = Cell({"kind": "exchange"}, {"seconds": 2.0, "machine": "an abacus"}, {})
    told = json.loads(write_about("ablations", scope, [], [cell, cell]).read_text())
    assert told["command"] == "mflno reproduce ablations --seeds 3"
    assert told["machines"] == {"an abacus": ["exchange"]}
    assert told["seconds"] == {"appendix": {"exchange": 4.0}}
