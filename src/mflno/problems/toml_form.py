"""A problem written down as TOML: every key known, every value of the right kind."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError
from mflno.problems.elsewhere import Elsewhere
from mflno.problems.executable import Executable
from mflno.problems.external import ExternalProblem
from mflno.problems.fmu import Fmu
from mflno.problems.function import PythonFunction
from mflno.problems.readers import Output
from mflno.problems.solver import Solver
from mflno.problems.umbridge import UmBridge

Table = Mapping[str, Any]
MOST_POINTS = 10_000_000


@dataclass(frozen=True)
class Kind:
    """One kind of value: what to call it, how to tell it, and what to make of it."""

    words: str
    holds: Callable[[Any], bool]
    make: Callable[[Any], Any] = lambda value: value


def every(kind: Kind, words: str) -> Kind:
    """Lists of one kind."""
    return Kind(words, lambda value: isinstance(value, list) and all(map(kind.holds, value)))


def table_of(kind: Kind, words: str) -> Kind:
    """Tables whose values are of one kind."""
    return Kind(
        words, lambda value: isinstance(value, Mapping) and all(map(kind.holds, value.values()))
    )


def is_number(value: object) -> bool:
    """Whether this is a number, which True is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> bool:
    """Whether this is a whole number, which True is not."""
    return isinstance(value, int) and not isinstance(value, bool)


TEXT = Kind("a text", lambda value: isinstance(value, str))
NUMBER = Kind("a number", is_number, float)
FINITE = Kind(
    "a number that is finite", lambda value: is_number(value) and abs(value) <= 1e300, float
)
INTEGER = Kind("a whole number", is_integer)
COLUMN = Kind("a name or a number", lambda value: isinstance(value, str) or is_integer(value))
PLAIN = Kind("a plain value", lambda value: isinstance(value, str | int | float | bool))
TABLE = Kind("a table", lambda value: isinstance(value, Mapping))
TEXTS = every(TEXT, "a list of texts")
TEXT_TABLE = table_of(TEXT, "a table of texts")
INTEGERS = every(INTEGER, "a list of whole numbers")

PROBLEM = {"name": TEXT, "version": TEXT, "outputs": TEXTS, "forcing": TEXT,
           "parameters": TABLE, "levels": every(TABLE, "tables, as [[levels]]")}  # fmt: skip
PARAMETER = {"low": FINITE, "high": FINITE, "unit": TEXT}
LEVEL = {"name": TEXT, "cost": FINITE, "grid": TABLE, "solver": TABLE}
GRID = {"start": FINITE, "stop": FINITE, "points": INTEGER}
OUTPUT = {"file": TEXT, "format": TEXT, "columns": every(COLUMN, "a list of names or numbers"),
          "time": COLUMN, "delimiter": TEXT}  # fmt: skip
FUNCTION = {"function": TEXT, "limit": NUMBER, "environment": TEXT_TABLE}
EXECUTABLE = {"command": TEXTS, "output": TABLE, "limit": NUMBER, "templates": TEXT_TABLE,
              "files": TEXTS, "environment": TEXT_TABLE, "success": INTEGERS, "ignores": TEXTS,
              "folder": TEXT, "runs": TEXT}  # fmt: skip
UMBRIDGE = {"url": TEXT, "model": TEXT, "limit": NUMBER, "config": TABLE,
            "sizes": INTEGERS, "time": INTEGER}  # fmt: skip
FMU = {"file": TEXT, "limit": NUMBER, "names": TEXT_TABLE, "inputs": TEXTS,
       "start": table_of(PLAIN, "a table of plain values"), "mode": TEXT,
       "substeps": INTEGER, "tolerance": NUMBER}  # fmt: skip


def problem_from_toml(source: str | Path | Table, folder: str | Path = ".") -> ExternalProblem:
    """A problem from a TOML file, or from a table that was read from one.

    Relative paths start at the file's own directory, or at the folder given with a table. See
    `docs/add-a-problem.md` for the keys.

    Example:
        >>> decay = {"kind": "function", "function": "math:exp"}
        >>> problem = problem_from_toml({
        ...     "name": "decay",
        ...     "parameters": {"a": {"low": 0.1, "high": 1.0}},
        ...     "levels": [
        ...         {"name": "coarse", "grid": {"stop": 1.0, "points": 5}, "solver": decay},
        ...         {"name": "fine", "grid": {"stop": 1.0, "points": 9}, "solver": decay},
        ...     ],
        ... })
        >>> problem.levels[1].points
        9
    """
    if isinstance(source, Mapping):
        table, place = source, Path(folder).absolute()
    else:
        path = Path(source).absolute()
        table, place = parsed(path), path.parent
    given = known("problem", table, PROBLEM, ("name", "parameters", "levels"))
    parameters = [parameter_of(name, each) for name, each in given.pop("parameters").items()]
    levels = [level_of(f"levels[{k}]", each) for k, each in enumerate(given.pop("levels"))]
    solvers = [
        solver_of(f"levels[{k}].solver", each["solver"], place)
        for k, each in enumerate(table["levels"])
    ]
    if "forcing" in given:
        given["forcing"] = located(given["forcing"], place)
    return ExternalProblem(**given, parameters=parameters, levels=levels, solvers=solvers)


def parsed(path: Path) -> Table:
    """The tables of a TOML file."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        remedy = "check the path"
        raise ArgumentError("problem", "must be a readable file", error, remedy) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        rule, remedy = "must be TOML", "correct that line"
        raise ArgumentError(str(path), rule, error, remedy) from error


def known(
    place: str, table: object, keys: Mapping[str, Kind], needed: tuple[str, ...]
) -> dict[str, Any]:
    """A copy of the table, or the error that names the key and says what would be right."""
    if not isinstance(table, Mapping):
        raise ArgumentError(place, "must be a table", repr(table), f"with {', '.join(keys)}")
    for key, value in table.items():
        if key not in keys:
            rule, remedy = f"takes {', '.join(keys)}", "correct or remove it"
            raise ArgumentError(place, rule, f"the unknown key {key!r}", remedy)
        if not keys[key].holds(value):
            rule, remedy = f"must be {keys[key].words}", "correct the value"
            raise ArgumentError(f"{place}.{key}", rule, repr(value), remedy)
    for key in needed:
        if key not in table:
            remedy = f"add it; {place} takes {', '.join(keys)}"
            raise ArgumentError(f"{place}.{key}", "is needed", "nothing", remedy)
    return {key: keys[key].make(value) for key, value in table.items()}


def parameter_of(name: str, table: object) -> Parameter:
    """One axis of the box."""
    given = known(f"parameters.{name}", table, PARAMETER, ("low", "high"))
    return Parameter(name, given["low"], given["high"], given.get("unit", ""))


def level_of(place: str, table: object) -> Level:
    """One fidelity."""
    given = known(place, table, LEVEL, ("name", "grid", "solver"))
    grid = known(f"{place}.grid", given["grid"], GRID, ("stop", "points"))
    if not 4 <= grid["points"] <= MOST_POINTS:
        rule, remedy = f"must be 4 or more, up to {MOST_POINTS}", "choose what the output needs"
        raise ArgumentError(f"{place}.grid.points", rule, grid["points"], remedy)
    times = np.linspace(grid.get("start", 0.0), grid["stop"], grid["points"])
    return Level(given["name"], times, given.get("cost", 1.0))


def solver_of(place: str, table: object, folder: Path) -> Solver:
    """The adapter that a solver table asks for."""
    given = dict(table) if isinstance(table, Mapping) else {}
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in SOLVERS:
        rule, remedy = f"must be one of {', '.join(SOLVERS)}", "name the kind of solver"
        raise ArgumentError(f"{place}.kind", rule, repr(kind), remedy)
    return SOLVERS[kind](place, given, folder)


def function_of(place: str, table: Table, folder: Path) -> Solver:
    """A Python function by name."""
    given = known(place, table, FUNCTION, ("function",))
    return PythonFunction(**{**given, "function": located(given["function"], folder)})


def executable_of(place: str, table: Table, folder: Path) -> Solver:
    """A program."""
    given = known(place, table, EXECUTABLE, ("command", "output", "limit"))
    output = Output(**known(f"{place}.output", given.pop("output"), OUTPUT, ("file",)))
    start = folder / given.pop("folder", ".")
    return Executable(**given, output=output, folder=start)


def umbridge_of(place: str, table: Table, folder: Path) -> Solver:
    """A model behind a URL."""
    del folder
    return UmBridge(**known(place, table, UMBRIDGE, ("url", "limit")))


def fmu_of(place: str, table: Table, folder: Path) -> Solver:
    """An FMU file."""
    given = known(place, table, FMU, ("file", "limit"))
    return Fmu(**{**given, "file": folder / given["file"]})


def elsewhere_of(place: str, table: Table, folder: Path) -> Solver:
    """Runs that somebody makes elsewhere."""
    del folder
    known(place, table, {}, ())
    return Elsewhere()


def located(target: str, folder: Path) -> str:
    """A function's name, its file found from the folder where it names a file."""
    home, colon, name = target.rpartition(":")
    return f"{folder / home}:{name}" if colon and home.endswith(".py") else target


SOLVERS: dict[str, Callable[[str, Table, Path], Solver]] = {
    "function": function_of,
    "executable": executable_of,
    "umbridge": umbridge_of,
    "fmu": fmu_of,
    "elsewhere": elsewhere_of,
}
"""Name of each kind of solver and what makes it of its table."""
