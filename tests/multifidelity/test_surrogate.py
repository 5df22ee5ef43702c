"""The door: fit, predict, save, load."""

import subprocess
import sys

import numpy as np
import pytest

import mflno
from mflno.errors import ArgumentError, StoreError
from mflno.multifidelity import PodGP
from mflno.problems import Chain
from mflno.store import read_bundle, write_bundle

PEERS = "pod-gp", "line", "mf-gp", "nargp"


@pytest.fixture(scope="module", params=PEERS)
def surrogate(request, swing, runs):
    return mflno.fit(swing, runs, request.param, show=False)


def same(first, second, parts=("mean", "std", "draws")):
    return all(np.array_equal(getattr(first, p), getattr(second, p)) for p in parts)


def test_predictions_are_near_the_truth_and_bands_hold_them(surrogate, fresh):
    cases, truth = fresh
    found = surrogate.predict(cases)
    size = np.sqrt(np.square(truth).mean())
    assert np.sqrt(np.square(found.mean - truth).mean()) < 0.1 * size
    low, high = found.interval(0.95)
    assert ((low <= truth) & (truth <= high)).mean() > 0.85
    assert found.mean.dtype == found.std.dtype == np.float64
    assert np.all(found.std > 0)
    assert np.array_equal(found.grid, surrogate.problem.levels[-1].grid)


def test_the_expected_error_is_of_the_size_of_the_error(surrogate, fresh):
    cases, truth = fresh
    told = surrogate.expected_error
    off = surrogate.predict(cases).mean - truth
    errors = np.sqrt(np.square(off).sum((1, 2)) / np.square(truth).sum((1, 2)))
    assert 0.2 < told.mean / errors.mean() < 20 or errors.mean() < 1e-4
    assert told.low < told.mean < told.high
    assert told.mean <= told.most


def test_answers_do_not_depend_on_what_is_asked_beside(surrogate, fresh):
    cases, _ = fresh
    together = surrogate.predict(cases, draws=4)
    apart = surrogate.predict(cases[7:9], draws=2)
    size = np.abs(together.mean).max()
    assert np.abs(apart.mean - together.mean[7:9]).max() < 1e-9 * size
    assert np.abs(apart.std - together.std[7:9]).max() < 1e-6 * size
    assert np.abs(apart.draws - together.draws[:2, 7:9]).max() < 1e-9 * size
    chunked = surrogate.predict(cases, draws=4, chunk=3)
    assert np.abs(chunked.draws - together.draws).max() < 1e-9 * size


def test_draws_spread_as_the_deviation_says(surrogate, fresh):
    found = surrogate.predict(fresh[0], draws=400)
    spread = np.sqrt(np.square(found.draws - found.mean).mean((0, 2, 3)))
    wanted = np.sqrt(np.square(found.std).mean((1, 2)))
    assert 0.5 < np.median(spread / wanted) < 1.2


def test_a_file_gives_the_same_bits_in_a_fresh_process(surrogate, fresh, tmp_path):
    path = tmp_path / "swing.mflno"
    surrogate.save(path)
    again = mflno.load(path, surrogate.problem)
    cases = fresh[0]
    wanted = surrogate.predict(cases, draws=3)
    assert same(again.predict(cases, draws=3), wanted)
    assert again.predict(cases).radius == wanted.radius
    assert again.left_out is not None
    assert again.expected_error == surrogate.expected_error
    if surrogate.method != "mf-gp":
        return
    np.save(tmp_path / "cases.npy", cases)
    code = (
        "import sys, numpy, mflno; a, b, c = sys.argv[1:];"
        "found = mflno.load(a).predict(numpy.load(b), draws=3);"
        "numpy.savez(c, mean=found.mean, std=found.std, draws=found.draws)"
    )
    out = tmp_path / "found.npz"
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "cases.npy"), str(out)]
    subprocess.run(command, check=True)
    found = np.load(out)
    assert all(np.array_equal(found[part], getattr(wanted, part)) for part in found)


def test_a_file_without_its_solver_says_so(swing, runs, fresh, tmp_path):
    mflno.fit(swing, runs, "line", show=False).save(tmp_path / "line.mflno")
    alone = mflno.load(tmp_path / "line.mflno")
    with pytest.raises(ArgumentError, match="pass the problem"):
        alone.predict(fresh[0])
    # Cheap runs that were handed in are in the file.
    assert alone.predict(runs[1].cases).mean.shape == (7, 2, 61)


def test_damaged_newer_and_foreign_files_are_refused(surrogate, swing, tmp_path):
    path = tmp_path / "s.mflno"
    surrogate.save(path)
    whole = path.read_bytes()
    for spoiled in (whole[:-9], whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:]):
        path.write_bytes(spoiled)
        with pytest.raises(StoreError, match=str(path)):
            mflno.load(path)
    path.write_bytes(whole)
    bundle = read_bundle(path, kind="surrogate")
    write_bundle(path, bundle.arrays, bundle.meta, kind="surrogate", version=2)
    with pytest.raises(StoreError, match="update mflno"):
        mflno.load(path)
    write_bundle(path, bundle.arrays, {**bundle.meta, "kind": "oracle"}, kind="surrogate")
    with pytest.raises(StoreError, match="oracle"):
        mflno.load(path)
    lost = {k: v for k, v in bundle.arrays.items() if not k.startswith("predictor.")}
    write_bundle(path, lost, bundle.meta, kind="surrogate")
    with pytest.raises(StoreError, match="without its parts"):
        mflno.load(path)
    path.write_bytes(whole)
    with pytest.raises(ArgumentError, match="name"):
        mflno.load(path, Chain())


def test_builtin_problems_are_found_by_their_name(tmp_path):
    cases = np.array([[2.5, 0.2], [5.0, 0.2], [4.0, 0.4]])
    data = [mflno.sample(Chain(), cases, k, cache=False, show=False) for k in range(3)]
    mflno.fit(Chain(), data, "line", show=False).save(tmp_path / "chain.mflno")
    again = mflno.load(tmp_path / "chain.mflno")
    assert isinstance(again.problem, Chain)
    assert again.predict([[3.0, 0.3]]).mean.shape == (1, 1, 512)


def test_wrong_data_is_refused(swing, runs):
    low, high = runs
    twice = high.take([0, 0, 1])
    other = mflno.sample(Chain(), [[3.0, 0.2], [4.0, 0.2]], 0, cache=False, show=False)
    wrong = [
        ([high, low], "level 1"),
        ([low], "1 entries"),
        ([low, high.take([0])], "2 or more"),
        ([low, twice], "twice"),
        ([other, high], "chain"),
    ]
    for data, said in wrong:
        with pytest.raises(ArgumentError, match=said):
            mflno.fit(swing, data, "pod-gp", show=False)
    with pytest.raises(ArgumentError, match="one of"):
        mflno.fit(swing, runs, "oracle", show=False)
    with pytest.raises(ArgumentError, match="device"):
        mflno.fit(swing, runs, "pod-gp", device="abacus", show=False)


def test_cases_outside_the_box_and_odd_levels_are_refused(swing, runs):
    surrogate = mflno.fit(swing, runs, PodGP(), show=False)
    with pytest.raises(ArgumentError, match="must lie in"):
        surrogate.predict([[9.0, 3.0]])
    with pytest.raises(ArgumentError, match="level"):
        surrogate.predict([[2.0, 2.5]]).interval(1.0)
    with pytest.raises(ArgumentError, match="draws"):
        surrogate.predict([[2.0, 2.5]], draws=-1)
    assert surrogate.predict(np.zeros((0, 2))).mean.shape == (0, 2, 61)


@pytest.mark.parametrize("method", PEERS)
def test_two_runs_are_enough_to_begin(swing, runs, method, fresh):
    low, high = runs
    surrogate = mflno.fit(swing, [low, high.take([0, 3])], method, show=False)
    assert surrogate.left_out is None
    found = surrogate.predict(fresh[0], draws=2)
    assert np.all(np.isfinite(np.asarray(found.draws)))
    assert found.radius[-2][1] > 1.96


def test_warm_starts_go_to_the_same_method_alone(swing, runs):
    class Told(PodGP):
        warm: object = None

        def fit(self, data, *, seed, device="cpu", warm=None, show=True):
            Told.warm = warm
            return super().fit(data, seed=seed)

    first = mflno.fit(swing, runs, Told(), show=False)
    mflno.fit(swing, runs, Told(), warm=first, show=False)
    assert Told.warm is first.predictor
    mflno.fit(swing, runs, Told(), warm=mflno.fit(swing, runs, "line", show=False), show=False)
    assert Told.warm is None


def test_ten_thousand_cases_take_bounded_memory(swing, runs):
    import tracemalloc

    surrogate = mflno.fit(swing, runs, "pod-gp", show=False)
    cases = np.random.default_rng(0).uniform([1, 2], [3, 3], (10_000, 2))
    tracemalloc.start()
    found = surrogate.predict(cases, chunk=200)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    answer = found.mean.nbytes + found.std.nbytes
    # The answer itself, twice while its parts are joined, and little else.
    assert peak < 2.2 * answer + 2**24
