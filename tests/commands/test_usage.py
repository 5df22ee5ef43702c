"""Wrong usage is one line on standard error, with exit status 2, and begins nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mflno.cli import THREADS, main
from mflno.commands import COMMANDS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run lorenz", "--out: must be given; got nothing"),
        ("run lorenz --budge 9 --out c", "did you mean --budget?"),
        ("run lorenz --budge=9 --out c", "did you mean --budget?"),
        ("run lorenz --budget nine --out c", "--budget: must be a number; got 'nine'"),
        ("run lorenz --seed 1.5 --out c", "--seed: must be a whole number; got '1.5'"),
        ("run lorenz duffing --out c", "duffing: is one argument too many"),
        ("run lorenz --out", "--out: takes one argument; got none"),
        ("run lorenz --method foo --out c", "method: must be a known method; got 'foo'"),
        ("run lorenz --pool grid:x --out c", "Plan.pool: must be auto, study, grid:20"),
        ("run lorenz --lower no.csv --out c", "check the path"),
        ("run lorenz --runner foo --out c", "Plan.runner: must be one of local"),
        ("run no.py:problem --out c", "must be importable"),
        ("run no.toml --out c", "no.toml: must be readable"),
        ("runn lorenz --out c", "got 'runn'; did you mean run?"),
        ("--versoin", "did you mean --version?"),
        ("sample lorenz --grid 3 --count 4 --out a.npz", "--count: not allowed with --grid"),
        ("sample lorenz --out a.npz", "--grid --count --split: one must be given"),
        ("middle lorenz", "problem: must be one of chain, burgers; got 'lorenz'"),
        ("predict c --set a=1", "c: must hold a campaign; got none"),
        ("ask c --problem chain --to no/n.csv", "--to: its folder must exist"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(line, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == 2
    heard = capsys.readouterr()
    assert said in heard.err
    assert heard.err.count("\n") == 1
    assert heard.err.startswith("mflno")
    assert heard.out == ""
    assert list(Path().iterdir()) == []


def test_what_the_machine_refuses_is_one_line_and_status_1(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert main(["run", "chain", "--out", str(tmp_path / "file" / "c")]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert str(tmp_path / "file") in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_fits_have_one_thread_and_solvers_what_they_always_had():
    code = (
        "import os, mflno.cli\n"
        "mflno.cli.one_thread()\n"
        "import numpy as np\n"
        "np.ones((800, 800)) @ np.ones((800, 800))\n"
        "print(len(os.listdir('/proc/self/task')), [n for n in os.environ if 'THREADS' in n])\n"
    )
    kept = {name: value for name, value in os.environ.items() if name not in THREADS}
    words = [sys.executable, "-c", code]
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=kept)
    assert said.stdout == "1 []\n"
    told = {**kept, "OMP_NUM_THREADS": "2"}
    said = subprocess.run(words, capture_output=True, text=True, check=True, env=told)
    assert said.stdout.endswith("['OMP_NUM_THREADS']\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_tells_its_arguments(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    assert f"usage: mflno {name}" in capsys.readouterr().out
