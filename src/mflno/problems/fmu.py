"""An FMU file (FMI 1, 2 or 3) as the solver of one level, run in a process of its own."""

import difflib
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mflno.errors import ArgumentError, MissingExtra
from mflno.problems.solver import Answer, Request, check_file, check_limit, digest_of
from mflno.processes import Call, call_to_end

KINDS = {"co-simulation": "CoSimulation", "model-exchange": "ModelExchange"}


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
        kind: `co-simulation` or `model-exchange`, where the file offers both.
        substeps: Steps of communication within one step of the grid. A co-simulation holds its
            input during a step unless it can interpolate, so that a forcing needs several.

    Example:
        >>> Fmu("spring.fmu", limit=60.0, names={"m": "body.mass"}).substeps
        1
    """

    file: str | Path
    limit: float = field(kw_only=True)
    names: Mapping[str, str] = field(default_factory=dict)
    inputs: Sequence[str] = ()
    start: Mapping[str, float | int | bool | str] = field(default_factory=dict)
    kind: str | None = None
    substeps: int = 1

    def __post_init__(self) -> None:
        """Fix the path, so that a later change of directory moves nothing."""
        object.__setattr__(self, "file", Path(self.file).absolute())

    def check(self, request: Request) -> None:
        """See that file and package are there, and that the file knows every name."""
        check_limit("Fmu", self.limit)
        check_file("Fmu.file", Path(self.file))
        if self.kind not in (None, *KINDS):
            rule, remedy = f"must be one of {', '.join(KINDS)}", "or leave it out"
            raise ArgumentError("Fmu.kind", rule, repr(self.kind), remedy)
        if self.substeps < 1:
            raise ArgumentError("Fmu.substeps", "must be 1 or more", self.substeps, "use 1")
        unused = set(self.names) - set(request.case) - set(request.outputs)
        if unused:
            rule, remedy = "must be names of parameters or outputs", "correct or drop them"
            raise ArgumentError("Fmu.names", rule, sorted(unused), remedy)
        check_forcing(self, request)
        known = variables_in(Path(self.file))
        wanted = {"parameter": request.case, "output": request.outputs}
        for what, names in wanted.items():
            check_known(what, [self.name(each) for each in names], known)
        check_known("input", self.inputs, known)
        check_known("start value", list(self.start), known)
        twice = sorted(set(self.start) & {self.name(each) for each in request.case})
        if twice:
            remedy = "drop it from `start`"
            raise ArgumentError("Fmu.start", "must not set a parameter", twice, remedy)
        if find_spec("fmpy") is None:
            raise MissingExtra("fmpy", extra="fmu", purpose="running an FMU")

    def name(self, ours: str) -> str:
        """What the FMU calls a parameter or output of ours."""
        return self.names.get(ours, ours)

    def solve(self, request: Request) -> Answer:
        """One simulation."""
        grid = request.grid
        fine = np.linspace(grid[0], grid[-1], (len(grid) - 1) * self.substeps + 1)
        signals = [] if request.forcing is None else request.forcing(fine)
        values = {self.name(each): value for each, value in request.case.items()}
        arguments = {
            "file": str(self.file),
            "start": {**self.start, **values},
            "times": fine,
            "signals": dict(zip(self.inputs, signals, strict=bool(self.inputs))),
            "outputs": [self.name(each) for each in request.outputs],
            "kind": KINDS.get(self.kind or ""),
        }
        with tempfile.TemporaryDirectory(prefix="mflno-", ignore_cleanup_errors=True) as place:
            # The unpacked FMU goes into the same directory, so that a kill leaves nothing.
            folder, added = Path(place), {"TMPDIR": place}
            target = f"{__name__}:simulated"
            call = Call(target, arguments, folder, self.limit, added, scratch=folder)
            arrays = call_to_end(call)
        return Answer(arrays["values"][:, :: self.substeps], arrays["times"][:: self.substeps])

    def fingerprint(self) -> str:
        """The file's content and the settings."""
        settings = (dict(self.names), list(self.inputs), dict(self.start), self.kind)
        return digest_of("fmu", *settings, self.substeps, Path(self.file))


def check_forcing(solver: Fmu, request: Request) -> None:
    """Raise unless the forcing has one channel for each input that it drives."""
    channels = 0 if request.forcing is None else len(request.forcing(request.grid))
    if solver.inputs and channels != len(solver.inputs):
        rule = f"must name {channels} variables, one for each channel of the forcing"
        raise ArgumentError("Fmu.inputs", rule, list(solver.inputs), "list them in order")


def variables_in(file: Path) -> list[str]:
    """Names of all variables that the FMU describes."""
    try:
        with zipfile.ZipFile(file) as archive:
            root = ElementTree.fromstring(archive.read("modelDescription.xml"))
    except (zipfile.BadZipFile, KeyError, ElementTree.ParseError) as error:
        rule, remedy = "must be an FMU", "export it again"
        raise ArgumentError("Fmu.file", rule, f"{file.name} ({error})", remedy) from error
    listed = root.find("ModelVariables")
    return [] if listed is None else [each.get("name", "") for each in listed]


def check_known(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise unless the FMU knows the names; some tools ignore the others in silence."""
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, 5, 0.4) or list(known)[:20]
            remedy = f"it has {', '.join(near)}; map ours to one of its own with `names`"
            raise ArgumentError("Fmu.names", f"the FMU must know every {what}", name, remedy)


def simulated(
    file: str, start: dict[str, Any], times: list[float], signals: dict[str, list[float]],
    outputs: list[str], kind: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What the fresh interpreter is asked for: one simulation, sampled at the times."""
    from fmpy import read_model_description, simulate_fmu

    description = read_model_description(file)
    slave = description.coSimulation
    result = simulate_fmu(
        file, start_time=times[0], stop_time=times[-1],
        output_interval=(times[-1] - times[0]) / (len(times) - 1),
        start_values=start, input=signal(times, signals), output=outputs, fmi_type=kind,  # pyright: ignore
        record_events=False, set_input_derivatives=bool(slave and interpolates(slave)),
    )  # fmt: skip
    values = np.array([result[name] for name in outputs], dtype=float)
    return {"times": np.array(result["time"], dtype=float), "values": values}


def interpolates(slave: Any) -> bool:  # noqa: ANN401
    """Whether a co-simulation follows the slope of its input within a step."""
    return bool(getattr(slave, "canInterpolateInputs", False))


def signal(times: list[float], signals: dict[str, list[float]]) -> np.ndarray | None:
    """The input signal as a table whose columns have the variables' names."""
    if not signals:
        return None
    table = np.zeros(len(times), [("time", float), *((name, float) for name in signals)])
    table["time"] = times
    for name, values in signals.items():
        table[name] = values
    return table
