"""Second-order training against least squares in closed form."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from mflno.errors import ArgumentError
from mflno.multifidelity.gauss_newton import GaussNewton, damped_solver


@dataclass(frozen=True)
class Linear:
    """Residuals A θ - y."""

    matrix: Tensor
    wanted: Tensor

    def __call__(self, theta, batch):
        return self.residuals(theta).square().sum(-1)

    def residuals(self, theta):
        return theta @ self.matrix.T - self.wanted

    def linearised(self, theta):
        slopes = self.matrix.T.expand(len(theta), *self.matrix.T.shape)
        return self.residuals(theta), slopes

    def thinned(self, stride):
        return self

    def rows(self, chosen):
        return self


@dataclass(frozen=True)
class Rosenbrock(Linear):
    """A bent valley, in which a start may also be lost."""

    def residuals(self, theta):
        x, y = theta.unbind(-1)
        return torch.stack([10 * (y - x.square()), 1 - x], -1)

    def linearised(self, theta):
        x, one = theta[:, 0], torch.ones_like(theta[:, 0])
        by_x = torch.stack([-20 * x, -one], -1)
        by_y = torch.stack([10 * one, 0 * one], -1)
        return self.residuals(theta), torch.stack([by_x, by_y], 1)


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def ends(method, energy, start):
    return method.sample(energy, start, cases=1, generator=torch.Generator(), show=False)


ONE = {"chains": 1, "survivors": 1, "kept": 1, "points": (8,)}


@pytest.mark.parametrize(("rows", "columns"), [(12, 5), (4, 9)])
def test_a_ridge_regression_is_solved_in_either_space(rows, columns):
    matrix, wanted, start = drawn(rows, columns), drawn(rows, 2)[:, 0], drawn(1, columns)
    ridge = 1e-3
    draws = ends(GaussNewton(steps=(40,), ridge=ridge, **ONE), Linear(matrix, wanted), start)
    system = matrix.T @ matrix + ridge * torch.eye(columns, dtype=torch.float64)
    truth = torch.linalg.solve(system, matrix.T @ wanted + ridge * start[0])
    torch.testing.assert_close(draws.theta[0], truth, rtol=0, atol=1e-6)


def test_both_spaces_give_the_same_step():
    slopes, residuals, weight = drawn(2, 6, 6), drawn(2, 6), drawn(2, 6).abs() + 0.1
    pull, damping = drawn(2, 6), torch.tensor([0.3, 2.0], dtype=torch.float64)
    wide = torch.cat([slopes, torch.zeros(2, 6, 3, dtype=torch.float64)], -1)
    tall = torch.cat([slopes, torch.zeros(2, 6, 0, dtype=torch.float64)], -1)[..., :5]
    more = torch.cat([residuals, torch.zeros(2, 3, dtype=torch.float64)], -1)
    a = damped_solver(wide, more, weight, pull)(damping)
    direct = slopes @ slopes.mT + torch.diag_embed(weight + damping[:, None])
    b = torch.linalg.solve(direct, (slopes @ residuals[..., None])[..., 0] + pull)
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    c = damped_solver(tall, residuals[:, :5], weight, pull)(damping)
    direct = tall @ tall.mT + torch.diag_embed(weight + damping[:, None])
    d = torch.linalg.solve(direct, (tall @ residuals[:, :5, None])[..., 0] + pull)
    torch.testing.assert_close(c, d, rtol=1e-9, atol=1e-9)


def test_it_walks_a_bent_valley_and_drops_lost_starts():
    start = torch.tensor([[-1.2, 1.0], [torch.nan, 0.0], [2.0, -3.0]], dtype=torch.float64)
    start[1, 0] = 1e200
    method = GaussNewton(
        chains=3, survivors=2, kept=2, trial=5, steps=(60,), points=(8,), ridge=0.0
    )
    draws = ends(method, Rosenbrock(start, start), start)
    assert draws.chain.tolist() in ([0, 2], [2, 0])
    torch.testing.assert_close(draws.theta, torch.ones_like(draws.theta), rtol=0, atol=1e-6)


def test_each_ladder_keeps_its_own_best():
    start = drawn(6, 2)
    method = GaussNewton(chains=3, survivors=2, kept=1, trial=2, steps=(4,), points=(8,))
    draws = ends(method, Rosenbrock(start, start), start)
    assert draws.ladder.tolist() == [0, 1]


def test_counts_that_do_not_fit_are_refused():
    with pytest.raises(ArgumentError, match="kept <= survivors"):
        GaussNewton(chains=2, survivors=3)
    with pytest.raises(ArgumentError, match="as many steps"):
        GaussNewton(steps=(3, 4), points=(8,))
    with pytest.raises(ArgumentError, match="residuals"):
        ends(GaussNewton(**ONE, steps=(3,)), lambda theta, batch: theta.sum(-1), drawn(1, 2))
