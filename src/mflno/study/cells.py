"""Results of a study on disk: one file for each content, found by what was asked.

A cell is one contender at one budget with all its seeds, which are computed together. Its
address is a digest of everything the result depends on, so a study that is killed goes on
where it was, and a changed setting never meets an old result.
"""

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.store import read_arrays, write_arrays, write_text_atomic

LAYOUT = 1
Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One result.

    Attributes:
        asked: Everything it depends on.
        found: What came out, as JSON.
        arrays: Trajectories to draw.
    """

    asked: Mapping[str, Any]
    found: Row
    arrays: Mapping[str, ndarray]


@dataclass(frozen=True)
class Shelf:
    """A folder of cells."""

    folder: Path

    def path(self, asked: Mapping[str, Any]) -> Path:
        """Where the cell with this content lies."""
        return self.folder / f"{address(asked)}.json"

    def find(self, asked: Mapping[str, Any]) -> Cell | None:
        """The cell, if it was computed before."""
        path = self.path(asked)
        if not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        beside = path.with_suffix(".safetensors")
        arrays = read_arrays(beside).arrays if beside.exists() else {}
        return Cell(found["asked"], found["found"], arrays)

    def keep(self, cell: Cell) -> Cell:
        """Write a cell; when this returns it survives a kill."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.path(cell.asked)
        # Arrays first: a cell whose JSON is there is whole.
        if cell.arrays:
            single = {name: np.asarray(v, dtype=np.float32) for name, v in cell.arrays.items()}
            write_arrays(path.with_suffix(".safetensors"), single, {})
        text = json.dumps({"asked": cell.asked, "found": cell.found}, allow_nan=False)
        write_text_atomic(path, text + "\n")
        return cell

    def all(self, **wanted: Any) -> list[Cell]:  # noqa: ANN401
        """Every cell whose question says this, in a steady order."""
        cells = []
        for path in sorted(self.folder.glob("*.json")):
            asked = json.loads(path.read_text(encoding="utf-8"))["asked"]
            if all(asked.get(key) == value for key, value in wanted.items()):
                found = self.find(asked)
                if found:
                    cells.append(found)
        return cells


def machine(device: str) -> str:
    """Where a cell is made, in words."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    return f"one core ({platform.machine()})"


def address(asked: Mapping[str, Any]) -> str:
    """The digest of a question.

    Example:
        >>> address({"b": 1, "a": 2}) == address({"a": 2, "b": 1})
        True
    """
    text = json.dumps({"layout": LAYOUT, **asked}, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def digits(values: ndarray) -> list[Any]:
    """Numbers for JSON, six digits of each."""
    rounded = [float(f"{x:.6g}") for x in np.asarray(values, dtype=float).ravel()]
    return np.array(rounded).reshape(np.shape(values)).tolist()
