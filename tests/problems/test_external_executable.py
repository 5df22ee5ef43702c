"""A compiled program as a solver: every format read, every way to fail told apart."""

import os
import pickle
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems import Executable, ExternalProblem, Output, problem_from_toml

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
SOURCE = Path(__file__).parent / "sources" / "oscillator.c"
DECK = """damping   ${c}
stiffness ${k:.17e}
start ${grid.start}
stop ${grid.stop}
points ${grid.points}
$HOME {left alone}
"""
BOX = (Parameter("c", 0.1, 0.5), Parameter("k", 4.0, 9.0))
CASE = np.array([1 / 3, 7.1])
COARSE, FINE = np.linspace(0.0, 10.0, 64), np.linspace(1.0, 10.0, 1001)
OUTPUTS = {
    "csv": Output("out.csv", columns=["u"], time="t"),
    "dat": Output("out.dat", columns=[1], time=0),
    "json": Output("out.json", columns=["result.0.u"], time="result.0.t"),
    "npy": Output("out.npy"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("solver")
    words = [COMPILER, "-O1", "-o", str(folder / "oscillator"), str(SOURCE), "-lm"]
    subprocess.run(words, check=True)
    (folder / "deck.txt").write_text(DECK)
    return folder


def program(home, form="csv", fault="none", limit=60.0, **settings):
    command = ("./oscillator", "deck.inp", form, fault)
    settings = {"output": OUTPUTS[form], "folder": home, **settings}
    return Executable(command, limit=limit, templates={"deck.inp": "deck.txt"}, **settings)


def problem_of(solver):
    levels = (Level("coarse", COARSE, 1.0), Level("fine", FINE, 40.0))
    return ExternalProblem("swing", parameters=BOX, levels=levels, solvers=(solver, solver))


def truth(grid):
    c, k = CASE
    w = np.sqrt(k - c * c / 4)
    return np.exp(-c / 2 * grid) * (np.cos(w * grid) + c / 2 / w * np.sin(w * grid))


def failure(home, **settings):
    with pytest.raises(SolveFailed) as caught:
        problem_of(program(home, **settings)).solve(CASE, 0)
    assert caught.value.kind in SolveFailed.KINDS
    return caught.value


@pytest.mark.parametrize("form", OUTPUTS)
@pytest.mark.parametrize("level", [0, 1])
def test_every_format_brings_the_closed_form_back(home, form, level):
    problem = pickle.loads(pickle.dumps(problem_of(program(home, form))))
    grid = problem.levels[level].grid
    np.testing.assert_allclose(problem.solve(CASE, level)[0], truth(grid), atol=1e-13)


@pytest.mark.parametrize(
    ("form", "fault", "kind", "words"),
    [
        ("csv", "exit", "exit", "exit code 3"),
        ("csv", "signal", "signal", "SIGSEGV"),
        ("csv", "silent", "output", "wrote no out.csv"),
        ("csv", "short", "shape", "must have 64 times"),
        ("npy", "short", "shape", "64"),
        ("csv", "grid", "grid", "the level's grid has 10"),
        ("json", "grid", "grid", "the level's grid has 10"),
        ("csv", "torn", "signal", "SIGABRT"),
        ("csv", "nan", "nan", "first at time 0.79"),
        ("dat", "nan", "nan", "first at time 0.79"),
        ("csv", "inf", "inf", "first at point 5"),
        ("npy", "inf", "inf", "first at point 5"),
        ("json", "nan", "output", "out.json cannot be read"),
    ],
)
def test_every_way_to_fail_is_told_apart_with_the_log(home, form, fault, kind, words):
    error = failure(home, form=form, fault=fault)
    assert error.kind == kind
    assert words in error.detail
    if kind in ("exit", "signal", "output"):
        assert "reading deck.inp" in error.log
    if fault == "exit":
        assert "no convergence in step 7" in error.log


def test_a_hanging_program_is_ended_with_all_its_children(home, tmp_path):
    started = time.monotonic()
    error = failure(home, fault="hang", limit=1.0, environment={"PIDS": str(tmp_path)})
    assert error.kind == "timeout"
    assert time.monotonic() - started < 20.0
    pids = [int(path.name) for path in tmp_path.iterdir()]
    assert len(pids) == 2
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def test_exit_codes_may_mean_success(home):
    assert failure(home, fault="exit", success=(0, 3)).detail == "wrote no out.csv"


def test_directories_are_fresh_and_leave_nothing_unless_they_are_kept(
    home, tmp_path, monkeypatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(home.iterdir())
    problem_of(program(home)).solve(CASE, 0)
    failure(home, fault="signal")
    assert list(tmp_path.iterdir()) == []
    kept = problem_of(program(home, runs=tmp_path / "runs"))
    for _ in range(2):
        kept.solve(CASE, 0)
    folders = sorted((tmp_path / "runs").iterdir())
    assert len(folders) == 2
    names = {path.name for path in folders[0].iterdir()}
    assert names == {"case.json", "deck.inp", "log.txt", "out.csv"}
    assert "$HOME {left alone}" in (folders[0] / "deck.inp").read_text()
    assert sorted(home.iterdir()) == before


def test_copies_and_forcing_reach_the_program(home, tmp_path):
    (home / "mesh").mkdir(exist_ok=True)
    (home / "mesh" / "nodes.txt").write_text("7")
    script = 'cat mesh/nodes.txt && awk -F, \'NR==1 {print "t,u"; next} {print $1 "," $2}\' '
    solver = Executable(
        ("sh", "-c", script + "${forcing} > out.csv # ${c} ${k}"),
        OUTPUTS["csv"], 60.0, files=("mesh",), folder=home,
    )  # fmt: skip
    levels = (Level("coarse", COARSE, 1.0), Level("fine", FINE, 40.0))
    problem = ExternalProblem(
        "echo", parameters=BOX, levels=levels, solvers=(solver, solver), forcing=shake
    )
    assert np.array_equal(problem.solve(CASE, 1), problem.inputs(CASE, 1))
    os.remove(home / "mesh" / "nodes.txt")
    with pytest.raises(SolveFailed, match=r"mesh/nodes\.txt"):
        problem.solve(CASE, 1)
    shutil.rmtree(home / "mesh")


def shake(case, grid):
    return case["c"] * np.sin(case["k"] * grid)


ROWS = (
    """awk 'BEGIN {print "t,u"; for (k = 0; k < 64; k++) printf "%.17g,1\\n", k * 10 / 63}'"""
)


def script(home, text, output=OUTPUTS["csv"], **settings):
    settings = {"limit": 60.0, "ignores": ("c", "k"), "folder": home, **settings}
    return problem_of(Executable(("sh", "-c", text), output, **settings))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("{rows} > out.csv; exec >&- 2>&-; true", "", ""),
        ("mkfifo out.csv", "output", "wrote no out.csv"),
        ("ln -s /dev/zero out.csv", "output", "wrote no out.csv"),
        ('rm -rf "$PWD"', "output", "wrote no out.csv"),
        ("(echo t,u; yes 1,1 | head -c 9999999) > out.csv", "shape", "more than the 64 rows"),
        ("head -c 20000000 /dev/zero > out.csv", "output", "line 1 does not end"),
        ("kill -9 $PPID; sleep 60", "signal", "SIGKILL"),
        ("kill -9 0", "signal", "SIGKILL"),
    ],
)
def test_hostile_programs_do_no_more_than_fail(home, text, kind, words):
    problem = script(home, text.replace("{rows}", ROWS))
    if not kind:
        assert np.array_equal(problem.solve(CASE, 0), np.ones((1, 64)))
        return
    with pytest.raises(SolveFailed, match=words) as caught:
        problem.solve(CASE, 0)
    assert caught.value.kind == kind


def test_a_program_that_heeds_no_signal_and_leaves_daemons_is_ended_with_them(home, tmp_path):
    daemon = f"(setsid sh -c 'trap \"\" TERM HUP; echo $$ > {tmp_path}/pid; sleep 60' &)"
    wait = f"while [ ! -s {tmp_path}/pid ]; do sleep 0.05; done"
    gone = lambda: not Path(f"/proc/{int((tmp_path / 'pid').read_text())}").exists()
    good = script(home, f"{daemon}; {wait}; {ROWS} > out.csv")
    assert good.solve(CASE, 0).shape == (1, 64)
    assert gone()
    (tmp_path / "pid").unlink()
    deaf = script(home, f"trap '' TERM; {daemon}; {wait}; sleep 60; sleep 60", limit=1.0)
    with pytest.raises(SolveFailed, match="within 1 s"):
        deaf.solve(CASE, 0)
    assert gone()


def test_what_a_program_prints_may_be_its_answer(home):
    printed = Output("log.txt", "csv", columns=["u"], time="t")
    assert np.array_equal(script(home, ROWS, printed).solve(CASE, 0), np.ones((1, 64)))


def test_an_old_answer_among_the_copied_files_is_no_answer(home, tmp_path):
    (tmp_path / "out.csv").write_text("t,u\n0,1\n")
    problem = script(tmp_path, "true", files=("out.csv",))
    with pytest.raises(SolveFailed, match=r"wrote no out\.csv"):
        problem.solve(CASE, 0)


def test_templates_keep_their_bytes_and_what_is_no_placeholder(home, tmp_path):
    (tmp_path / "a b").mkdir()
    text = "# Dämpfung ${c:.2f}\r\n$${HOME} $$ {c} $c\n".encode("latin-1")
    (tmp_path / "a b" / "über.txt").write_bytes(text)
    settings = {"templates": {"case.json": "über.txt"}, "runs": tmp_path / "runs"}
    script(tmp_path / "a b", f"{ROWS} > out.csv", **settings).solve(CASE, 0)
    (made,) = (tmp_path / "runs").glob("*/case.json")
    assert made.read_bytes() == "# Dämpfung 0.33\r\n${HOME} $$ {c} $c\n".encode("latin-1")


def test_wrong_settings_are_refused_before_anything_runs(home):
    wrong = {
        "must name a program": {"command": ()},
        "can be started": {"command": ("./absent", "${c}", "${k}")},
        "deck.txt": {"command": ("./deck.txt", "${c}", "${k}")},
        "every parameter must reach the program; got no ..k": {"command": ("true", "${c}")},
        "must be one of .*grid.points.*got \\${d}": {"command": ("true", "${c}${k}${d}")},
        "format that Python knows": {"command": ("true", "${c:q}", "${k}")},
        "limit: must be positive": {"limit": 0.0},
        "templates: must be an existing file": {"templates": {"a": "absent.txt"}},
        "files: must exist": {"files": ("absent.msh",)},
        "names in the run's directory; got '../a'": {"templates": {"../a": "deck.txt"}},
        "none of them log.txt": {"templates": {"log.txt": "deck.txt"}},
        "must be different names": {
            "templates": {"deck.txt": "deck.txt"},
            "files": ["deck.txt"],
        },
        "must lie in the run's directory; got ''": {"output": Output("", "csv", ["u"])},
        "delimiter: must be one character": {"output": Output("o.csv", delimiter="")},
        "must be one of csv, table": {"output": Output("out.csv", format="xls")},
        "an .npy file has no columns": {"output": Output("out.npy", columns=["u"])},
        "must be 1, one for each of u": {"output": Output("out.csv", columns=["u", "v"])},
        "a table has numbered columns": {"output": Output("out.dat")},
    }
    for words, settings in wrong.items():
        command = ("true", "${c}", "${k}")
        settings = {"command": command, "output": OUTPUTS["csv"], "limit": 9.0, **settings}
        with pytest.raises(ArgumentError, match=words):
            problem_of(Executable(**settings, folder=home))
    problem_of(Executable(("true", "${c}"), OUTPUTS["csv"], 9.0, ignores=("k",)))


def test_version_follows_program_template_and_settings(home, tmp_path):
    shutil.copytree(home, tmp_path / "home")
    home = tmp_path / "home"
    versions = [problem_of(program(home)).version for _ in range(2)]
    with (home / "deck.txt").open("a") as deck:
        deck.write("tolerance 1e-6\n")
    versions.append(problem_of(program(home)).version)
    with (home / "oscillator").open("ab") as binary:
        binary.write(b"\0")
    versions.append(problem_of(program(home)).version)
    versions.append(problem_of(program(home, environment={"ORDER": "2"})).version)
    for text in ("one", "two"):
        (home / "script.sh").write_text(text)
        words = ("sh", "${folder}/script.sh", "${c}", "${k}")
        solver = Executable(words, OUTPUTS["csv"], 60.0, folder=home)
        versions.append(problem_of(solver).version)
    assert versions[0] == versions[1]
    assert len(set(versions)) == 6


TOML = """
name = "swing"
outputs = ["u"]
parameters = { c = { low = 0.1, high = 0.5 }, k = { low = 4, high = 9, unit = "1/s2" } }

[[levels]]
name = "coarse"
grid = { stop = 10.0, points = 64 }
solver = { kind = "function", function = "models.py:coarse" }

[[levels]]
name = "fine"
cost = 40
grid = { start = 1, stop = 10, points = 1001 }
[levels.solver]
kind = "executable"
command = ["./oscillator", "deck.inp", "csv", "none"]
templates = { "deck.inp" = "deck.txt" }
output = { file = "out.csv", columns = ["u"], time = "t" }
limit = 60
"""


def test_toml_form_gives_the_same_problem_from_anywhere(home, tmp_path, monkeypatch):
    (home / "models.py").write_text("def coarse(case, grid):\n    return grid * case['c']\n")
    (home / "swing.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    problem = problem_from_toml(home / "swing.toml")
    assert problem.parameters[1] == Parameter("k", 4.0, 9.0, "1/s2")
    assert [level.cost for level in problem.levels] == [1.0, 40.0]
    assert np.array_equal(problem.solve(CASE, 0)[0], COARSE * CASE[0])
    np.testing.assert_allclose(problem.solve(CASE, 1)[0], truth(FINE), atol=1e-13)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("outputs", "output", "problem: takes name, version, .*; got the unknown key 'output'"),
        ("low = 0.1", "lower = 0.1", "parameters.c: takes low, high, unit; .*'lower'"),
        ("low = 0.1, ", "", r"parameters.c.low: is needed"),
        ("high = 9", 'high = "9"', "parameters.k.high: must be a number .*; got '9'"),
        ("low = 0.1", "low = true", "parameters.c.low: must be a number .*; got True"),
        ("points = 64", "points = 64.5", r"levels\[0\].grid.points: must be a whole number"),
        ("points = 64", "points = 2", r"levels\[0\].grid.points: must be 4 or more"),
        ("stop = 10.0, ", "", r"levels\[0\].grid.stop: is needed"),
        ('kind = "function"', 'kind = "matlab"', "one of function, executable, umbridge, fmu"),
        ("limit = 60", "timeout = 60", r"levels\[1\].solver: takes .*'timeout'"),
        ("limit = 60", "", r"levels\[1\].solver.limit: is needed"),
        ("limit = 60", "limit = '60'", r"levels\[1\].solver.limit: must be a number"),
        ("file = ", "path = ", r"levels\[1\].solver.output: takes file"),
        ('["u"], time', '[true], time', "columns: must be a list of names or numbers"),
        ('"csv", "none"', '"csv", 7', "command: must be a list of texts"),
        ("models.py:coarse", "models.py:absent", "must be importable"),
        ('name = "swing"', "name = swing", "must be TOML"),
        ("cost = 40", "cost = 0.5", "must be cheapest first"),
    ],
)  # fmt: skip
def test_toml_mistakes_name_the_key_and_what_would_be_right(home, old, new, words):
    (home / "models.py").write_text("def coarse(case, grid):\n    return grid * case['c']\n")
    assert TOML.count(old) == 1 or old in ("limit = 60", "file = ", "low = 0.1", "low = 0.1, ")
    (home / "wrong.toml").write_text(TOML.replace(old, new, 1))
    with pytest.raises(ArgumentError, match=words):
        problem_from_toml(home / "wrong.toml")
