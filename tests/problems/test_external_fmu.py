"""FMU files as solvers: one compiled here, one built by a package, and how they fail."""

import os
import shutil
import subprocess
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, MissingExtra, SolveFailed
from mflno.problems import ExternalProblem, Fmu, problem_from_toml

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
pytestmark = pytest.mark.skipif(find_spec("fmpy") is None, reason="needs fmpy")
SOURCES = Path(__file__).parent / "sources"
BOX = (Parameter("c", 0.1, 0.5), Parameter("k", 4.0, 9.0))
CASE = np.array([1 / 3, 7.1])
COARSE, FINE = np.linspace(0.0, 6.4, 65), np.linspace(0.0, 6.4, 129)
NAMES = {"c": "damper.c", "u": "x"}


def shake(case, grid):
    return np.sin(5.0 * grid)


def still(case, grid):
    return np.ones_like(grid)


@pytest.fixture(scope="module")
def fmu(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    import fmpy

    folder = tmp_path_factory.mktemp("fmu")
    headers = Path(fmpy.__file__).parent / "c-code"
    library = folder / "oscillator.so"
    source = SOURCES / "oscillator_fmu.c"
    words = [COMPILER, "-O1", "-shared", "-fPIC", f"-I{headers}", "-o", library, source, "-lm"]
    subprocess.run(words, check=True)
    with zipfile.ZipFile(folder / "oscillator.fmu", "w") as archive:
        archive.write(SOURCES / "modelDescription.xml", "modelDescription.xml")
        archive.write(library, "binaries/linux64/oscillator.so")
    return folder / "oscillator.fmu"


def problem_of(fmu, *, forcing=shake, **settings):
    levels = (Level("coarse", COARSE, 1.0), Level("fine", FINE, 2.0))
    settings = {"limit": 120.0, "names": NAMES, "inputs": ["f"], **settings}
    solver = Fmu(fmu, **settings)
    return ExternalProblem(
        "swing", parameters=BOX, levels=levels, solvers=(solver, solver), forcing=forcing
    )


def truth(grid, force):
    def slopes(t, y):
        return [y[1], force({}, t) - CASE[0] * y[1] - CASE[1] * y[0]]

    span = (grid[0], grid[-1])
    return solve_ivp(slopes, span, [0.0, 0.0], "DOP853", grid, rtol=1e-11, atol=1e-12).y[0]


def test_parameters_and_input_reach_the_fmu(fmu):
    problem = problem_of(fmu, forcing=still)
    np.testing.assert_allclose(problem.solve(CASE, 1)[0], truth(FINE, still), atol=1e-9)


def test_held_input_converges_with_the_square_of_the_substeps(fmu):
    expected = truth(COARSE, shake)
    errors = [
        np.abs(problem_of(fmu, substeps=count).solve(CASE, 0)[0] - expected).max()
        for count in (1, 2, 4, 8)
    ]
    assert errors[-1] < 5e-4 * np.abs(expected).max()
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_model_exchange_follows_the_input_between_its_points(fmu):
    expected = truth(COARSE, shake)
    settings = {"mode": "model-exchange", "tolerance": 1e-9}
    errors = [
        np.abs(problem_of(fmu, substeps=count, **settings).solve(CASE, 0)[0] - expected).max()
        for count in (1, 2, 4, 8)
    ]
    assert errors[-1] < 5e-4 * np.abs(expected).max()
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    np.testing.assert_allclose(orders, 2.0, atol=0.1)


def test_a_grid_may_start_late(fmu):
    levels = (Level("a", COARSE + 2.0, 1.0), Level("b", FINE + 2.0, 2.0))
    solver = Fmu(fmu, limit=120.0, names=NAMES, inputs=["f"])
    problem = ExternalProblem(
        "late", parameters=BOX, levels=levels, solvers=(solver, solver), forcing=still
    )
    np.testing.assert_allclose(problem.solve(CASE, 0)[0], truth(COARSE, still), atol=1e-9)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (1, "signal", "SIGABRT"),
        (2, "timeout", "within 4 s"),
        (3, "nan", "NaN"),
        (4, "error", "fmi2DoStep"),
    ],
)
def test_a_failing_fmu_is_told_apart_and_leaves_nothing(
    fmu, tmp_path, monkeypatch, fault, kind, words
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    limit = 4.0 if kind == "timeout" else 120.0
    problem = problem_of(fmu, start={"fault": float(fault)}, limit=limit)
    with pytest.raises(SolveFailed, match=words) as caught:
        problem.solve(CASE, 0)
    assert caught.value.kind == kind
    assert os.listdir(tmp_path) == []


def damaged(fmu, path, change):
    with zipfile.ZipFile(fmu) as whole, zipfile.ZipFile(path, "w") as part:
        xml = whole.read("modelDescription.xml")
        part.writestr("modelDescription.xml", change(xml))


def test_unknown_names_are_errors_that_tell_the_near_ones(fmu, tmp_path, monkeypatch):
    (tmp_path / "no.fmu").write_text("not a zip")
    damaged(
        fmu, tmp_path / "range.fmu", lambda xml: xml.replace(b"<Real ", b'<Real min="low" ')
    )
    damaged(fmu, tmp_path / "half.fmu", lambda xml: xml[:200])
    wrong = {
        "every parameter; got dumper.c; it has damper.c": {"names": {**NAMES, "c": "dumper.c"}},
        "every parameter; got c;": {"names": {"u": "x"}},
        "every output; got u;": {"names": {"c": "damper.c"}},
        "every input; got force": {"inputs": ["force"]},
        "every start value; got nope": {"start": {"nope": 1.0}},
        "must not set a parameter; got ..k": {"start": {"k": 1.0}},
        "must be names of parameters or outputs; got ..q": {"names": {**NAMES, "q": "k"}},
        "must name 1 variables": {"inputs": ["f", "v"]},
        "must name 0 variables": {"forcing": None},
        "must be 1 or more": {"substeps": 0},
        "one of co-simulation, model-exchange": {"mode": "CS"},
        "limit: must be positive": {"limit": 0.0},
        "must be an existing file": {"fmu": tmp_path / "absent.fmu"},
        "must be an FMU; got no.fmu": {"fmu": tmp_path / "no.fmu"},
        "must be an FMU; got half.fmu": {"fmu": tmp_path / "half.fmu"},
        "must give .* a range; .*'low'": {"fmu": tmp_path / "range.fmu"},
    }
    for words, settings in wrong.items():
        with pytest.raises(ArgumentError, match=words):
            problem_of(**{"fmu": fmu, **settings})
    monkeypatch.setattr("mflno.problems.fmu.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'mflno\[fmu\]'"):
        problem_of(fmu)


def test_version_follows_the_file(fmu, tmp_path):
    copy = shutil.copy(fmu, tmp_path / "moved.fmu")
    assert problem_of(copy).version == problem_of(fmu).version
    with zipfile.ZipFile(copy, "a") as archive:
        archive.writestr("documentation/index.html", "changed")
    assert problem_of(copy).version != problem_of(fmu).version


def test_toml_form(fmu, tmp_path):
    (tmp_path / "forces.py").write_text(
        "import numpy as np\ndef shake(case, grid):\n    return np.sin(5.0 * grid)\n"
    )
    solver = {"kind": "fmu", "file": fmu.name, "limit": 120, "names": NAMES}
    solver |= {"inputs": ["f"], "mode": "co-simulation"}
    table = {
        "name": "swing",
        "forcing": f"{tmp_path}/forces.py:shake",
        "parameters": {"c": {"low": 0.1, "high": 0.5}, "k": {"low": 4, "high": 9}},
        "levels": [
            {"name": "a", "grid": {"stop": 6.4, "points": 65}, "solver": solver},
            {"name": "b", "grid": {"stop": 6.4, "points": 129}, "solver": solver},
        ],
    }
    problem = problem_from_toml(table, fmu.parent)
    assert np.array_equal(problem.solve(CASE, 0), problem_of(fmu).solve(CASE, 0))


SLAVE = """
from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real

class Decay(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.rate, self.u = 0.5, 1.0
        self.register_variable(Real(
            "rate", causality=Fmi2Causality.parameter, variability=Fmi2Variability.tunable))
        self.register_variable(Real("u", causality=Fmi2Causality.output))

    def do_step(self, time, step):
        count = 64
        for _ in range(count):
            h = self.rate * step / count
            self.u *= 1 - h + h * h / 2 - h ** 3 / 6
        return True
"""


@pytest.mark.skipif(find_spec("pythonfmu") is None, reason="needs pythonfmu")
def test_fmu_built_by_a_package_solves_its_equation(tmp_path):
    from pythonfmu.builder import FmuBuilder

    (tmp_path / "decay.py").write_text(SLAVE)
    built = FmuBuilder.build_FMU(tmp_path / "decay.py", dest=tmp_path)
    solver = Fmu(built, limit=120.0)
    levels = (Level("a", COARSE, 1.0), Level("b", FINE, 2.0))
    box = (Parameter("rate", 0.1, 1.0),)
    problem = ExternalProblem("decay", parameters=box, levels=levels, solvers=(solver, solver))
    expected = np.exp(-0.3 * COARSE)
    np.testing.assert_allclose(problem.solve(np.array([0.3]), 0)[0], expected, atol=1e-9)
