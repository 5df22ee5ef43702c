"""A run's folder is finished and whole, or not there."""

import json
import shutil

import numpy as np
import pytest

from mflno.errors import ArgumentError, StoreError
from mflno.store import (
    fail_run,
    find_run,
    finish_run,
    incomplete_runs,
    list_runs,
    load_output,
    runs,
    start_run,
)

SPEC = {"case": [0.67, 7.0], "level": 1, "attempt": 0}
VALUES = np.random.default_rng(0).normal(size=(2, 5))


def solved(root, name="0000", values=VALUES):
    return finish_run(start_run(root, name, SPEC), {"values": values}, seconds=2.5, cost=40.0)


def test_a_finished_run_comes_back_with_what_was_asked_and_what_came(tmp_path):
    record = solved(tmp_path)
    assert record == find_run(tmp_path, "0000")
    assert (record.spec, record.succeeded, record.seconds, record.cost) == (
        SPEC,
        True,
        2.5,
        40.0,
    )
    assert record.shapes == {"values": (2, 5)}
    assert np.array_equal(load_output(tmp_path, "0000")["values"], VALUES)
    names = sorted(path.name for path in (tmp_path / "0000").iterdir())
    assert names == ["done.json", "log.txt", "output.npz", "spec.json"]


def test_a_run_at_work_is_incomplete_and_unread(tmp_path):
    work = start_run(tmp_path, "0000", SPEC)
    assert find_run(tmp_path, "0000") is None
    assert list_runs(tmp_path) == []
    assert incomplete_runs(tmp_path) == [work]
    with pytest.raises(StoreError, match="run 0000 is not finished"):
        load_output(tmp_path, "0000")


@pytest.mark.parametrize("step", ["write_synced", "sync_file", "sync_folder"])
def test_a_death_before_the_rename_leaves_no_finished_run(tmp_path, monkeypatch, step):
    work = start_run(tmp_path, "0000", SPEC)
    with monkeypatch.context() as patch:
        patch.setattr(runs, step, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            finish_run(work, {"values": VALUES}, seconds=1.0, cost=1.0)
    assert find_run(tmp_path, "0000") is None
    assert incomplete_runs(tmp_path) == [work]
    assert finish_run(work, {"values": VALUES}, seconds=1.0, cost=1.0).succeeded


def test_the_attempt_that_finishes_first_stands(tmp_path):
    first, second = (start_run(tmp_path, "0000", SPEC) for _ in range(2))
    record = finish_run(second, {"values": VALUES}, seconds=1.0, cost=1.0)
    late = finish_run(first, {"values": VALUES + 1}, seconds=9.0, cost=9.0)
    assert late == record
    assert np.array_equal(load_output(tmp_path, "0000")["values"], VALUES)
    assert incomplete_runs(tmp_path) == []


def test_a_failed_run_is_finished_and_has_no_output(tmp_path):
    work = start_run(tmp_path, "0000", SPEC)
    record = fail_run(work, "nan", "NaN at t = 3", seconds=1.0, cost=4.0)
    assert record == find_run(tmp_path, "0000")
    assert (record.succeeded, record.kind, record.detail) == (False, "nan", "NaN at t = 3")
    with pytest.raises(StoreError, match="run 0000 failed: nan"):
        load_output(tmp_path, "0000")


def test_the_ledger_is_rebuilt_from_the_folders(tmp_path):
    records = [solved(tmp_path, f"{n:04d}") for n in (2, 0, 1)]
    start_run(tmp_path, "0003", SPEC)
    (tmp_path / "a-stray-file").write_text("")
    assert list_runs(tmp_path) == sorted(records, key=lambda record: record.name)
    shutil.rmtree(tmp_path / "0001")
    assert [record.name for record in list_runs(tmp_path)] == ["0000", "0002"]
    assert find_run(tmp_path, "0001") is None


def test_a_campaign_without_runs_has_none(tmp_path):
    assert list_runs(tmp_path / "nowhere") == incomplete_runs(tmp_path / "nowhere") == []


def test_an_altered_output_is_refused(tmp_path):
    solved(tmp_path)
    path = tmp_path / "0000" / "output.npz"
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"output.npz: damaged or altered"):
        load_output(tmp_path, "0000")
    path.unlink()
    with pytest.raises(StoreError, match=r"output.npz: reading failed"):
        load_output(tmp_path, "0000")


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"succeeded": True, "colour": 1})])
def test_a_damaged_record_is_refused_by_name(tmp_path, text):
    solved(tmp_path)
    (tmp_path / "0000" / "done.json").write_text(text)
    with pytest.raises(StoreError, match=r"done.json: damaged"):
        find_run(tmp_path, "0000")


@pytest.mark.parametrize("name", ["", "..", "a/b", "0000.tmp-1", ".hidden"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path, name):
    with pytest.raises(ArgumentError, match=r"start_run.name"):
        start_run(tmp_path, name, SPEC)


def test_objects_are_not_written(tmp_path):
    work = start_run(tmp_path, "0000", SPEC)
    with pytest.raises(ArgumentError, match="must be numbers"):
        finish_run(work, {"values": np.array([None])}, seconds=1.0, cost=1.0)
    assert find_run(tmp_path, "0000") is None


def test_the_same_output_gives_the_same_checksum(tmp_path):
    first, second = solved(tmp_path, "0000"), solved(tmp_path, "0001")
    assert first.checksum == second.checksum


def test_many_runs_stay_quick(tmp_path):
    records = [solved(tmp_path, f"{n:04d}") for n in range(30)]
    assert list_runs(tmp_path) == records
