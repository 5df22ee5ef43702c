"""Plans as objects and as files."""

import pytest

import mflno
from mflno.campaign import Plan, plan_of, read_plan
from mflno.campaign.plan import plan_text
from mflno.errors import ArgumentError

TABLE = {
    "name": "decay",
    "parameters": {"a": {"low": 0.1, "high": 1.0, "unit": "1/s"}},
    "levels": [
        {"name": name, "cost": cost, "grid": {"stop": 1.0, "points": points},
         "solver": {"kind": "function", "function": "own.py:solve"}}
        for name, cost, points in (("coarse", 1.0, 5), ("fine", 10.0, 9))
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "plan",
    [
        Plan("lorenz", folder="/x"),
        Plan("duffing", budget=11, goal=0.02, time_limit=3.5, jobs=4, folder="/x"),
        Plan(TABLE, choice={"name": "ivr", "relative": False}, folder="/x"),
        Plan(
            "lorenz", runner={"name": "dask", "options": {"queue": 'a "b" \\ ü'}}, folder="/x"
        ),
    ],
)
def test_a_plan_survives_its_file(plan, tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text(plan_text(plan), encoding="utf-8")
    assert read_plan(path) == plan


def test_a_problems_own_file_is_a_plan_and_paths_start_there(tmp_path):
    assert plan_of(TABLE, tmp_path).problem == TABLE
    path = tmp_path / "plan.toml"
    path.write_text('problem = "own.py:problem"\nbudget = 5\n', encoding="utf-8")
    assert read_plan(path).problem == f"{tmp_path}/own.py:problem"
    path.write_text('problem = "own.toml"\n', encoding="utf-8")
    assert read_plan(path).problem == f"{tmp_path}/own.toml"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"budget": 0}, "Plan.budget"),
        ({"batch": 1.5}, "Plan.batch"),
        ({"start": True}, "Plan.start"),
        ({"goal": -1.0}, "Plan.goal"),
        ({"time_limit": "soon"}, "Plan.time_limit"),
        ({"quantile": 1.0}, "Plan.quantile"),
        ({"design": "latin"}, "Plan.design"),
        ({"choice": "best"}, "Plan.choice"),
        ({"choice": {"relative": True}}, "a table needs a name"),
        ({"buget": 9}, "'buget'"),
        ({"problem": ""}, "Plan.problem"),
    ],
)
def test_a_wrong_plan_names_its_fault(words, said):
    with pytest.raises(ArgumentError, match=r"plan|Plan") as caught:
        plan_of({"problem": "lorenz", **words}, "/")
    assert said in str(caught.value)


def test_what_may_change_and_what_not():
    plan = Plan("lorenz", folder="/")
    assert plan.different(Plan("lorenz", budget=20, goal=0.1, jobs=3, folder="/y")) == []
    assert plan.different(Plan("lorenz", seed=1, batch=3, folder="/")) == ["batch", "seed"]


def test_names_are_at_the_front_door():
    assert mflno.Plan is Plan
    assert mflno.Campaign.__name__ == "Campaign"
