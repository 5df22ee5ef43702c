"""What a program wrote: columns of text, an array file, or JSON, as an answer."""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.solver import Answer

SUFFIXES = {".csv": "csv", ".npy": "npy", ".npz": "npz", ".json": "json"}
FORMATS = ("csv", "table", "npy", "npz", "json")
NUMBERED = ("table",)
FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")
Column = str | int


@dataclass(frozen=True)
class Output:
    """Which file a program leaves, and where in it the outputs are.

    Args:
        file: Name of the file, relative to the run's directory.
        format: `csv` (a header, then rows), `table` (columns between blanks, `#` comments),
            `npy`, `npz` or `json`; by the file's ending unless given, `table` for others.
        columns: One for each output. Header name or number counted from 0 for `csv`, number
            for `table`, key for `npz`, path as `result.u` for `json`. The names of the outputs
            unless given. An `.npy` file holds the outputs alone, one row each.
        time: Column of the times, compared with the level's grid where it is given.
        delimiter: What separates the columns of a `csv` file.

    Example:
        >>> Output("out.csv", time="t").kind
        'csv'
    """

    file: str
    format: str | None = None
    columns: Sequence[Column] | None = None
    time: Column | None = None
    delimiter: str = ","

    @property
    def kind(self) -> str:
        """The format, given or by the file's ending."""
        return self.format or SUFFIXES.get(Path(self.file).suffix.lower(), "table")

    def check(self, outputs: Sequence[str]) -> None:
        """Raise unless the columns can be found in a file of this format."""
        place, wanted = f"Output({self.file!r})", len(outputs)
        if Path(self.file).is_absolute() or ".." in Path(self.file).parts:
            # What lies elsewhere may be the answer of an earlier run.
            rule, remedy = "must lie in the run's directory", "let the program write it there"
            raise ArgumentError(f"{place}.file", rule, self.file, remedy)
        if self.kind not in FORMATS:
            rule, remedy = f"must be one of {', '.join(FORMATS)}", "or leave it out"
            raise ArgumentError(f"{place}.format", rule, repr(self.format), remedy)
        if self.kind == "npy" and (self.columns is not None or self.time is not None):
            rule, remedy = (
                "an .npy file has no columns",
                "leave columns and time out, or use npz",
            )
            raise ArgumentError(f"{place}.columns", rule, self.columns or self.time, remedy)
        columns = self.columns if self.columns is not None else outputs
        if len(columns) != wanted:
            rule = f"must be {wanted}, one for each of {', '.join(outputs)}"
            raise ArgumentError(f"{place}.columns", rule, columns, "list them in order")
        times = [] if self.time is None else [self.time]
        if self.kind in NUMBERED and not all(
            isinstance(each, int) for each in (*columns, *times)
        ):
            rule, came = "a table has numbered columns", [*columns, *times]
            raise ArgumentError(
                f"{place}.columns", rule, came, "count from 0, as columns = [1]"
            )

    def read(self, folder: Path, outputs: Sequence[str]) -> Answer:
        """What is in the file; raises `SolveFailed` when it is missing or cannot be read."""
        path = folder / self.file
        if not path.is_file():
            raise SolveFailed("output", f"wrote no {self.file}")
        columns = self.columns if self.columns is not None else outputs
        wanted = [*columns, *([] if self.time is None else [self.time])]
        try:
            if self.kind == "npy":
                return Answer(np.load(path, allow_pickle=False))
            rows = READERS[self.kind](path, wanted, self.delimiter)
        except (OSError, ValueError, KeyError, IndexError, TypeError, EOFError) as error:
            text = f"{self.file} cannot be read: {plain_words(error)}"
            raise SolveFailed("output", text) from error
        count = len(columns)
        return Answer(together(rows[:count]), None if self.time is None else rows[count])


def plain_words(error: Exception) -> str:
    """An exception's text; a `KeyError` would quote it."""
    return str(error.args[0]) if isinstance(error, KeyError) else str(error)


def together(rows: Sequence[ndarray]) -> ndarray:
    """The rows as one array; rows of different lengths are a wrong shape, not a wrong file."""
    lengths = {len(row) if row.ndim else 0 for row in rows}
    if len(lengths) > 1:
        raise SolveFailed("shape", f"outputs have different lengths: {sorted(lengths)}")
    return np.stack(rows)


def number(text: str) -> float:
    """A number as C, Python or Fortran prints it.

    Example:
        >>> number("1.5D-03"), number("-nan"), number("1e3")
        (0.0015, nan, 1000.0)
    """
    return float(FORTRAN.sub("e", text.strip().strip('"')))


def picked(lines: Iterable[tuple[int, list[str]]], positions: Sequence[int]) -> list[ndarray]:
    """The columns at some positions of numbered lines of cells."""
    rows = []
    for place, cells in lines:
        try:
            rows.append([number(cells[position]) for position in positions])
        except (ValueError, IndexError) as error:
            text = f"line {place}: {error}"
            raise ValueError(text) from error
    return list(np.array(rows, dtype=float).reshape(len(rows), len(positions)).T)


def csv_columns(path: Path, wanted: Sequence[Column], delimiter: str) -> list[ndarray]:
    """Columns of a delimited file by header name or by number."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    cells = [
        (place, line.split(delimiter)) for place, line in enumerate(lines, 1) if line.strip()
    ]
    if not cells:
        raise ValueError("it is empty")
    names = [cell.strip().strip('"') for cell in cells[0][1]]
    positions = []
    for column in wanted:
        if isinstance(column, str) and column not in names:
            text = f"no column {column!r} among {', '.join(names)}"
            raise KeyError(text)
        positions.append(names.index(column) if isinstance(column, str) else column)
    return picked(cells if headless(names) else cells[1:], positions)


def headless(names: Sequence[str]) -> bool:
    """Whether the first line is numbers already."""
    try:
        return bool([number(name) for name in names])
    except ValueError:
        return False


def table_columns(path: Path, wanted: Sequence[Column], delimiter: str) -> list[ndarray]:
    """Columns between blanks by number; `#` starts a comment."""
    del delimiter
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    cells = [(place, line.partition("#")[0].split()) for place, line in enumerate(lines, 1)]
    return picked([each for each in cells if each[1]], [int(column) for column in wanted])


def npz_columns(path: Path, wanted: Sequence[Column], delimiter: str) -> list[ndarray]:
    """Arrays of an `.npz` file by key."""
    del delimiter
    with np.load(path, allow_pickle=False) as file:
        return [np.asarray(file[str(key)]) for key in wanted]


def json_columns(path: Path, wanted: Sequence[Column], delimiter: str) -> list[ndarray]:
    """Lists of a JSON file by path; `null`, as some writers print NaN, is NaN."""
    del delimiter
    document = json.loads(path.read_text(encoding="utf-8-sig"))
    return [np.array(found_at(document, str(each)), dtype=float) for each in wanted]


def found_at(document: Any, path: str) -> Any:  # noqa: ANN401
    """What lies at a path of keys and list positions, as `runs.0.u`."""
    for key in path.split("."):
        if isinstance(document, list) and key.isdecimal():
            document = document[int(key)]
        elif isinstance(document, dict) and key in document:
            document = document[key]
        else:
            among = f" among {', '.join(document)}" if isinstance(document, dict) else ""
            text = f"no {key!r} of {path!r}{among}"
            raise KeyError(text)
    return document


READERS: dict[str, Callable[[Path, Sequence[Column], str], list[ndarray]]] = {
    "csv": csv_columns,
    "table": table_columns,
    "npz": npz_columns,
    "json": json_columns,
}
"""How the columns of each format are read."""
