"""Bad input is named: argument, rule, what came, remedy."""

import pytest
import torch

from mflno.errors import ArgumentError
from mflno.operators import build_operator
from mflno.operators.checking import check_operator_input

GRID = torch.linspace(0, 5, 64)
GOOD = torch.zeros(3, 2, 64)
BENT = GRID.clone()
BENT[20] += 0.02
HOLE = GOOD.clone()
HOLE[1, 0, 5] = float("nan")

BAD = {
    "non-uniform grid": (GOOD, BENT, "grid: must rise in uniform steps", "interpolate"),
    "falling grid": (GOOD, GRID.flip(0), "grid: must rise", "interpolate"),
    "wrong channels": (
        GOOD[:, :1],
        GRID,
        r"inputs: must have 2 channels.*\(3, 1, 64\)",
        "stack",
    ),
    "empty batch": (GOOD[:0], GRID, "inputs: must hold at least one case", "selection"),
    "NaN": (HOLE, GRID, "inputs: must be finite", "failed cases"),
    "infinity": (HOLE.nan_to_num(torch.inf), GRID, "inputs: must be finite", "failed cases"),
    "integers": (GOOD.int(), GRID, "inputs: must be a floating-point.*int32", r"\.float\(\)"),
    "integer grid": (GOOD, torch.arange(64), "grid: must be a floating-point", r"\.float\(\)"),
    "complex": (GOOD * 1j, GRID, "inputs: must be a floating-point", r"\.float\(\)"),
    "other device": (GOOD.to("meta"), GRID, "inputs: must be on the operator's device", "move"),
    "grid elsewhere": (GOOD, GRID.to("meta"), "grid: must be on the operator's", "move"),
    "other type": (GOOD.double(), GRID, "inputs: must have the operator's type", "convert"),
    "one axis less": (GOOD[0], GRID, "inputs: must have axes", "reshape"),
    "short grid": (GOOD, GRID[:63], "grid: must be one row of times", "own grid"),
    "two grids": (GOOD, GRID.expand(3, -1), "grid: must be one row", "own grid"),
    "too few points": (GOOD[..., :15], GRID[:15], "grid: needs at least 16 times", "finely"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    inputs, grid, rule, remedy = BAD[name]
    # Asked directly: the tests' own shape checks would speak before the operator does.
    with pytest.raises(ArgumentError, match=rf"^Net\.{rule}.*; .*{remedy}") as caught:
        check_operator_input("Net", inputs, grid, torch.zeros(3, 2))
    assert str(caught.value).count(";") >= 2


def test_the_operator_asks():
    net = build_operator(2, 1, generator=torch.Generator())
    with pytest.raises(ArgumentError, match=r"LaplaceOperator\.inputs: must be finite"):
        net(HOLE, GRID)


def test_good_input_passes():
    net = build_operator(2, 1, generator=torch.Generator())
    single = torch.linspace(0, 20, 100_000)
    assert net(GOOD, GRID).shape == (3, 1, 64)
    assert net(torch.zeros(1, 2, 100_000), single).isfinite().all()
