"""Runs made elsewhere: asked for, told in Python and from files."""

import json
import math

import numpy as np
import pytest

import mflno
from mflno.campaign import Campaign, Plan, read_campaign, read_told
from mflno.cli import main
from mflno.errors import ArgumentError
from mflno.problems import Chain

CHAIN = Chain()


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)


def small(**words):
    return Plan("chain", **{"budget": 6, "method": "pod-gp", "pool": "grid:9",
                            "lower": "grid:4", "draws": 8, **words})  # fmt: skip


def measured(cases):
    return CHAIN.solve_many(np.asarray(cases), 2)


def test_asked_and_told_is_the_same_as_run(tmp_path):
    told = Campaign(tmp_path / "told", plan=small())
    for count in (3, 2, 1):
        cases = told.ask(count)
        assert len(cases) == count
        told.tell(cases, measured(cases))
    told.run(show=False)
    run = Campaign(tmp_path / "run", plan=small(runner="inline"))
    run.run(show=False)
    assert [r.case for r in told.history.runs] == [r.case for r in run.history.runs]
    one, other = (c.surrogate.predict([[3.0, 0.3]]) for c in (told, run))
    assert np.array_equal(one.mean, other.mean)


def test_a_case_asked_for_is_not_asked_for_again_and_pending_ones_count(tmp_path):
    campaign = Campaign(tmp_path / "c", plan=small())
    first = campaign.ask(2)
    second = campaign.ask(3)
    assert len({tuple(case) for case in [*first, *second]}) == 5
    assert read_campaign(tmp_path / "c").state.spent == 5
    campaign.ask(1)
    with pytest.raises(ArgumentError, match="raise the budget"):
        campaign.ask(1)


def test_runs_nobody_asked_for_are_taken_and_cost_nothing(tmp_path):
    campaign = Campaign(tmp_path / "c", plan=small(budget=4))
    have = np.array([[2.5, 0.2], [3.5, 0.4], [5.5, 0.3]])
    assert [each.state for each in campaign.tell(have, measured(have))] == ["taken"] * 3
    assert [each.state for each in campaign.tell(have[:1], measured(have[:1]))] == ["known"]
    state = campaign.history.state
    assert (state.known, state.spent) == (3, 0)
    campaign.run(show=False)
    assert campaign.history.state.known == 7
    assert len(campaign.history.fits[0].runs) == 3


def test_rounded_cases_are_those_asked_for(tmp_path):
    campaign = Campaign(tmp_path / "c", plan=small())
    case = campaign.ask(1)
    told = campaign.tell(np.round(case, 9), measured(case))
    assert told[0].run == "0000"


@pytest.mark.parametrize("fault", ["nan", "shape", "outside", "count"])
def test_what_cannot_be_used_is_refused_and_nothing_is_taken(fault, tmp_path):
    campaign = Campaign(tmp_path / "c", plan=small())
    cases = campaign.ask(2)
    values = measured(cases)
    if fault == "nan":
        values[1, 0, 3] = np.nan
    elif fault == "shape":
        values = values[..., ::2]
    elif fault == "outside":
        cases = cases + np.array([10.0, 0.0])
    else:
        values = values[:1]
    with pytest.raises(ArgumentError):
        campaign.tell(cases, values)
    assert campaign.history.state.known == 0


def test_a_level_without_a_solver_is_asked_for(tmp_path):
    (tmp_path / "cheap.py").write_text(
        "import numpy as np\ndef solve(case, grid):\n    return np.exp(-case['a'] * grid)\n"
    )
    (tmp_path / "lab.toml").write_text("""
name = "lab"
parameters = {a = {low = 0.1, high = 1.0}}
[[levels]]
name = "model"
grid = {stop = 1.0, points = 16}
solver = {kind = "function", function = "cheap.py:solve"}
[[levels]]
name = "rig"
cost = 50.0
grid = {stop = 1.0, points = 32}
solver = {kind = "elsewhere"}
""")
    common = ["--method", "pod-gp", "--lower", "grid:5", "--pool", "grid:21", "--draws", "8"]
    assert main(["ask", "c", "-n", "3", "--problem", "lab.toml", *common, "--to", "n.csv"]) == 0
    lines = (tmp_path / "n.csv").read_text().splitlines()
    assert lines[0] == "run,a"
    assert len(lines) == 4
    grid = np.linspace(0.0, 1.0, 32)
    for line in lines[1:]:
        run, a = line.split(",")
        u = np.exp(-float(a) * grid) + 0.01 * grid
        np.savetxt(
            f"{run}.csv", np.stack([grid, u], 1), "%.17g", ",", header="time,u", comments=""
        )
        assert main(["tell", "c", f"{run}.csv", "--run", run]) == 0
    assert main(["run", "--out", "c", "--runner", "ask", "--budget", "4", "--quiet"]) == 0
    history = read_campaign("c")
    assert (len(history.fits), len(history.state.named("asked"))) == (1, 1)
    with pytest.raises(mflno.MflnoError, match="tell"):
        Campaign("c").problem.solve(np.array([0.5]), 1)


def told_csv(tmp_path, text, **words):
    (tmp_path / "t.csv").write_text(text)
    return read_told(tmp_path / "t.csv", CHAIN, **words)


def test_a_table_may_hold_several_cases_in_any_order(tmp_path):
    cases = np.array([[5.0, 0.2], [2.5, 0.4]])
    values, grid = measured(cases), CHAIN.levels[2].grid
    columns = values[:, 0].T.tolist()
    rows = [
        f"{t!r},{k!r},{c!r},{u!r}"
        for t, row in zip(grid.tolist(), columns, strict=True)
        for (k, c), u in zip(cases.tolist(), row, strict=True)
    ]
    found = told_csv(tmp_path, "# rig 4\ntime,kappa,c,u\n" + "\n".join(rows))
    assert np.array_equal(found.cases, cases)
    assert np.array_equal(found.values, values)


def test_other_times_are_interpolated_and_must_reach_the_ends(tmp_path):
    fine = np.linspace(0.0, 20.0, 3000)
    text = "t,u\n" + "\n".join(f"{t!r},{math.sin(t)!r}" for t in fine.tolist())
    found = told_csv(tmp_path, text, case=[3.0, 0.3])
    assert np.abs(found.values[0, 0] - np.sin(CHAIN.levels[2].grid)).max() < 1e-9
    short = "t,u\n" + "\n".join(f"{t!r},0.0" for t in fine[:2000].tolist())
    with pytest.raises(ArgumentError, match="must reach from 0 to 20"):
        told_csv(tmp_path, short, case=[3.0, 0.3])
    with pytest.raises(ArgumentError, match="its case must be known"):
        told_csv(tmp_path, text)


def test_arrays_and_trajectories_are_read(tmp_path):
    cases = np.array([[5.0, 0.2], [2.5, 0.4]])
    runs = mflno.sample(CHAIN, cases, 2, cache=False, show=False)
    for name in ("a.npz", "a.nc"):
        mflno.write_trajectories(runs, tmp_path / name)
        found = read_told(tmp_path / name, CHAIN)
        assert np.array_equal(found.cases, cases)
        assert np.array_equal(found.values, runs.values)
    np.savez(tmp_path / "b.npz", cases=cases, values=runs.values)
    assert np.array_equal(read_told(tmp_path / "b.npz", CHAIN).values, runs.values)
    np.savez(tmp_path / "b.npz", values=runs.values[0], time=runs.grid)
    found = read_told(tmp_path / "b.npz", CHAIN, case=[5.0, 0.2])
    assert np.array_equal(found.values, runs.values[:1])


@pytest.mark.parametrize(
    ("name", "text"),
    [("t.csv", "time,v\n0,1\n"), ("t.csv", ""), ("t.csv", "time,u\n0,one\n"), ("t.txt", "x"),
     ("t.npz", "not an archive"), ("none.csv", None)],
)  # fmt: skip
def test_a_file_that_is_none_is_named(name, text, tmp_path):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ArgumentError, match=name):
        read_told(tmp_path / name, CHAIN, case=[3.0, 0.3])


def test_a_run_that_failed_elsewhere_is_told_and_never_asked_again(capsys):
    words = ["--method", "pod-gp", "--lower", "grid:4", "--pool", "grid:5", "--draws", "8"]
    assert main(["ask", "c", "-n", "3", "--problem", "chain", *words, "--json", "--quiet"]) == 0
    asked = json.loads(capsys.readouterr().out)
    assert [each["run"] for each in asked] == ["0000", "0001", "0002"]
    assert main(["tell", "c", "--run", "0001", "--failed", "the rig broke", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"run": "0001", "state": "failed"}]
    state = read_campaign("c").state
    assert state.runs["0001"].detail == "the rig broke"
    assert main(["tell", "c", "--run", "0001", "--failed", "again"]) == 2
    more = Campaign("c").ask(2)
    assert state.runs["0001"].case not in {tuple(case) for case in more}


def test_wrong_words_are_wrong_usage(capsys):
    assert main(["tell", "c", "t.csv"]) == 2
    assert main(["ask", "c"]) == 2
    assert "a problem or a plan must be named" in capsys.readouterr().err
