"""A Python function as the solver of one level."""

import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mflno.errors import SolveFailed
from mflno.problems.checking import real_numbers
from mflno.problems.fingerprint import traces
from mflno.problems.solver import Answer, Request, check_limit, digest_of
from mflno.processes import Call, call_to_end, failure_of, function_named, name_of


@dataclass(frozen=True)
class PythonFunction:
    """A function `solve(case, grid)`: a dict of parameter values and times in, values out.

    It returns the outputs on the grid, one row each, or a pair `(times, values)`, whose times
    are compared with the grid. An exception it raises becomes a `SolveFailed`.

    Args:
        function: The function, or its name as `module:function` or `file.py:function`.
        limit: Seconds a run may take. With a limit (`inf` counts) every run gets a fresh
            interpreter of its own, which may crash or hang without harm.
        environment: Variables added for a run in a process of its own.

    Example:
        >>> solver = PythonFunction(lambda case, grid: case["a"] * grid)
        >>> solver.solve(Request({"a": 2.0}, np.array([0.0, 0.5]), ("u",))).values
        array([0., 1.])
    """

    function: Callable[..., Any] | str
    limit: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def check(self, request: Request) -> None:
        """Find the function; with a limit, see that a fresh interpreter can find it too."""
        del request
        if self.limit is not None:
            check_limit("PythonFunction", self.limit)
            name_of(self.function)
        if isinstance(self.function, str):
            function_named(self.function)

    def solve(self, request: Request) -> Answer:
        """Call the function, here or in a process of its own."""
        if self.limit is not None:
            return guarded(self, self.limit, request)
        function = self.function
        if isinstance(function, str):
            function = function_named(function)
        try:
            given = function(dict(request.case), np.array(request.grid))
        except SolveFailed:
            raise
        except (Exception, SystemExit) as error:
            raise failure_of(error, traceback.format_exc(limit=-8)) from error
        return split(given, len(request.outputs))

    def fingerprint(self) -> str:
        """The function's name and all that `traces` sees of it; what it calls is not seen."""
        function, name = self.function, ""
        if isinstance(function, str):
            name, function = Path(function).name, function_named(function)
        name = name or getattr(function, "__qualname__", "")
        return digest_of("function", name, traces(function), dict(self.environment))


def split(given: object, outputs: int) -> Answer:
    """Values, or times and values; two rows in a tuple are the values of two outputs."""
    if not (isinstance(given, tuple) and len(given) == 2):
        return Answer(given)
    rows = outputs == 2 and np.ndim(given[0]) == 1 and np.ndim(given[1]) == 1
    return Answer(list(given)) if rows else Answer(given[1], given[0])


def guarded(solver: PythonFunction, limit: float, request: Request) -> Answer:
    """Call the function in a fresh interpreter."""
    arguments = {
        "target": name_of(solver.function),
        "case": dict(request.case),
        "grid": request.grid,
        "outputs": len(request.outputs),
    }
    with tempfile.TemporaryDirectory(prefix="mflno-", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        target = f"{__name__}:arrays_of"
        call = Call(target, arguments, folder, limit, solver.environment, scratch=folder)
        arrays = call_to_end(call)
    return Answer(arrays["values"], arrays.get("times"))


def arrays_of(
    target: str, case: dict[str, float], grid: list[float], outputs: int
) -> dict[str, Any]:
    """What the fresh interpreter is asked for."""
    answer = split(function_named(target)(case, np.array(grid)), outputs)
    values = real_numbers(answer.values)
    if values.size > outputs * len(grid):
        # Said here, so that what is far too large need not travel.
        wanted = outputs, len(grid)
        raise SolveFailed("shape", f"must be {wanted} (outputs, times), came {values.shape}")
    arrays = {"values": values}
    return arrays if answer.times is None else {**arrays, "times": real_numbers(answer.times)}
