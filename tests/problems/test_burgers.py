import time

import numpy as np
import pytest

from mflno.problems import Burgers
from mflno.problems.burgers import cell_means

NU, PUSH, DRIFT = 0.03, 0.8, 0.5
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(5)


def manufactured(cells):
    """u = 1/2 + 0.8 sin 2π(x - t), and the source that makes it a solution, as cell means."""
    x = (np.arange(cells)[:, None] + 0.5 + 0.5 * POINTS) / cells
    k = 2 * np.pi

    def truth(t):
        return (DRIFT + PUSH * np.sin(k * (x - t))) @ WEIGHTS / 2

    def source(t):
        u, phase = DRIFT + PUSH * np.sin(k * (x - t)), k * (x - t)
        slope = k * PUSH * np.cos(phase)
        return (-slope + u * slope + NU * k * k * PUSH * np.sin(phase)) @ WEIGHTS / 2

    return truth, source


def test_error_falls_with_the_square_of_the_cell():
    errors = []
    for cells in (16, 32, 64, 128):
        truth, source = manufactured(cells)
        grid = np.linspace(0.0, 1.0, cells + 1)
        last = cell_means(truth(0.0), source, NU, grid, substeps=4)[-1]
        errors.append(np.sqrt(np.mean((last - truth(1.0)) ** 2)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([2.0, 2.0, 2.0], abs=0.05)
    assert errors[-1] < 5e-4


def test_error_falls_with_the_fourth_power_of_the_step():
    truth, source = manufactured(64)

    def last(steps):
        return cell_means(truth(0.0), source, NU, np.linspace(0, 1, steps + 1), substeps=1)[-1]

    finest = last(1024)
    errors = [np.abs(last(steps) - finest).max() for steps in (64, 128, 256)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders == pytest.approx([4.0, 4.0], abs=0.1)


def test_viscosity_alone_damps_a_wave_as_it_must():
    """Without a push a small wave decays like exp(-4π²νt), to the order of its square."""
    middle = (np.arange(128) + 0.5) / 128
    wave = 1e-5 * np.sin(2 * np.pi * middle)
    grid = np.linspace(0.0, 1.0, 65)
    last = cell_means(wave, lambda t: np.zeros(128), 0.05, grid, substeps=1)[-1]
    ratio = np.linalg.norm(last) / np.linalg.norm(wave)
    assert ratio == pytest.approx(np.exp(-4 * np.pi**2 * 0.05), rel=1e-3)


def test_without_viscosity_and_push_energy_is_kept():
    middle = (np.arange(32) + 0.5) / 32
    start = 0.3 + np.sin(2 * np.pi * middle)
    means = cell_means(start, lambda t: np.zeros(32), 0.0, np.linspace(0, 1, 401), substeps=4)
    energy = np.sum(means**2, axis=1)
    assert energy == pytest.approx(np.full(401, energy[0]), rel=1e-6)
    assert means.sum(axis=1) == pytest.approx(np.full(401, start.sum()), rel=1e-12)


@pytest.mark.slow
def test_finest_level_is_right_to_a_thousandth_and_coarser_ones_as_documented():
    problem = Burgers()
    shape = -np.diff(np.cos(2 * np.pi * np.arange(513) / 512)) * 512 / (2 * np.pi)
    gaps = {0: [], 1: []}
    for a, nu in ((1.0, 0.01), (6.0, 0.01), (6.0, 0.05), (1.0, 0.05)):
        grid = problem.levels[2].grid
        source = lambda t, a=a: a * np.sin(2 * np.pi * t) * shape
        means = cell_means(np.full(512, 0.5), source, nu, grid, substeps=8)
        truth = np.stack([(means[:, i - 1] + means[:, i]) / 2 for i in (128, 256, 384)])
        finest = problem.solve(np.array([a, nu]), 2)
        assert np.linalg.norm(finest - truth) < 1e-3 * np.linalg.norm(truth)
        for level, found in gaps.items():
            coarse = problem.solve(np.array([a, nu]), level)
            times = problem.levels[level].grid
            there = np.stack([np.interp(times, grid, row) for row in finest])
            found.append(np.linalg.norm(coarse - there) / np.linalg.norm(there))
    assert max(gaps[1]) < 0.02 < max(gaps[0]) < 0.25


def test_time_error_is_far_below_that_of_the_cells():
    """In the hardest corner of the box, where 64 cells are wrong by nearly 2 %."""
    problem = Burgers()
    shape = -np.diff(np.cos(2 * np.pi * np.arange(65) / 64)) * 64 / (2 * np.pi)
    source = lambda t: 6.0 * np.sin(2 * np.pi * t) * shape
    grid = problem.levels[1].grid
    rows = [cell_means(np.full(64, 0.5), source, 0.01, grid, substeps=n) for n in (2, 4)]
    assert np.linalg.norm(rows[0] - rows[1]) < 1e-3 * np.linalg.norm(rows[1])


def test_side_by_side_is_several_times_faster():
    problem = Burgers()
    cases = np.linspace([1.0, 0.01], [6.0, 0.05], 32)
    begin = time.perf_counter()
    problem.solve_many(cases, 1)
    together = time.perf_counter() - begin
    begin = time.perf_counter()
    for case in cases[:4]:
        problem.solve(case, 1)
    alone = (time.perf_counter() - begin) * 8
    assert together < 0.5 * alone
