"""The constant tables: exact for polynomials, and impulses that stand for the start."""

import numpy as np
import pytest

from mflno.operators.quadrature import (
    EARLY,
    FIRST,
    IMPULSES,
    OFFSETS,
    early_from_moments,
    extrapolation,
    gauss,
    impulses,
    start_share,
)


@pytest.mark.parametrize("z", [0.0, 1e-9, 0.7j, -3.0 + 2j, -60.0])
@pytest.mark.parametrize("degree", range(5))
def test_weights_integrate_quartics_exactly(z, degree):
    left, table = gauss()
    found = (table @ np.exp(z * left)) @ np.array(OFFSETS, dtype=float) ** degree
    theta, weight = np.polynomial.legendre.leggauss(200)
    theta = (theta + 1) / 2
    truth = (np.exp(z * (1 - theta)) * theta**degree) @ weight / 2
    assert abs(found - truth) < 1e-13


@pytest.mark.parametrize("time", range(6))
def test_ghosts_continue_polynomials_of_what_is_known(time):
    table = extrapolation(time)
    for degree in range(min(time, FIRST - 1) + 1):
        values = np.arange(FIRST, dtype=float) ** degree
        assert np.allclose(values @ table, np.arange(-3.0, 0.0) ** degree)
    assert not table[time + 1 :].any()


def test_impulses_stand_for_the_start_of_resolved_modes():
    for theta, bound in ((0.1, 1e-8), (0.4, 1e-5), (1.0, 1e-3)):
        z = np.array([1j * theta])
        said = np.exp(-z[:, None] * np.arange(IMPULSES)) @ impulses()
        assert np.abs(said - start_share(z)).max() < bound


def test_early_map_is_causal():
    _, start = np.split(early_from_moments(), [EARLY])
    start = start.reshape(EARLY, EARLY, -1)
    for value in range(EARLY):
        assert not start[value, :value].any()
