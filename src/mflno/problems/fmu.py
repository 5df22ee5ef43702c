"""An FMU file (FMI 1, 2 or 3) as the solver of one level, run in a process of its own."""

import difflib
import tempfile
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, MissingExtra
from mflno.problems.solver import Answer, Request, check_file, check_limit, digest_of
from mflno.processes import Call, call_to_end
from mflno.shapes import Float

Attributes = Mapping[str, str]
TYPES = "Real", "Integer", "Boolean", "String", "Enumeration"
UNREADABLE = (zipfile.BadZipFile, KeyError, ElementTree.ParseError, zlib.error, RuntimeError,
              OSError, EOFError, ValueError)  # fmt: skip
MODES = {"co-simulation": "CoSimulation", "model-exchange": "ModelExchange"}


@dataclass(frozen=True)
class Fmu:
    """An FMU: parameters are start values, the forcing is an input signal.

    An FMU is foreign machine code; every run gets a fresh interpreter, which it may crash.

    Args:
        file: The `.fmu` file.
        limit: Seconds a run may take (`inf` for no limit).
        names: Name in the FMU of a parameter or output that is called otherwise there.
        inputs: Variables that the forcing's channels drive, in order.
        start: Start values that are the same in every run.
        mode: `co-simulation` or `model-exchange`, where the file offers both.
        substeps: Steps of communication within one step of the grid. More of them resolve the
            forcing better: most co-simulations hold their input during a step. They are given
            its value at the middle of the step, which makes that second order.
        tolerance: Relative tolerance, for FMUs and modes that know one.

    Example:
        >>> Fmu("spring.fmu", limit=60.0, names={"m": "body.mass"}).substeps
        1
    """

    file: str | Path
    limit: float = field(kw_only=True)
    names: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    start: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    mode: str | None = None
    substeps: int = 1
    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Fix the path, so that a later change of directory moves nothing."""
        object.__setattr__(self, "file", Path(self.file).absolute())

    def check(self, request: Request) -> None:
        """See that file and package are there, and that the file knows every name."""
        check_limit("Fmu", self.limit)
        check_file("Fmu.file", Path(self.file))
        if self.mode not in (None, *MODES):
            rule, remedy = f"must be one of {', '.join(MODES)}", "or leave it out"
            raise ArgumentError("Fmu.mode", rule, repr(self.mode), remedy)
        if self.substeps < 1:
            raise ArgumentError("Fmu.substeps", "must be 1 or more", self.substeps, "use 1")
        unused = set(self.names) - set(request.case) - set(request.outputs)
        if unused:
            rule, remedy = "must be names of parameters or outputs", "correct or drop them"
            raise ArgumentError("Fmu.names", rule, sorted(unused), remedy)
        check_forcing(self, request)
        check_names(self, request, variables_in(Path(self.file)))
        if find_spec("fmpy") is None:
            raise MissingExtra("fmpy", extra="fmu", purpose="running an FMU")

    def name(self, ours: str) -> str:
        """What the FMU calls a parameter or output of ours."""
        return self.names.get(ours, ours)

    def solve(self, request: Request) -> Answer:
        """One simulation."""
        grid = request.grid
        fine = np.linspace(grid[0], grid[-1], (len(grid) - 1) * self.substeps + 1)
        values = {self.name(each): value for each, value in request.case.items()}
        arguments = {
            "file": str(self.file),
            "start": {**self.start, **values},
            "times": fine,
            "signals": self.signals(request, fine),
            "held": self.signals(request, np.minimum(fine + (fine[1] - fine[0]) / 2, fine[-1])),
            "outputs": [self.name(each) for each in request.outputs],
            "settings": {
                "fmi_type": MODES.get(self.mode or ""),
                "relative_tolerance": self.tolerance,
            },
        }
        with tempfile.TemporaryDirectory(prefix="mflno-", ignore_cleanup_errors=True) as place:
            # The unpacked FMU goes into the same directory, so that a kill leaves nothing.
            folder, added = Path(place), {"TMPDIR": place}
            target = f"{__name__}:simulated"
            call = Call(target, arguments, folder, self.limit, added, scratch=folder)
            arrays = call_to_end(call)
        return Answer(arrays["values"][:, :: self.substeps], arrays["times"][:: self.substeps])

    def signals(self, request: Request, times: Float[ndarray, " T"]) -> dict[str, ndarray]:
        """Each input's values at the times."""
        if request.forcing is None or not self.inputs:
            return {}
        return dict(zip(self.inputs, request.forcing(times), strict=True))

    def fingerprint(self) -> str:
        """The file's content and the settings."""
        settings = (dict(self.names), list(self.inputs), dict(self.start), self.mode)
        return digest_of("fmu", *settings, self.substeps, self.tolerance, Path(self.file))


def check_forcing(solver: Fmu, request: Request) -> None:
    """Raise unless the forcing has one channel for each input that it drives."""
    channels = 0 if request.forcing is None else len(request.forcing(request.grid))
    if solver.inputs and channels != len(solver.inputs):
        rule = f"must name {channels} variables, one for each channel of the forcing"
        raise ArgumentError("Fmu.inputs", rule, list(solver.inputs), "list them in order")


def check_names(solver: Fmu, request: Request, known: Mapping[str, Attributes]) -> None:
    """Raise unless the FMU knows every name and takes every value; some ignore the others."""
    given = {solver.name(each): value for each, value in request.case.items()}
    check_known("parameter", list(given), known)
    check_known("output", [solver.name(each) for each in request.outputs], known)
    check_known("input", solver.inputs, known)
    check_known("start value", list(solver.start), known)
    twice = sorted(set(solver.start) & set(given))
    if twice:
        remedy = "drop it from `start`"
        raise ArgumentError("Fmu.start", "must not set a parameter", twice, remedy)
    for name, value in {**solver.start, **given}.items():
        check_settable(name, value, known[name])


def check_settable(name: str, value: object, told: Attributes) -> None:
    """Raise unless a variable has a start value of its own and this one is in its range."""
    kinds = told.get("variability"), told.get("causality"), told.get("initial")
    if "start" not in told or {"constant", "independent", "approx"} & set(kinds):
        words = [f"{key} {told[key]}" for key in ("causality", "variability") if key in told]
        rule, remedy = "must be variables that can be set", "choose a parameter of the FMU"
        raise ArgumentError("Fmu.names", rule, f"{name} ({', '.join(words)})", remedy)
    if isinstance(value, bool | str):
        return
    try:
        low, high = float(told.get("min", "-inf")), float(told.get("max", "inf"))
    except ValueError as error:
        place, remedy = "Fmu.file", "export it again"
        raise ArgumentError(place, f"must give {name} a range", f"{error}", remedy) from error
    if not low <= float(value) <= high:  # pyright: ignore[reportArgumentType]
        rule = f"must keep {name} in [{low:g}, {high:g}], as the FMU says"
        raise ArgumentError("Fmu parameters", rule, value, "narrow the box")


def variables_in(file: Path) -> dict[str, Attributes]:
    """All variables that the FMU describes, with what it says of each."""
    try:
        with zipfile.ZipFile(file) as archive:
            root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    except UNREADABLE as error:
        rule, remedy = "must be an FMU", "export it again"
        raise ArgumentError("Fmu.file", rule, f"{file.name} ({error})", remedy) from error
    types = {each.get("name", ""): told_of(each) for each in root.iterfind("TypeDefinitions/*")}
    found = {}
    for each in root.iterfind("ModelVariables/*"):
        told = told_of(each)
        found[each.get("name", "")] = {**types.get(told.get("declaredType", ""), {}), **told}
    return found


def told_of(element: ElementTree.Element) -> dict[str, str]:
    """Attributes of an element; before FMI 3 some of them stand at the type inside of it."""
    inside = [each.attrib for each in element if each.tag in TYPES]
    return {**(inside[0] if inside else {}), **element.attrib}


def check_known(what: str, names: Sequence[str], known: Mapping[str, Attributes]) -> None:
    """Raise unless the FMU knows the names; some tools ignore the others in silence."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 5, 0.4) or list(known)[:20]
            remedy = f"it has {', '.join(near)}; map ours to one of its own with `names`"
            raise ArgumentError("Fmu.names", f"the FMU must know every {what}", name, remedy)


def simulated(
    file: str, start: dict[str, Any], times: list[float], signals: dict[str, list[float]],
    held: dict[str, list[float]], outputs: list[str], settings: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """What the fresh interpreter is asked for: one simulation, sampled at the times.

    Args:
        file: The FMU.
        start: Start values.
        times: Points of communication.
        signals: Inputs at those times, for an FMU that follows them in between.
        held: Inputs for an FMU that holds them until the next one.
        outputs: Variables to record.
        settings: Further arguments of the simulation.
    """
    from fmpy import read_model_description, simulate_fmu

    description = read_model_description(file)
    slave = None if settings["fmi_type"] == "ModelExchange" else description.coSimulation
    follows = bool(slave and getattr(slave, "canInterpolateInputs", False))
    if slave is None:
        refresh_inputs()
    result = simulate_fmu(
        file, start_time=times[0], stop_time=times[-1],
        output_interval=(times[-1] - times[0]) / (len(times) - 1),
        start_values=start, input=signal(times, held if slave and not follows else signals),  # pyright: ignore
        output=outputs, record_events=False, set_input_derivatives=follows, **settings,
    )  # fmt: skip
    values = np.array([result[name] for name in outputs], dtype=float)
    return {"times": np.array(result["time"], dtype=float), "values": values}


def refresh_inputs() -> None:
    """Let model exchange see its inputs at every instant that the integrator looks at.

    FMPy sets them after an internal step alone, so that the slopes within a step belong to old
    inputs: a phase lag that no tolerance removes. This process ends with the simulation, so
    that nobody else meets the changed solver.
    """
    from fmpy.sundials import CVodeSolver

    slopes = CVodeSolver.f

    def fresh(solver: Any, time: float, *rest: Any) -> int:  # noqa: ANN401
        solver.input.apply(time, discrete=False)
        return slopes(solver, time, *rest)

    CVodeSolver.f = fresh  # pyright: ignore


def signal(times: list[float], signals: dict[str, list[float]]) -> ndarray | None:
    """The input signal as a table whose columns have the variables' names."""
    if not signals:
        return None
    table = np.zeros(len(times), [("time", float), *((name, float) for name in signals)])
    table["time"] = times
    for name, values in signals.items():
        table[name] = values
    return table
