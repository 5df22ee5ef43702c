"""`mflno run`, `status` and `predict`, as a user types them."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import mflno
from mflno.campaign import Campaign
from mflno.campaign.history import JOURNAL
from mflno.cli import main
from mflno.store import Journal

COMMON = ["--method", "pod-gp", "--lower", "grid:4", "--pool", "grid:9", "--draws", "8"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        out = tmp_path_factory.mktemp("finished") / "c"
        words = ["--budget", "4", "--runner", "inline", "--quiet"]
        assert main(["run", "chain", "--out", str(out), *words, *COMMON]) == 0
    return str(out)


def test_run_tells_what_it_does_and_how_it_ended(capsys):
    line = ["run", "chain", "--budget", "4", "--out", "c", "--start", "random", *COMMON]
    assert main(line) == 0
    said = capsys.readouterr()
    assert "round 0: random" in said.err
    assert "run 0003: kappa =" in said.err
    assert "of 4," in said.err
    assert "finished (the budget of 4 runs is spent)" in said.out
    before = Path("c", JOURNAL).read_text()
    assert main([*line, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["state"] == "finished"
    assert [run["state"] for run in told["runs"]] == ["done"] * 4
    assert Path("c", JOURNAL).read_text() == before


def test_status_lists_runs_with_case_level_state_and_seconds(finished, capsys):
    assert main(["status", finished, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for run in told["runs"]:
        assert set(run["case"]) == {"kappa", "c"}
        assert (run["level"], run["state"]) == (2, "done")
        assert run["seconds"] > 0
    assert told["expected_error"]["mean"] > 0
    assert main(["status", finished]) == 0
    assert "4 runs done, 0 failed, 4 of 4 spent" in capsys.readouterr().out


def test_a_differing_line_is_wrong_usage_and_names_the_field(finished, capsys):
    assert main(["run", "chain", "--out", finished, "--batch", "3", *COMMON]) == 2
    assert "Plan.batch: batch was 2 when" in capsys.readouterr().err
    assert main(["run", "lorenz", "--out", finished]) == 2
    assert "Plan.problem" in capsys.readouterr().err


def test_a_second_driver_is_refused_with_exit_status_1(finished, capsys):
    with Journal(f"{finished}/{JOURNAL}"):
        assert main(["run", "--out", finished]) == 1
        assert "already driven by process" in capsys.readouterr().err
        assert main(["status", finished, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["state"] == "running"


def test_ctrl_c_leaves_a_campaign_that_goes_on(capsys, monkeypatch):
    from mflno.campaign.runners import Inline

    line = ["run", "chain", "--budget", "4", "--out", "c", "--runner", "inline", *COMMON]
    submit = Inline.submit

    def pressed(runner, job):
        if job.name == "0002":
            raise KeyboardInterrupt
        submit(runner, job)

    with monkeypatch.context() as patch:
        patch.setattr(Inline, "submit", pressed)
        assert main(line) == 1
    assert "the same line resumes" in capsys.readouterr().err
    assert main(["status", "c", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "interrupted"
    assert main(line) == 0
    assert Campaign("c").history.state.known == 4


def test_a_plan_file_is_a_whole_campaign(tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(
        'problem = "chain"\nbudget = 4\nmethod = "pod-gp"\nlower = "grid:4"\n'
        'pool = "grid:9"\nrunner = "inline"\nchoice = {name = "ivr", relative = false}\n'
    )
    assert main(["run", "plan.toml", "--out", "c", "--quiet", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rounds"][1]["choice"] == "ivr"
    assert main(["run", "plan.toml", "--out", "c", "--quiet"]) == 0


def test_predict_writes_what_the_surrogate_says(finished, capsys):
    words = ["predict", finished, "--set", "c=0.2", "--set", "kappa=3"]
    assert main([*words, "--out", "x.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["cases"]
    found = Campaign(finished).surrogate.predict([[3.0, 0.2]])
    low, high = found.interval(0.95)
    with open("x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    column = lambda name: np.array([float(row[name]) for row in rows])
    assert np.array_equal(column("u"), found.mean[0, 0])
    assert np.array_equal(column("u_low"), low[0, 0])
    assert np.array_equal(column("u_high"), high[0, 0])
    assert np.array_equal(column("time"), found.grid)
    assert set(column("kappa")) == {3.0}
    assert told[0]["root_mean_square"] == pytest.approx(np.sqrt(np.mean(found.mean**2)))
    assert main([*words, "--out", "x.nc"]) == 0
    assert np.array_equal(mflno.read_trajectories("x.nc").values, found.mean)
    assert main([*words, "--out", "x.png"]) == 0
    assert Path("x.png").read_bytes()[:4] == b"\x89PNG"


def test_predict_takes_a_file_of_cases_and_a_surrogates_file(finished, tmp_path, capsys):
    (tmp_path / "cases.csv").write_text("c,kappa\n0.2,3\n0.4,5\n")
    surrogate = f"{finished}/fits/1/surrogate.mflno"
    assert main(["predict", surrogate, "--cases", "cases.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["cases"]
    assert [each["case"] for each in told] == [{"kappa": 3, "c": 0.2}, {"kappa": 5, "c": 0.4}]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "kappa=3"], "each of kappa, c once"),
        (["--set", "kappa=3", "--set", "c=x"], "name=number"),
        (["--set", "kappa=30", "--set", "c=0.2"], "must lie in [2, 6]"),
        ([], "--cases FILE.csv"),
        (["--set", "kappa=3", "--set", "c=0.2", "--out", "x.pdf"], "must end in .csv"),
        (["--set", "kappa=3", "--set", "c=0.2", "--out", "no/x.csv"], "its folder must exist"),
    ],
)
def test_a_wrong_question_names_its_fault(words, said, finished, capsys):
    assert main(["predict", finished, *words]) == 2
    assert said in capsys.readouterr().err


def test_nothing_there_is_one_clear_line(capsys):
    for line in (
        ["status", "none"],
        ["predict", "none", "--set", "a=1"],
        ["run", "--out", "x"],
    ):
        assert main(line) in (1, 2)
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert said.startswith(f"mflno {line[0]}: ")


MINE = """
import os
from pathlib import Path
import numpy as np
import mflno
from mflno.problems import ExternalProblem

def decay(case, grid):
    with Path(__file__).with_name("pids.txt").open("a") as file:
        file.write(f"{os.getpid()} {len(grid)}\\n")
    return np.exp(-case["a"] * grid)

levels = [mflno.Level(name, np.linspace(0.0, 5.0, points), cost=float(points))
          for name, points in (("low", 32), ("high", 64))]
problem = ExternalProblem("mine", parameters=[mflno.Parameter("a", 0.1, 1.0)],
                          levels=levels, solvers=[decay, decay])
"""


def test_jobs_solve_the_lower_levels_of_a_file_in_processes_of_their_own(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    words = ["--lower", "grid:6", "--budget", "3", "--method", "pod-gp", "--quiet"]
    line = ["run", "mine.py:problem", "--jobs", "2", "--out", "c", "--runner", "inline"]
    assert main([*line, *words]) == 0
    rows = [each.split() for each in (tmp_path / "pids.txt").read_text().splitlines()]
    low = {pid for pid, points in rows if points == "32"}
    assert sum(points == "32" for _, points in rows) == 6
    assert str(os.getpid()) not in low
