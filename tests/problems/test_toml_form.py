"""A problem as TOML: whatever stands for a value, the answer is a problem or one line."""

import copy
import tomllib
from typing import Any

import pytest

from mflno.errors import ArgumentError
from mflno.problems import problem_from_toml

PLAN = """
name = "swing"
version = "1"
outputs = ["u"]
forcing = "math:sin"
parameters = { c = { low = 0.1, high = 0.5, unit = "" }, k = { low = 4, high = 9 } }
[[levels]]
name = "function"
grid = { start = 0, stop = 10.0, points = 64 }
solver = { kind = "function", function = "math:cos", limit = 5.0, environment = { A = "1" } }
[[levels]]
name = "server"
cost = 1
grid = { stop = 10.0, points = 64 }
[levels.solver]
kind = "umbridge"
url = "http://localhost:4"
limit = 60
config = { points = 7 }
sizes = [1, 1]
time = 0
[[levels]]
name = "program"
cost = 40
grid = { stop = 10, points = 101 }
[levels.solver]
kind = "executable"
command = ["true", "${c}"]
templates = { "deck.inp" = "deck.txt" }
output = { file = "out.csv", columns = ["u"], time = "t", format = "csv", delimiter = "," }
limit = 60
files = ["deck.txt"]
ignores = ["k"]
success = [0]
environment = { A = "${c}" }
folder = "."
"""
WILD = ("", "x", -1, 10**30, 10**12, float("nan"), float("inf"), True, [], [1], {}, {"a": 1},
        [["${"]], "../../etc", "${c:q}", "math:pi", "bad.py:f", "broken.py:f")  # fmt: skip


def places(table, at=()):
    """Where something stands in a table of tables and lists."""
    pairs = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in pairs:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "deck.txt").write_text("k = ${k}\n")
    (tmp_path / "bad.py").write_text("raise RuntimeError('boom')\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_plan_itself_is_sound(home):
    assert [level.name for level in problem_from_toml(tomllib.loads(PLAN), home).levels] == [
        "function", "server", "program"]  # fmt: skip


def told(table, home):
    """The one line that refuses a table, or nothing."""
    try:
        problem_from_toml(table, home)
    except ArgumentError as error:
        return str(error)
    return ""


def test_no_value_gives_anything_but_a_problem_or_one_line(home):
    plan = tomllib.loads(PLAN)
    refusals = []
    for place in places(plan):
        for value in WILD:
            table = copy.deepcopy(plan)
            inner: Any = table
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = copy.deepcopy(value)
            refusals.append(told(table, home))
    assert sum(map(bool, refusals)) > 600
    assert not any("\n" in line or len(line) > 1000 for line in refusals)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"math:cos"', '"bad.py:f"', r"importable; got RuntimeError: boom \(bad.py:1\)"),
        ('"math:cos"', '"broken.py:f"', "importable; got SyntaxError: invalid syntax"),
        ("points = 101", "points = 1000000000000", "points: must be 4 or more, up to 10000000"),
        ("stop = 10,", "stop = inf,", "grid.stop: must be a number that is finite; got inf"),
        (
            "high = 9",
            "high = nan",
            "parameters.k.high: must be a number that is finite; got nan",
        ),
        ('kind = "executable"', "kind = []", "kind: must be one of function, executable"),
        ('name = "swing"', 'name = " "', "name: must not be empty"),
        ("sizes = [1, 1]", "sizes = [3, -1]", "sizes: must add up to 2 parameters"),
    ],
)
def test_what_is_wrong_is_named(home, old, new, words):
    assert PLAN.count(old) == 1
    with pytest.raises(ArgumentError, match=words):
        problem_from_toml(tomllib.loads(PLAN.replace(old, new)), home)
