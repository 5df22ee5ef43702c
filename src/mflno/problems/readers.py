"""What a program wrote: columns of text, an array file, or JSON, as an answer.

No more is read than a run can need: a program that writes without end fills its disk, and not
the memory of the process that reads it.
"""

import csv
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.solver import LARGEST, Answer

SUFFIXES = {".csv": "csv", ".npy": "npy", ".npz": "npz", ".json": "json"}
FORMATS = ("csv", "table", "npy", "npz", "json")
NUMBERED = ("table",)
FORTRAN = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")
MICROSOFT = re.compile(r"^([+-]?)1\.#(INF|QNAN|SNAN|IND)\d*$", re.I)
LONGEST_LINE = 1 << 24
"""Characters; a file without line ends is read up to here."""
FAULTS = (OSError, ValueError, KeyError, IndexError, TypeError, EOFError, ArithmeticError,
          RecursionError, NotImplementedError, BadZipFile, csv.Error)  # fmt: skip
"""What a reader raises over a file that is not what it should be."""
Column = str | int


@dataclass(frozen=True)
class Output:
    """Which file a program leaves, and where in it the outputs are.

    Args:
        file: Name of the file, relative to the run's directory.
        format: `csv` (a header, then rows; `#` comments), `table` (columns between blanks, `#`
            comments), `npy`, `npz` or `json`; by the file's ending unless given, `table` for
            others. A header may be a comment itself, as `numpy.savetxt` writes it.
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
        if not is_inside(self.file):
            # What lies elsewhere may be the answer of an earlier run.
            rule, remedy = "must lie in the run's directory", "let the program write it there"
            raise ArgumentError(f"{place}.file", rule, repr(self.file), remedy)
        if self.kind not in FORMATS:
            rule, remedy = f"must be one of {', '.join(FORMATS)}", "or leave it out"
            raise ArgumentError(f"{place}.format", rule, repr(self.format), remedy)
        if self.kind == "npy" and (self.columns is not None or self.time is not None):
            rule, remedy = (
                "an .npy file has no columns",
                "leave columns and time out, or use npz",
            )
            raise ArgumentError(f"{place}.columns", rule, self.columns or self.time, remedy)
        if len(self.delimiter) != 1 or self.delimiter in '#"\r\n':
            rule, remedy = "must be one character", 'use "," or ";" or "\\t"'
            raise ArgumentError(f"{place}.delimiter", rule, repr(self.delimiter), remedy)
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

    def read(self, folder: Path, outputs: Sequence[str], points: int) -> Answer:
        """What is in the file, no more than so many points of it.

        Raises `SolveFailed` when it is missing, cannot be read or is too long.
        """
        path = folder / self.file
        if not path.is_file():
            raise SolveFailed("output", f"wrote no {self.file}")
        columns = self.columns if self.columns is not None else outputs
        wanted = [*columns, *([] if self.time is None else [self.time])]
        try:
            if self.kind == "npy":
                return Answer(npy_values(path, len(columns) * points))
            rows = READERS[self.kind](path, wanted, self.delimiter, points)
        except FAULTS as error:
            text = f"{self.file} cannot be read: {plain_words(error)}"
            raise SolveFailed("output", text) from error
        count = len(columns)
        return Answer(together(rows[:count]), None if self.time is None else rows[count])


def is_inside(name: str) -> bool:
    """Whether this names a file in a run's directory, whatever is there."""
    path = Path(name)
    return bool(path.name) and not path.is_absolute() and ".." not in path.parts


def plain_words(error: BaseException) -> str:
    """An exception's text, no longer than a line; a `KeyError` would quote it."""
    text = str(error.args[0]) if isinstance(error, KeyError) else str(error)
    text = text.replace("\0", "\\0") or type(error).__name__
    return text if len(text) <= 400 else f"{text[:400]} ..."


def together(rows: Sequence[ndarray]) -> ndarray:
    """The rows as one array; rows of different lengths are a wrong shape, not a wrong file."""
    lengths = {len(row) if row.ndim else 0 for row in rows}
    if len(lengths) > 1:
        raise SolveFailed("shape", f"outputs have different lengths: {sorted(lengths)}")
    return np.stack(rows)


def number(text: str) -> float:
    """A number as C, Python, Fortran or Microsoft's C prints it.

    Example:
        >>> number("1.5D-03"), number("-nan"), number("1e3"), number("-1.#INF")
        (0.0015, nan, 1000.0, -inf)
    """
    word = text.strip().strip('"')
    odd = MICROSOFT.match(word)
    if odd:
        return float(odd[1] + ("inf" if odd[2].upper() == "INF" else "nan"))
    return float(FORTRAN.sub("e", word))


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers; letters of no alphabet are kept out."""
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        for place, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), 1):
            if len(line) == LONGEST_LINE:
                text = f"line {place} does not end"
                raise ValueError(text)
            if line.strip():
                yield place, line


def picked(
    lines: Iterable[tuple[int, list[str]]], positions: Sequence[int], points: int
) -> list[ndarray]:
    """The columns at some positions of numbered lines of cells."""
    rows = []
    for place, cells in lines:
        if len(rows) == points:
            text = f"has more than the {points} rows of the level's grid"
            raise SolveFailed("shape", text)
        try:
            rows.append([number(cells[position]) for position in positions])
        except (ValueError, IndexError) as error:
            text = f"line {place}: {error}"
            raise ValueError(text) from error
    return list(np.array(rows, dtype=float).reshape(len(rows), len(positions)).T)


def csv_columns(
    path: Path, wanted: Sequence[Column], delimiter: str, points: int
) -> list[ndarray]:
    """Columns of a delimited file by header name or by number."""
    names, rows = header_and_rows(path, delimiter)
    for column in wanted:
        if isinstance(column, str) and column not in names:
            text = f"no column {column!r} among {', '.join(names) or 'no names'}"
            raise KeyError(text)
    place = lambda column: names.index(column) if isinstance(column, str) else column
    return picked(rows, [place(column) for column in wanted], points)


def header_and_rows(
    path: Path, delimiter: str
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """The names of the columns, or none, and the numbered lines of cells behind them."""
    cells = lambda line: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    said, lines = "", lines_of(path)
    place, line = next(lines, (0, ""))
    while line.startswith("#"):
        said = line.strip("# \n")
        place, line = next(lines, (0, ""))
    if not line:
        raise ValueError("it is empty")
    rows = ((place, cells(line)) for place, line in lines if not line.startswith("#"))
    names = cells(line)
    if headless(names):
        rows = itertools.chain([(place, names)], rows)
        names = cells(said) if said else []
    return [name.strip() for name in names], rows


def headless(names: Sequence[str]) -> bool:
    """Whether the first line is numbers already."""
    try:
        return bool([number(name) for name in names])
    except ValueError:
        return False


def table_columns(
    path: Path, wanted: Sequence[Column], delimiter: str, points: int
) -> list[ndarray]:
    """Columns between blanks by number; `#` starts a comment."""
    del delimiter
    cells = ((place, line.partition("#")[0].split()) for place, line in lines_of(path))
    filled = (each for each in cells if each[1])
    return picked(filled, [int(column) for column in wanted], points)


def npy_values(path: Path, count: int) -> ndarray:
    """The array in an `.npy` file, which is looked at before it is read."""
    if path.stat().st_size > LARGEST + 16 * count:
        shape = np.load(path, mmap_mode="r", allow_pickle=False).shape
        raise SolveFailed("shape", f"must hold {count} numbers, came shape {shape}")
    return np.load(path, allow_pickle=False)


def npz_columns(
    path: Path, wanted: Sequence[Column], delimiter: str, points: int
) -> list[ndarray]:
    """Arrays of an `.npz` file by key."""
    del delimiter
    with ZipFile(path) as archive:
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    for key in wanted:
        if sizes.get(f"{key}.npy", 0) > LARGEST + 16 * points:
            raise SolveFailed("shape", f"{key} has more than the {points} points of the grid")
    with np.load(path, allow_pickle=False) as file:
        return [np.asarray(file[str(key)]) for key in wanted]


def json_columns(
    path: Path, wanted: Sequence[Column], delimiter: str, points: int
) -> list[ndarray]:
    """Lists of a JSON file by path; `null`, as some writers print NaN, is NaN."""
    del delimiter, points
    if path.stat().st_size > LARGEST:
        text = f"it has {path.stat().st_size} bytes, more than the {LARGEST} that are read"
        raise ValueError(text)
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


READERS: dict[str, Callable[[Path, Sequence[Column], str, int], list[ndarray]]] = {
    "csv": csv_columns,
    "table": table_columns,
    "npz": npz_columns,
    "json": json_columns,
}
"""How the columns of each format are read."""
