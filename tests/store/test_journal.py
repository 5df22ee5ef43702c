"""The journal survives kills, torn tails and second writers."""

import errno
import json
import multiprocessing
import os
import platform
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mflno.errors import ArgumentError, StoreError
from mflno.store import Journal, Lock, owner_of, process_start, read_journal
from mflno.testing import check_journal

HOLD = """
import sys, time
from mflno.store import Journal
with Journal(sys.argv[1]) as journal:
    journal.append({"n": -1})
    print("held", flush=True)
    time.sleep(60)
"""
WRITE = """
import sys
from mflno.store import Journal
with Journal(sys.argv[1]) as journal:
    count = sum(1 for _ in journal.read())
    while True:
        journal.append({"n": count, "text": "x" * 300})
        count += 1
        print(count, flush=True)
"""


def start(code, path):
    command = [sys.executable, "-c", code, str(path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    child.stdout.readline()
    return child


def end(child):
    child.kill()
    child.communicate()


def holder(path):
    return owner_of(path) or {}


def test_the_journal_keeps_its_contract(tmp_path):
    check_journal(tmp_path)


def test_events_come_back_in_order_and_over_sessions(tmp_path):
    path = tmp_path / "j"
    events = [{"n": n, "text": "ü\n\u2028", "nested": {"case": [0.1, n]}} for n in range(5)]
    for part in (events[:2], events[2:]):
        with Journal(path) as journal:
            for event in part:
                journal.append(event)
    assert list(read_journal(path)) == events


@pytest.mark.parametrize("cut", [1, 5, 20, 39])
def test_a_torn_tail_is_overlooked_by_readers_and_cut_by_the_next_writer(tmp_path, cut):
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.append({"n": 0})
        journal.append({"n": 1, "text": "x" * 20})
    path.write_bytes(path.read_bytes()[:-cut])
    size = path.stat().st_size
    assert list(read_journal(path)) == [{"n": 0}]
    assert path.stat().st_size == size
    with Journal(path) as journal:
        assert path.read_bytes() == b'{"n": 0}\n'
        journal.append({"n": 2})
    assert list(read_journal(path)) == [{"n": 0}, {"n": 2}]


def test_a_half_line_that_could_not_be_undone_is_cut_by_the_next_append(tmp_path, monkeypatch):
    path, write = tmp_path / "j", os.write

    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    with Journal(path) as journal:
        journal.append({"n": 0})
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda fd, data: (write(fd, data[:4]), broken()))
            patch.setattr(os, "ftruncate", broken)
            with pytest.raises(StoreError, match="Input/output error"):
                journal.append({"n": 1})
        assert path.read_bytes() == b'{"n": 0}\n{"n"'
        journal.append({"n": 2})
    assert list(read_journal(path)) == [{"n": 0}, {"n": 2}]


@pytest.mark.parametrize("tail", [b"", b"half", b"\0" * 5000, b"y" * 20_000])
def test_a_journal_of_nothing_but_a_tail_starts_empty(tmp_path, tail):
    (tmp_path / "j").write_bytes(tail)
    with Journal(tmp_path / "j") as journal:
        assert list(journal.read()) == []
        journal.append({"n": 0})
    assert list(read_journal(tmp_path / "j")) == [{"n": 0}]


@pytest.mark.parametrize("bad", [b'{"n": \n', b"[1]\n", b"\xff\xfe\n", b"\n"])
def test_damage_in_the_middle_names_the_line(tmp_path, bad):
    path = tmp_path / "j"
    path.write_bytes(b'{"n": 0}\n' + bad + b'{"n": 2}\n')
    with pytest.raises(StoreError, match="line 2 is damaged"):
        list(read_journal(path))


@pytest.mark.parametrize("event", [{"x": float("nan")}, {"x": np.float32(1)}, {"x": {1, 2}}])
def test_an_event_that_is_not_json_is_refused_and_leaves_no_trace(tmp_path, event):
    with Journal(tmp_path / "j") as journal, pytest.raises(ArgumentError, match="must be JSON"):
        journal.append(event)
    assert (tmp_path / "j").read_bytes() == b""


def test_a_closed_journal_takes_nothing(tmp_path):
    journal = Journal(tmp_path / "j")
    journal.close()
    journal.close()
    with pytest.raises(StoreError, match="closed"):
        journal.append({})


def test_each_append_waits_for_the_disk(tmp_path, monkeypatch):
    synced = []
    with Journal(tmp_path / "j") as journal:
        real = os.fsync
        monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd))[1])
        journal.append({"n": 0})
        assert synced == [journal.handle]
        monkeypatch.undo()


def test_an_interrupted_append_is_undone(tmp_path, monkeypatch):
    with Journal(tmp_path / "j") as journal:
        journal.append({"n": 0})
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                journal.append({"n": 1})
        journal.append({"n": 2})
    assert list(read_journal(tmp_path / "j")) == [{"n": 0}, {"n": 2}]


def test_a_second_driver_is_refused_by_the_first_ones_name(tmp_path):
    child = start(HOLD, tmp_path / "j")
    try:
        words = rf"already driven by process {child.pid} on {platform.node()} since 20"
        with pytest.raises(StoreError, match=words):
            Journal(tmp_path / "j")
        assert list(read_journal(tmp_path / "j")) == [{"n": -1}]
    finally:
        end(child)


def test_two_writers_in_one_process_are_refused_too(tmp_path):
    with Journal(tmp_path / "j"), pytest.raises(StoreError, match="already driven"):
        Journal(tmp_path / "j")
    with Journal(tmp_path / "j") as journal:
        journal.append({})


def test_the_lock_ends_with_a_killed_owner(tmp_path):
    child = start(HOLD, tmp_path / "j")
    end(child)
    assert holder(tmp_path / "j.lock")["pid"] == child.pid
    with Journal(tmp_path / "j") as journal:
        assert list(journal.read()) == [{"n": -1}]
        assert holder(tmp_path / "j.lock")["pid"] == os.getpid()
    assert owner_of(tmp_path / "j.lock") is None


FORK = """
import os, sys, time
from mflno.store import Journal
journal = Journal(sys.argv[1])
if os.fork() == 0:
    assert not journal.lock.held
    print(os.getpid(), flush=True)
    time.sleep(60)
time.sleep(60)
"""


def test_a_forked_child_does_not_keep_its_dead_parents_lock(tmp_path):
    command = [sys.executable, "-c", FORK, str(tmp_path / "j")]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    orphan = int(child.stdout.readline())
    with pytest.raises(StoreError, match="already driven"):
        Journal(tmp_path / "j")
    child.kill()
    child.wait()
    try:
        assert process_start(orphan) is not None
        Journal(tmp_path / "j").close()
    finally:
        os.kill(orphan, signal.SIGKILL)
        child.communicate()


def test_a_live_owner_counts_where_the_disk_grants_every_lock(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        owner = {"host": platform.node(), "pid": child.pid, "since": "today"}
        path = tmp_path / "l"
        path.write_text(json.dumps({**owner, "start": process_start(child.pid)}))
        with pytest.raises(
            StoreError, match=f"the box is already driven by process {child.pid}"
        ):
            Lock(path, what="the box")
        # The same number, given out again to another process, is not the owner.
        path.write_text(json.dumps({**owner, "start": "1"}))
        Lock(path, what="the box").release()
    finally:
        child.kill()
        child.wait()
    path.write_text(json.dumps({**owner, "start": "1"}))
    Lock(path, what="the box").release()


def test_a_process_start_tells_a_process_from_its_successor():
    mine = process_start(os.getpid())
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    theirs = process_start(child.pid)
    child.kill()
    while process_start(child.pid) is not None:
        time.sleep(0.01)
    child.wait()
    assert mine is not None
    assert theirs is not None
    assert process_start(child.pid) is None


def test_garbage_in_the_lock_file_does_not_block(tmp_path):
    (tmp_path / "j.lock").write_text("\0\0 not json")
    Journal(tmp_path / "j").close()


def test_kills_at_random_moments_lose_nothing_that_was_acknowledged(tmp_path):
    path, rng = tmp_path / "j", np.random.default_rng(0)
    acknowledged = 0
    for _ in range(4):
        child = start(WRITE, path)
        time.sleep(rng.uniform(0.0, 0.05))
        child.send_signal(signal.SIGKILL)
        told = child.communicate()[0].split()
        acknowledged = max([acknowledged, *map(int, told)])
        numbers = [event["n"] for event in read_journal(path)]
        assert numbers == list(range(len(numbers)))
        assert len(numbers) >= acknowledged
    assert acknowledged > 0


def test_a_forked_child_cannot_append(tmp_path):
    with Journal(tmp_path / "j") as journal:
        context = multiprocessing.get_context("fork")
        child = context.Process(target=journal.append, args=({"n": 9},))
        child.start()
        child.join()
        assert child.exitcode == 1
        journal.append({"n": 0})
    assert list(read_journal(tmp_path / "j")) == [{"n": 0}]
