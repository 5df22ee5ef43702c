"""The study of the networks: nested designs, recorded problems, rows that are judged."""

from dataclasses import replace

import numpy as np
import pytest

from mflno.bayes import DeepEnsemble
from mflno.errors import SolveFailed
from mflno.multifidelity.channels import parameter_channels
from mflno.multifidelity.forms import LNO
from mflno.multifidelity.hf_lno import HFLNO
from mflno.problems import Lorenz, candidate_cases, test_cases
from mflno.study import paper_networks
from mflno.study.recorded import record, recorded


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "lorenz.npz"
    record(Lorenz(), path)
    return recorded("lorenz", path)


def test_a_recorded_problem_answers_like_the_solver(copy):
    case = test_cases(Lorenz())[7]
    for level in (0, 1):
        np.testing.assert_array_equal(copy.solve(case, level), Lorenz().solve(case, level))
        np.testing.assert_array_equal(copy.inputs(case, level), Lorenz().inputs(case, level))
    assert parameter_channels(copy, "hidden") == (1,)
    with pytest.raises(SolveFailed, match="not recorded"):
        copy.solve(case + 0.01, 0)


def test_designs_of_a_seed_are_nested():
    found = {(n, s): c for n, s, c in paper_networks.random_designs(Lorenz(), (3, 5), (0, 1))}
    np.testing.assert_array_equal(found[5, 1][:3], found[3, 1])
    assert not np.array_equal(found[5, 0], found[5, 1])
    known = {case.tobytes() for case in candidate_cases(Lorenz())}
    assert all(case.tobytes() in known for case in found[5, 0])


def test_rows_tell_each_budget_and_seed(copy, monkeypatch):
    tiny = HFLNO(
        form=LNO(width=1, modes=2, hidden=(2,)), inference=DeepEnsemble(chains=2, steps=2)
    )
    monkeypatch.setitem(paper_networks.METHODS, "hf-lno", lambda problem: replace(tiny))
    found = list(paper_networks.rows(copy, ["hf-lno"], [3, 5], [0, 1], "cpu"))
    assert [(row.budget, len(row.seeds)) for row in found] == [(3, 2), (5, 2)]
    assert all(row.mean <= row.maximum for row in found)
    assert found[0].mean == pytest.approx(np.mean([mean for mean, _ in found[0].seeds]))
