"""Network methods: the paper's counts, its loss, chains of levels, files, joint draws."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from mflno.bayes import DeepEnsemble, ReplicaExchange, relative_loss
from mflno.errors import ArgumentError
from mflno.multifidelity.channels import Channels, parameter_channels
from mflno.multifidelity.deeponets import MFDeepONet, ResidualDeepONet, deep_ensemble
from mflno.multifidelity.forms import FORMS, LNO, Mixture, Site, form_about, form_from
from mflno.multifidelity.gauss_newton import GaussNewton
from mflno.multifidelity.hf_lno import HFLNO
from mflno.multifidelity.law import Data, Method
from mflno.multifidelity.lf_lno import LFLNO
from mflno.multifidelity.mflno import MFLNO
from mflno.multifidelity.misfit import Misfit
from mflno.multifidelity.network_law import NetworkPredictor, joint_draws
from mflno.multifidelity.normalising import Normalising
from mflno.operators import Packing, Spectrum, count_parameters
from mflno.problems import Chain, Duffing, Lorenz
from mflno.sampling import sample

FAST = DeepEnsemble(chains=2, steps=3)
SECOND = GaussNewton(chains=2, survivors=2, kept=2, steps=(12,), points=(32,))
SMALL = LNO(width=2, modes=3, hidden=(3,))


def built(form, channels, points):
    return count_parameters(
        form.build(Site(channels, 1, points, Spectrum()), torch.Generator())
    )


@pytest.fixture(scope="module")
def data(swing, runs):
    low, high = runs
    return Data(swing, (low,), high)


@pytest.fixture(scope="module")
def method():
    return MFLNO(form=Mixture(SMALL, SMALL), inference=SECOND)


@pytest.fixture(scope="module")
def fitted(data, method):
    return method.fit(data, seed=1, show=False)


@pytest.mark.parametrize(("parameters", "total"), [((1,), 1165), ((), 1156)])
def test_the_papers_sizes_give_its_counts(parameters, total):
    paper, one = MFLNO.paper("lorenz"), Channels(1, parameters)
    two = replace(one, lower=1)
    assert built(paper.low, one, 512) + built(paper.form, two, 2048) == total


@pytest.mark.parametrize(
    ("problem", "low", "points", "high"),
    [("lorenz", 39_201, 512, 203_041), ("beam", 9_697, 101, 12_929)],
)
def test_deeponets_have_the_papers_counts(problem, low, points, high):
    whole, one = MFDeepONet().whole(problem), Channels(1, (1,))
    assert built(whole.low, one, points) == low
    fine = 2048 if problem == "lorenz" else points
    assert built(whole.form, replace(one, lower=1), fine) == 2 * high + 1


def test_the_paper_trains_in_two_phases_by_replica_exchange():
    paper = MFLNO.paper("lorenz", chains=6)
    assert isinstance(paper.inference, ReplicaExchange)
    assert (paper.inference.steps, paper.inference.chains, paper.low_epochs) == (5000, 6, 2000)
    assert paper.inference.step_size == (5e-6, 5e-4)
    assert not paper.solver


def test_parameters_that_the_forcing_tells_are_not_told_twice():
    assert parameter_channels(Lorenz(), "hidden") == (1,)
    assert parameter_channels(Duffing(), "none") == ()
    with pytest.raises(ArgumentError, match="hidden, all, none"):
        parameter_channels(Duffing(), "some")


def test_the_loss_is_the_relative_error_of_physical_trajectories():
    generator = np.random.default_rng(0)
    inputs, values = generator.normal(size=(4, 2, 30)), 7 + generator.normal(size=(4, 1, 30))
    scale = Normalising.of(inputs, values)
    module = SMALL.build(Site(Channels(2), 1, 30, Spectrum()), torch.Generator()).double()
    theta = Packing.of(module).pack([module, module])
    tensor = torch.from_numpy
    size = tensor(np.linalg.norm(values, axis=-1) / scale.output_spread)
    grid = torch.linspace(0, 1, 30)
    misfit = Misfit(module, tensor(scale.shown(inputs)), tensor(scale.told(values)), size, grid)
    answers = misfit.forward(theta, misfit.inputs, grid) * float(scale.output_spread[0])
    physical = answers + float(scale.output_centre[0])
    expected = relative_loss(physical, tensor(values))
    torch.testing.assert_close(misfit(theta, None), expected)
    squares = misfit.residuals(theta).square().sum((1, 2, 3))
    own = ((physical - tensor(values)).norm(dim=-1) / tensor(values).norm(dim=-1)).square()
    torch.testing.assert_close(squares, own.mean((1, 2)))
    few = torch.tensor([2, 0])
    torch.testing.assert_close(
        misfit(theta, few), relative_loss(physical[:, few], tensor(values)[few])
    )


def test_fewer_times_hardly_change_the_loss():
    time = np.linspace(0, 1, 201)
    values = np.sin(7 * time + np.arange(3)[:, None, None])
    module = SMALL.build(Site(Channels(1), 1, 201, Spectrum()), torch.Generator()).double()
    tensor = torch.from_numpy
    size = tensor(np.linalg.norm(values, axis=-1))
    whole = Misfit(module, tensor(values), tensor(values), size, tensor(time))
    theta = Packing.of(module).pack([module])
    some, every = (each.residuals(theta).square().sum() for each in (whole.thinned(4), whole))
    torch.testing.assert_close(some, every, rtol=0.02, atol=0)
    torch.testing.assert_close(
        whole.thinned(4)(theta, None), whole(theta, None), rtol=0.01, atol=0
    )


def test_second_order_training_learns_the_swing(fitted, data, fresh):
    cases, truth = fresh
    law = fitted.law(data.query(cases))
    error = np.linalg.norm(law.mean - truth, axis=-1) / np.linalg.norm(truth, axis=-1)
    cheap = data.query(cases).cheapest
    before = np.linalg.norm(cheap - truth, axis=-1) / np.linalg.norm(truth, axis=-1)
    assert error.mean() < 0.1 * before.mean()
    assert law.std.shape == truth.shape


def test_a_file_answers_with_the_same_bits(fitted, data, fresh):
    arrays, about = fitted.arrays()
    again = NetworkPredictor.from_arrays(arrays, about)
    query = data.query(fresh[0])
    for one, other in zip(fitted.law(query, draws=3), again.law(query, draws=3), strict=True):
        assert np.array_equal(np.asarray(one), np.asarray(other))


def test_a_draw_is_one_function_wherever_it_is_asked_for(fitted, data, fresh):
    cases = fresh[0]
    whole = fitted.law(data.query(cases), draws=5).draws
    part = fitted.law(data.query(cases[4:6]), draws=5).draws
    assert whole is not None
    assert part is not None
    np.testing.assert_allclose(part, whole[:, 4:6], rtol=0, atol=1e-5)


def test_draws_beyond_the_members_have_their_mean_and_covariance():
    members = np.random.default_rng(1).normal(size=(4, 1, 1, 6))
    many = joint_draws(members, 40_004)[4:, 0, 0]
    np.testing.assert_allclose(many.mean(0), members.mean(0)[0, 0], atol=0.03)
    np.testing.assert_allclose(np.cov(many.T), np.cov(members[:, 0, 0].T), atol=0.05)
    assert np.array_equal(joint_draws(members, 4), members)


def test_many_fits_at_once_are_those_made_one_by_one(data, method, fresh):
    short = replace(method, inference=replace(SECOND, steps=(4,)))
    pair = short.fit_many([data, data], seeds=[1, 2], show=False)
    query = data.query(fresh[0])
    for predictor, seed in zip(pair, (1, 2), strict=True):
        alone = short.fit(data, seed=seed, show=False)
        np.testing.assert_allclose(
            predictor.law(query).mean, alone.law(query).mean, rtol=0, atol=1e-4
        )


def test_runs_left_out_are_answered_by_fits_without_them(data, method, fitted):
    truth = data.high.values
    wrong = np.linalg.norm(method.left_out(data, fitted, seed=1).mean - truth, axis=-1)
    seen = np.linalg.norm(fitted.law(data.query()).mean - truth, axis=-1)
    cheap = np.linalg.norm(data.query().cheapest - truth, axis=-1)
    assert 1.2 * seen.mean() < wrong.mean() < cheap.mean()


def test_a_warm_start_goes_on_from_the_earlier_fit(data, method, fitted):
    still = replace(method, inference=DeepEnsemble(chains=2, steps=1, step_size=1e-12))
    again = still.fit(data, seed=9, warm=fitted, show=False)
    np.testing.assert_allclose(again.stages[-1].theta, fitted.stages[-1].theta, atol=1e-9)


@pytest.mark.parametrize(
    "tiny",
    [
        LFLNO(MFLNO(solver=False, low=SMALL, low_inference=SECOND)),
        HFLNO(form=SMALL, inference=FAST),
        replace(deep_ensemble(), low_epochs=None, low_inference=FAST, inference=FAST),
        MFLNO(solver=False, low=SMALL, low_inference=FAST, inference=FAST, residual=True),
    ],
)
def test_peers_answer_and_are_methods(tiny, data, fresh):
    assert isinstance(tiny, Method)
    law = tiny.fit(data, seed=0, show=False).law(data.query(fresh[0]), draws=2)
    assert np.isfinite(law.mean).all()
    assert law.draws is not None
    assert law.draws.shape == (2, *law.mean.shape)


@pytest.mark.parametrize("kind", [MFDeepONet, ResidualDeepONet])
def test_deeponets_are_evaluated_on_their_own_grid(kind):
    problem = Duffing()
    cases = np.array([[6.5, 0.42], [7.5, 0.48], [7.0, 0.45]])
    low, high = (sample(problem, cases, level, show=False) for level in (0, 1))
    tiny = kind(width=4, low_inference=FAST, low_epochs=None, inference=FAST)
    found = tiny.fit(Data(problem, (low,), high), seed=0, show=False)
    assert found.law(Data(problem, (low,), high).query()).mean.shape == high.values.shape


@pytest.mark.parametrize("solver", [True, False])
def test_three_levels_are_chained(solver):
    problem = Chain()
    low = np.array([p.low for p in problem.parameters])
    high = np.array([p.high for p in problem.parameters])
    cases = low + (high - low) * np.random.default_rng(0).random((6, len(low)))
    levels = [sample(problem, cases[: 6 - k], k, show=False) for k in range(3)]
    data = Data(problem, tuple(levels[:2]), levels[2])
    method = MFLNO(
        solver=solver, low=SMALL, low_inference=FAST, form=Mixture(SMALL, SMALL), inference=FAST
    )
    found = method.fit(data, seed=0, show=False)
    assert len(found.stages) == 3 - solver
    assert found.law(data.query()).mean.shape == levels[2].values.shape


@pytest.mark.parametrize("kind", list(FORMS))
def test_a_form_survives_json(kind):
    assert form_from(form_about(FORMS[kind]())) == FORMS[kind]()


def test_names_of_forms_are_checked():
    with pytest.raises(ArgumentError, match="must be one of"):
        built(LNO(activation="relu"), Channels(1), 64)
