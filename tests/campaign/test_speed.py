"""What choosing and book-keeping cost."""

import resource
import time

import numpy as np
import pytest

from mflno.active import CHOICES, Sketched, View, choice_named
from mflno.campaign import Campaign, Inline, Plan
from mflno.problems import Chain


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CHOICES))
def test_choosing_among_ten_thousand_candidates_takes_seconds(name):
    generator = np.random.default_rng(0)
    candidates = generator.uniform(-1.0, 1.0, (10_000, 4))
    waves = generator.normal(size=(50, 4, 2048)).astype(np.float32)

    def draws(cases):
        flat = np.tanh(np.einsum("np,spt->snt", cases.astype(np.float32), waves[:, :, :8]))
        return np.repeat(flat, 256, axis=2)[:, :, None]

    begin, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    posterior = Sketched(draws, np.random.default_rng(1))
    view = View(candidates, done=candidates[:9], posterior=posterior, remaining=9)
    picks = choice_named(name).choose(view, 8, np.random.default_rng(2))
    seconds = time.process_time() - begin
    megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert len(set(picks.tolist())) == 8
    # The draws alone would be 4 GB at once.
    assert megabytes < 1000
    # Of processor time: the machine may be busy with other things.
    assert seconds < 10 * 2, f"{seconds:.1f} s"


def test_a_run_costs_the_campaign_little_beside_its_solver(tmp_path, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path / "cache"))
    plan = Plan("chain", budget=40, batch=40, start=40, design="sobol", method="pod-gp",
                pool="sobol:256", lower="grid:2")  # fmt: skip
    campaign = Campaign(tmp_path / "c", plan=plan)
    moments = []

    class Timed(Inline):
        slots = 1

        def submit(self, job):
            moments.append(time.process_time())
            super().submit(job)

    campaign.run(runner=Timed(Chain()), show=False)
    # Submit, solve (under a millisecond), seal, journal; of processor time, for the rest is
    # the disk's, which is asked to be sure ten times a run.
    assert float(np.median(np.diff(moments))) < 0.05
