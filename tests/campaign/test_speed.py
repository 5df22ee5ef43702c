"""What choosing and book-keeping cost."""

import pytest

from mflno.active import CHOICES
from mflno.study.bench_campaign import choosing, overhead


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CHOICES))
def test_choosing_among_ten_thousand_candidates_takes_seconds(name):
    (row,) = choosing([name])
    # Of processor time: the machine may be busy with other things.
    assert row["processor_s"] < 10
    # The draws alone would be 4 GB at once.
    assert row["more_megabytes"] < 1000


def test_a_run_costs_the_campaign_little_beside_its_solver(tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    # Submit, solve (under a millisecond), seal, journal; of processor time, for the rest is
    # the disk's, which is asked to be sure ten times a run.
    assert overhead()["processor_s"] < 0.05
