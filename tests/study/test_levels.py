"""Ways to spend the same money on all levels: none spends more, and all begin alike."""

import json

import numpy as np
import pytest

from mflno.campaign import Campaign, Inline, Plan
from mflno.cli import main
from mflno.problems import study_cases
from mflno.study.levels import Shop, bought, fixed
from mflno.study.middle import design


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MFLNO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.mark.parametrize("money", [4, 9])
def test_no_way_spends_more_than_there_is(money):
    shop = Shop.opened("chain")
    order = design(shop.problem, shop.levels[-1].cases, 99, 0).tolist()
    plan = Plan("chain", budget=money, levels="buy")
    for picks in (fixed(shop, money, order), bought(shop, plan, order)):
        paid = sum(price * len(own) for price, own in zip(shop.prices, picks, strict=True))
        assert money - 1 < paid <= money + 1e-9
        assert all(len(set(own)) == len(own) for own in picks)


def test_what_the_study_buys_is_what_a_campaign_buys(tmp_path):
    shop = Shop.opened("chain")
    words = {
        "budget": 4,
        "levels": "buy",
        "pool": "study",
        "method": "mf-gp",
        "design": "maximin",
    }
    campaign = Campaign(tmp_path, plan=Plan("chain", **words))
    campaign.run(runner=Inline(campaign.problem), show=False)
    runs = campaign.history.runs
    pool = study_cases(campaign.problem).candidates
    rows = {case.tobytes(): row for row, case in enumerate(pool)}
    started = [rows[np.array(run.case).tobytes()] for run in runs[:3]]
    found = bought(shop, campaign.plan, started)
    wanted = [[r for r in runs if r.level == level] for level in range(3)]
    for own, told in zip(found, wanted, strict=True):
        assert own == [rows[np.array(run.case).tobytes()] for run in told]


def test_the_command_prints_a_row_for_every_way(capsys):
    line = ["middle", "chain", "--buy", "--budgets", "4", "--seeds", "1"]
    assert main([*line, "--json"]) == 0
    rows = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert [row["way"] for row in rows] == ["buy", "fixed", "top"]
    assert rows[2]["runs"] == [0, 0, 4]
    assert rows[0]["mean"] < rows[2]["mean"]
