"""Small campaigns from their first run to their last, and everything that can interrupt one."""

import json
import shutil

import numpy as np
import pytest

from mflno.campaign import Campaign, Inline, Plan, read_campaign
from mflno.campaign.history import JOURNAL, RUNS
from mflno.errors import ArgumentError, StoreError
from mflno.multifidelity import PodGP
from mflno.problems import Chain
from mflno.store import Journal, find_run


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    # One cache for all: the chain's lower levels are the same in every test.
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


def small(problem="chain", **words):
    return Plan(problem, **{"budget": 6, "method": "pod-gp", "pool": "grid:9",
                            "lower": "grid:4", "draws": 16, **words})  # fmt: skip


def done(path, plan=None, **words):
    campaign = Campaign(path, plan=plan or small())
    campaign.run(runner=Inline(campaign.problem), show=False, **words)
    return campaign


def picks(history):
    return [(run.name, run.case, run.level, run.round) for run in history.runs]


def same_answers(first, second):
    cases = [[2.5, 0.3], [5.0, 0.15]]
    one, two = (each.surrogate.predict(cases, draws=3) for each in (first, second))
    assert np.array_equal(one.mean, two.mean)
    assert np.array_equal(one.std, two.std)
    assert np.array_equal(one.draws, two.draws)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        return done(tmp_path_factory.mktemp("reference") / "c")


def test_a_campaign_spends_its_budget_and_tells_all(reference):
    history = reference.history
    assert [run.state for run in history.runs] == ["done"] * 6
    assert [run.round for run in history.runs] == [0, 0, 0, 1, 1, 2]
    assert len({run.case for run in history.runs}) == 6
    assert [len(fit.runs) for fit in history.fits] == [3, 5, 6]
    assert [round.fit for round in history.rounds] == [None, 0, 1]
    assert all(fit.surrogate and fit.surrogate.exists() for fit in history.fits)
    assert history.state.stopped == "the budget of 6 runs is spent"
    assert not history.at_work
    high = history.trajectories()
    assert np.array_equal(high.values, Chain().solve_many(high.cases, 2))
    assert len(history.trajectories(0)) == 16


def test_returned_runs_are_held_against_what_was_predicted(reference):
    history = reference.history
    returned = [each for fit in history.fits for each in fit.returned]
    assert [each["run"] for each in returned] == ["0003", "0004", "0005"]
    from mflno.multifidelity import load

    before = load(history.fits[0].surrogate, Chain())
    run = history.state.runs["0003"]
    found, truth = before.predict([run.case]), history.output(run)["values"]
    error = np.linalg.norm(found.mean[0] - truth) / np.linalg.norm(truth)
    assert returned[0]["error"] == pytest.approx(error)
    spread = np.linalg.norm(found.std[0]) / np.linalg.norm(found.mean[0])
    assert returned[0]["spread"] == pytest.approx(spread)


def test_the_same_plan_gives_the_same_campaign(reference, tmp_path):
    again = done(tmp_path / "c")
    assert picks(again.history) == picks(reference.history)
    same_answers(again, reference)


def test_a_finished_campaign_does_nothing_more(tmp_path):
    campaign = done(tmp_path / "c")
    before = (tmp_path / "c" / JOURNAL).read_bytes()
    Campaign(tmp_path / "c").run(show=False)
    assert (tmp_path / "c" / JOURNAL).read_bytes() == before
    more = Campaign(tmp_path / "c", plan=small(budget=8))
    more.run(runner=Inline(campaign.problem), show=False)
    assert more.history.state.known == 8
    assert read_campaign(tmp_path / "c").plan.budget == 8


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", range(1, 20, 3))
def test_broken_off_after_any_event_it_ends_the_same(after, reference, tmp_path, monkeypatch):
    campaign, count = Campaign(tmp_path / "c", plan=small()), 0
    append = Journal.append

    def counted(journal, event):
        nonlocal count
        count += 1
        if count > after:
            raise Interrupted
        append(journal, event)

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "append", counted)
        with pytest.raises(Interrupted):
            campaign.run(runner=Inline(campaign.problem), show=False)
    resumed = done(tmp_path / "c")
    assert picks(resumed.history) == picks(reference.history)
    same_answers(resumed, reference)


def test_a_torn_journal_is_read_and_goes_on(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    journal = tmp_path / "c" / JOURNAL
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:9]) + lines[9][:20])
    assert len(read_campaign(tmp_path / "c").events) == 9
    resumed = done(tmp_path / "c")
    assert picks(resumed.history) == picks(reference.history)
    same_answers(resumed, reference)


def test_a_deleted_run_is_solved_again(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    shutil.rmtree(tmp_path / "c" / RUNS / "0001")
    resumed = done(tmp_path / "c")
    assert find_run(tmp_path / "c" / RUNS, "0001")
    assert picks(resumed.history) == picks(reference.history)
    same_answers(resumed, reference)


def test_a_deleted_fit_is_made_again(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    shutil.rmtree(tmp_path / "c" / "fits")
    same_answers(Campaign(tmp_path / "c"), reference)


def test_a_damaged_output_is_named_with_its_remedy(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    path = tmp_path / "c" / RUNS / "0001" / "output.npz"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreError, match="delete the run's folder to solve again"):
        done(tmp_path / "c", small(budget=8))


def test_a_lost_journal_is_rebuilt_from_the_run_folders(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    (tmp_path / "c" / JOURNAL).unlink()
    rebuilt = done(tmp_path / "c")
    assert "submitted" not in {event["event"] for event in rebuilt.history.events}
    assert picks(rebuilt.history) == picks(reference.history)
    same_answers(rebuilt, reference)


def test_a_second_driver_is_refused_by_name(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")
    with (
        Journal(tmp_path / "c" / JOURNAL),
        pytest.raises(StoreError, match="already driven by process"),
    ):
        done(tmp_path / "c")
    assert read_campaign(tmp_path / "c").state.known == 6


@pytest.mark.parametrize(
    "words", [{"seed": 1}, {"problem": "lorenz"}, {"choice": "topb"}, {"batch": 3}]
)
def test_another_plan_is_refused_with_the_field_named(words, reference):
    with pytest.raises(ArgumentError, match=f"{next(iter(words))} was .* began"):
        Campaign(reference.path, plan=small(**words))


def test_another_box_is_refused_and_another_version_is_told(reference, tmp_path):
    shutil.copytree(reference.path, tmp_path / "c")

    class Newer(Chain):
        version = "2"

    campaign = Campaign(tmp_path / "c", Newer())
    campaign.run(runner=Inline(campaign.problem), show=False)
    remarks = [event["remark"] for event in campaign.history.events if "remark" in event]
    assert remarks == ["the problem changed from version 1 to 2"]

    class Wider(Chain):
        parameters = (Chain.parameters[0], Chain.parameters[0].__class__("c", 0.1, 0.9))

    with pytest.raises(ArgumentError, match="same parameters"):
        Campaign(tmp_path / "c", Wider()).run(runner=Inline(Wider()), show=False)


def test_overlap_keeps_several_runs_at_work_and_conditions_on_them(tmp_path):
    class Backwards(Inline):
        """Runs come back in the wrong order, the first one last of all."""

        slots = 3

        def ended(self, timeout):
            later = [job for job in self.ready if job.spec["run"] != "0000"]
            back = later[-1:] or self.ready[:1]
            self.ready = [job for job in self.ready if job not in back]
            return back

    campaign = Campaign(tmp_path / "c", plan=small(overlap=2, budget=7))
    campaign.run(runner=Backwards(campaign.problem), show=False)
    order = [event["run"] for event in campaign.history.events if event["event"] == "returned"]
    assert order.index("0000") == 6
    assert len({run.case for run in campaign.history.runs}) == 7
    assert campaign.history.state.fitted == campaign.history.state.done


def test_every_choice_drives_a_campaign(tmp_path):
    for choice in ("topb", "ivr", "sobol", "random", {"name": "guard", "bold": "lcmd"}):
        name = choice if isinstance(choice, str) else "guard"
        campaign = done(tmp_path / name, small(choice=choice, budget=5))
        assert len({run.case for run in campaign.history.runs}) == 5


def test_picks_are_moved_off_the_pool_where_the_plan_says_so(tmp_path):
    grid = {tuple(case) for case in done(tmp_path / "a").history.trajectories(2).cases}
    for choice in ("auto", "ivr"):
        campaign = done(tmp_path / f"b-{choice}", small(refine=True, choice=choice))
        cases = campaign.history.trajectories(2).cases
        assert len({tuple(case) for case in cases} - grid) >= 4
        gaps = np.linalg.norm((cases[:, None] - cases[None]) / [4.0, 0.4], axis=-1)
        assert gaps[np.triu_indices(6, 1)].min() > 0.05


def test_a_pool_that_is_used_up_ends_the_campaign(tmp_path):
    (tmp_path / "p.csv").write_text(
        "c,kappa\n" + "".join(f"0.2,{2 + k / 2}\n" for k in range(5))
    )
    plan = small(pool="p.csv", folder=str(tmp_path), budget=9)
    history = done(tmp_path / "c", plan).history
    assert history.state.known == 5
    assert history.state.stopped.startswith("every candidate was asked for")


def test_a_goal_in_the_users_units_stops_early(tmp_path):
    easy = done(tmp_path / "a", small(goal=1e6, budget=9)).history
    assert easy.state.stopped == "the goal is met"
    assert easy.state.known == 5
    hard = done(tmp_path / "b", small(goal=1e-9, budget=7)).history
    assert hard.state.known == 7
    assert "not below" in hard.fits[-1].verdict


def test_a_kill_before_the_first_event_leaves_nothing_begun(tmp_path):
    for text in ("", '{"event": "crea'):
        folder = tmp_path / f"c{len(text)}"
        folder.mkdir()
        (folder / JOURNAL).write_text(text)
        with pytest.raises(StoreError, match="no campaign in here"):
            read_campaign(folder)
        assert done(folder, small(budget=3, start=3)).history.state.known == 3


def test_words_that_would_fail_after_the_first_runs_fail_before_them(tmp_path):
    wrong = {"method": "pod-pg", "pool": "grid:none", "lower": "none.csv",
             "choice": {"name": "ivr", "relativ": True}}  # fmt: skip
    for name, value in wrong.items():
        with pytest.raises(ArgumentError):
            done(tmp_path / name, small(**{name: value}))
        assert not (tmp_path / name).exists()


def test_a_later_fit_begins_where_the_one_before_ended_and_again_after_a_kill(
    tmp_path, monkeypatch
):
    met = []
    fit = PodGP.fit

    def seen(method, data, *, warm=None, **words):
        met.append((len(data.high), warm is not None))
        return fit(method, data, warm=warm, **words)

    monkeypatch.setattr(PodGP, "fit", seen)
    done(tmp_path / "c")
    assert met == [(3, False), (5, True), (6, True)]
    (tmp_path / "c" / "fits" / "2" / "surrogate.mflno").unlink()
    assert Campaign(tmp_path / "c").surrogate.method == "pod-gp"
    assert met[3:] == [(6, True)]


def test_no_campaign_is_a_clear_error(tmp_path):
    with pytest.raises(StoreError, match="no campaign"):
        read_campaign(tmp_path)
    with pytest.raises(ArgumentError, match="must hold a campaign"):
        Campaign(tmp_path / "c")


def test_journal_and_spec_are_plain_json(reference):
    for line in (reference.path / JOURNAL).read_text().splitlines():
        assert "event" in json.loads(line)
    spec = json.loads((reference.path / RUNS / "0003" / "spec.json").read_text())
    assert (spec["run"], spec["level"], spec["problem"]) == ("0003", 2, "chain")
