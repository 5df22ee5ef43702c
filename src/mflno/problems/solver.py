"""What an adapter is asked and what it answers; one adapter solves one level."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.shapes import Float

Forcing = Callable[[Float[ndarray, " T"]], Float[ndarray, "C T"]]
"""The forcing of one case, on any grid."""

LARGEST = 1 << 27
"""Bytes of an answer that are read where it must be held as a whole."""


@dataclass(frozen=True)
class Request:
    """One run that an adapter is asked for.

    Attributes:
        case: Value of each parameter, by name.
        grid: Times at which the answer is wanted.
        outputs: Names of the output functions wanted.
        forcing: The forcing of this case; none where the problem has none.
    """

    case: Mapping[str, float]
    grid: Float[ndarray, " T"]
    outputs: tuple[str, ...]
    forcing: Forcing | None = None


@dataclass(frozen=True)
class Answer:
    """What a solver gave: values as it gave them, and its own times where it told them."""

    values: object
    times: object = None


@runtime_checkable
class Solver(Protocol):
    """A solver of one level; a frozen object that can be pickled."""

    def check(self, request: Request) -> None:
        """Raise `ArgumentError` where such a request could never work; starts nothing."""
        ...

    def solve(self, request: Request) -> Answer:
        """One run; raises `SolveFailed`."""
        ...

    def fingerprint(self) -> str:
        """Changes when the same request would give other numbers, as far as can be known."""
        ...


def digest_of(*parts: object) -> str:
    """A short digest of texts, paths (what is in them), numbers and tables of them."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, Path):
            for name, path in files_in(part):
                with open(path, "rb") as file:
                    content = hashlib.file_digest(file, "sha256").digest()
                found.update(os.fsencode(name) + b"\x1e" + content)
        else:
            found.update(json.dumps(part, default=repr, sort_keys=True).encode())
        found.update(b"\x1f")
    return found.hexdigest()[:16]


def files_in(path: Path) -> list[tuple[str, Path]]:
    """The file itself, or every file below a directory with its name from there."""
    if not path.is_dir():
        return [("", path)] if path.is_file() else []
    found = sorted(each for each in path.rglob("*") if each.is_file())
    return [(each.relative_to(path).as_posix(), each) for each in found]


def check_limit(place: str, limit: float) -> None:
    """Raise unless the time limit is a positive number of seconds."""
    if not limit > 0:
        remedy = "pass seconds, or inf for no limit"
        raise ArgumentError(f"{place}.limit", "must be positive", limit, remedy)


def check_file(place: str, path: Path) -> None:
    """Raise unless the file is there."""
    if not path.is_file():
        remedy = "check the path; relative paths start at `folder`"
        raise ArgumentError(place, "must be an existing file", path, remedy)
