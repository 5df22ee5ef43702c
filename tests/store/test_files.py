"""Whole or not at all, also on a full disk."""

import errno
import os
import subprocess

import numpy as np
import pytest

from mflno.errors import StoreError
from mflno.store import (
    Journal,
    fail_run,
    files,
    find_run,
    finish_run,
    incomplete_runs,
    read_journal,
    start_run,
    write_bytes_atomic,
    write_text_atomic,
)


def test_text_is_replaced_whole_and_nothing_is_left_over(tmp_path):
    write_text_atomic(tmp_path / "plan", "old")
    write_text_atomic(tmp_path / "plan", "μ = 1")
    assert (tmp_path / "plan").read_text() == "μ = 1"
    assert [p.name for p in tmp_path.iterdir()] == ["plan"]


def test_file_permissions_follow_the_users_umask(tmp_path):
    before = os.umask(0o022)
    try:
        write_text_atomic(tmp_path / "plan", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "plan").stat().st_mode & 0o777 == 0o644


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"gone/plan: writing failed: No such file"):
        write_text_atomic(tmp_path / "gone" / "plan", "x")


def test_bytes_reach_the_disk_before_the_name_does(tmp_path, monkeypatch):
    calls = []
    real_sync, real_replace = os.fsync, type(tmp_path).replace
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("fsync"), real_sync(fd))[1])
    monkeypatch.setattr(
        type(tmp_path), "replace", lambda a, b: (calls.append("rename"), real_replace(a, b))[1]
    )
    write_text_atomic(tmp_path / "plan", "x")
    assert calls == ["fsync", "rename", "fsync"]


@pytest.fixture
def full_write(monkeypatch):
    """A disk that takes half of what is written, then is full; call to switch it on."""
    real = os.write

    def fill():
        def write(handle, data):
            if len(data) > 1:
                return real(handle, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", write)

    return fill


def test_a_short_write_is_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, bytes(data)[:3]))
    write_bytes_atomic(tmp_path / "plan", b"0123456789")
    assert (tmp_path / "plan").read_bytes() == b"0123456789"


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path, full_write):
    write_text_atomic(tmp_path / "plan", "old")
    full_write()
    with pytest.raises(StoreError, match=r"plan: writing failed: the disk is full.*free some"):
        write_text_atomic(tmp_path / "plan", "a longer text")
    assert [p.name for p in tmp_path.iterdir()] == ["plan"]
    assert (tmp_path / "plan").read_text() == "old"


def test_a_full_disk_leaves_the_journal_as_it_was(tmp_path, full_write, monkeypatch):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.append({"n": 0})
        with monkeypatch.context():
            full_write()
            with pytest.raises(StoreError, match="appending failed: the disk is full"):
                journal.append({"n": 1, "text": "x" * 100})
        monkeypatch.undo()
        journal.append({"n": 2})
    assert list(read_journal(path)) == [{"n": 0}, {"n": 2}]
    assert path.read_bytes().count(b"\n") == 2


@pytest.fixture
def small_disk(tmp_path):
    """64 KiB of disk, where we may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_really_full_loses_nothing(small_disk):
    write_text_atomic(small_disk / "plan", "old")
    with Journal(small_disk / "journal.jsonl") as journal:
        journal.append({"n": 0})
        with pytest.raises(StoreError, match="the disk is full"):
            journal.append({"text": "x" * 100_000})
        with pytest.raises(StoreError, match="the disk is full"):
            write_text_atomic(small_disk / "plan", "y" * 100_000)
        work = start_run(small_disk / "runs", "0000", {"case": [1.0]})
        with pytest.raises(StoreError, match="the disk is full"):
            finish_run(work, {"values": np.zeros(20_000)}, seconds=1.0, cost=1.0)
        assert find_run(small_disk / "runs", "0000") is None
        assert incomplete_runs(small_disk / "runs") == [work]
        finish_run(work, {"values": np.zeros(20)}, seconds=1.0, cost=1.0)
        journal.append({"n": 1})
    assert (small_disk / "plan").read_text() == "old"
    assert list(read_journal(small_disk / "journal.jsonl")) == [{"n": 0}, {"n": 1}]
    assert find_run(small_disk / "runs", "0000") is not None


def test_a_quota_counts_as_a_full_disk():
    error = files.failure(files.Path("x"), "writing", OSError(errno.EDQUOT, "Quota"))
    assert "the disk is full" in str(error)


def test_a_failed_run_needs_no_output(tmp_path):
    work = start_run(tmp_path, "0000", {})
    assert not fail_run(work, "nan", "at t = 3", seconds=1.0, cost=0.0).succeeded
