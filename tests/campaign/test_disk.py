"""A disk that fills up: one clear line, nothing lost, the same campaign once there is room."""

import resource
import shutil
import signal
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest

from mflno.campaign import Campaign, Inline, Plan, read_campaign
from mflno.errors import StoreError


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


PLAN = Plan("chain", budget=5, method="pod-gp", pool="grid:9", lower="grid:4", draws=8)


def run(path):
    campaign = Campaign(path, plan=PLAN)
    campaign.run(runner=Inline(campaign.problem), show=False)
    return campaign


@contextmanager
def small_disk(path, kilobytes):
    """A file system of its own; gives what changes its size."""
    path.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting is not allowed")

    def resize(kilobytes):
        again = ["mount", "-o", f"remount,size={kilobytes}k", str(path)]
        subprocess.run(again, capture_output=True, check=True)

    try:
        yield resize
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        return run(tmp_path_factory.mktemp("reference") / "c")


def equal(first, second):
    assert [run.case for run in first.history.runs] == [run.case for run in second.history.runs]
    one, other = (each.surrogate.predict([[3.0, 0.3]], draws=2) for each in (first, second))
    assert np.array_equal(one.draws, other.draws)


def test_a_full_disk_ends_with_one_line_and_room_lets_it_go_on(reference, tmp_path):
    used = sum(f.stat().st_size for f in reference.path.rglob("*") if f.is_file()) // 1024
    stops = 0
    with small_disk(tmp_path / "disk", 64) as resize:
        for kilobytes in range(64, 4 * used, max(32, used // 6)):
            resize(kilobytes)
            try:
                campaign = run(tmp_path / "disk" / "c")
            except StoreError as error:
                stops += "the disk is full" in str(error)
                continue
            equal(campaign, reference)
            break
        else:
            pytest.fail("it must end once there is room enough")
        shutil.rmtree(tmp_path / "disk" / "c")
    assert stops >= 3


@contextmanager
def largest_file(size):
    """Writes beyond this size fail, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_writes_that_fail_lose_nothing_that_was_finished(reference, tmp_path):
    for size in (2_000, 6_000, 20_000, 60_000):
        with largest_file(size), pytest.raises(StoreError, match="failed"):
            run(tmp_path / "c")
    assert read_campaign(tmp_path / "c").events
    equal(run(tmp_path / "c"), reference)
