"""The examples of campaigns run as they stand."""

import subprocess
import sys
from pathlib import Path

import pytest

from mflno.campaign import read_campaign

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "runs"), [("own_campaign", 9), ("ask_and_tell", 7), ("dask_workers", 7)]
)
def test_an_example_runs_and_its_campaign_is_whole(script, runs, tmp_path, monkeypatch):
    if script == "dask_workers":
        pytest.importorskip("distributed")
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    words = [sys.executable, str(EXAMPLES / f"{script}.py"), str(tmp_path / "c")]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    state = read_campaign(tmp_path / "c").state
    assert (state.known, len(state.fitted)) == (runs, runs)
    assert done.stdout
