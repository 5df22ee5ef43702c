"""The export against the surrogate it stands for."""

import numpy as np
import pytest

from mflno.errors import ArgumentError
from mflno.report.export import basis_rows, exported, nodes, told

GRID = np.linspace(0.0, 10.0, 200)


def wavy(cases):
    """A surrogate in closed form: amplitude, frequency and damping move with the case."""
    x = cases[:, :, None]
    first, last = x[:, 0], x[:, -1]
    mean = (1 + 0.5 * first) * np.sin((2 + 0.3 * last) * GRID) * np.exp(-0.05 * GRID)
    spread = 0.02 + 0.01 * (first - last) ** 2 * GRID / 10
    return mean[:, None], spread[:, None]


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_export_is_as_exact_as_it_says(axes):
    found = exported(wavy, axes)
    fresh = np.random.default_rng(1).uniform(-1, 1, (200, axes))
    (mean, spread), (true_mean, true_spread) = found.predict(fresh), wavy(fresh)
    size = lambda values: np.sqrt(np.square(values).mean((1, 2)))
    missed = size(mean - true_mean)
    assert told(found).enough
    assert (missed / size(true_mean)).max() < 3 * told(found).relative
    assert (size(spread - true_spread) / size(true_spread).mean()).max() < 0.02


def test_export_of_a_cubic_is_exact_to_single_precision():
    shape = np.sin(GRID)
    cubic = lambda cases: (
        (1 + cases[:, 0] ** 3 - cases[:, 1])[:, None, None] * shape,
        np.full((len(cases), 1, len(GRID)), 0.1),
    )
    fresh = np.random.default_rng(1).uniform(-1, 1, (50, 2))
    mean = exported(cubic, 2).predict(fresh)[0]
    assert np.abs(mean - cubic(fresh)[0]).max() < 1e-5


def test_grid_is_refined_until_it_is_good_enough():
    asked = []

    def counted(speed):
        def predict(cases):
            asked.append(len(cases))
            mean = np.sin(speed * cases[:, :1] + GRID)[:, None]
            return mean, 0.1 + 0 * mean

        return predict

    sizes = [exported(counted(speed), 1).mean.weights.shape[0] for speed in (0.1, 3.0, 30.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[1] < sizes[2]
    # 48 checks, and every node once although each grid is twice as fine as the one before.
    assert sum(asked) == sum(sizes) + 3 * 48


def test_what_cannot_be_met_is_told():
    rough = lambda cases: (
        np.sign(np.sin(40 * cases[:, :1] + GRID))[:, None],
        np.full((len(cases), 1, len(GRID)), 0.1),
    )
    found = exported(rough, 2, most=81)
    assert not told(found).enough
    assert found.mean.weights.shape[:2] == (9, 9)


def test_finer_grids_hold_the_bits_of_coarser_ones():
    coarse, fine = nodes(17, 2), nodes(33, 2)
    assert {row.tobytes() for row in coarse} <= {row.tobytes() for row in fine}


def test_splines_sum_to_one_everywhere():
    found = exported(wavy, 1)
    rows = basis_rows(found.knots[0], np.linspace(-1, 1, 101))
    np.testing.assert_allclose(rows.sum(1), 1.0, atol=1e-12)


def test_four_parameters_have_no_grid():
    with pytest.raises(ArgumentError, match="must be 1 to 3"):
        exported(wavy, 4)


def test_a_spread_below_what_can_be_seen_does_not_refine_for_ever():
    sure = lambda cases: (wavy(cases)[0], 1e-9 * wavy(cases)[1])
    found, usual = exported(sure, 2), exported(wavy, 2)
    assert told(found).enough
    assert len(found.mean.shapes) <= len(usual.mean.shapes) + 20
