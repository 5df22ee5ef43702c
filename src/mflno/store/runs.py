"""One folder a run, written once: what was asked, what came, and the proof that it is whole.

```
runs/0007.tmp-1f3a/   a run at work, or one whose worker died: incomplete, nobody reads it
runs/0007/            finished: spec.json, log.txt, output.npz, done.json; never changed again
```

A run counts as finished when the folder without `.tmp` exists. It gets its name by a rename
after everything in it is on the disk, so that the journal can be rebuilt from the folders.
"""

import hashlib
import io
import json
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, StoreError
from mflno.store.files import read_bytes, sync_file, sync_folder, told, write_synced

SPEC, LOG, OUTPUT, DONE = "spec.json", "log.txt", "output.npz", "done.json"
WORK = ".tmp-"


@dataclass(frozen=True)
class RunRecord:
    """What `done.json` says about a finished run.

    Attributes:
        name: The run's folder.
        spec: What was asked: case, level, attempt and whatever the driver added.
        succeeded: Whether there is an output.
        seconds: How long it took.
        cost: What it cost, in the level's own unit.
        checksum: SHA-256 of `output.npz`; empty for a failed run.
        shapes: Shape of each array of the output.
        kind: Why a failed run failed, one of `SolveFailed.KINDS`.
        detail: The same in words.
        finished: When, in seconds since 1970.
    """

    name: str
    spec: dict[str, Any] = field(hash=False)
    succeeded: bool
    seconds: float
    cost: float
    checksum: str = ""
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    kind: str = ""
    detail: str = ""
    finished: float = 0.0


def start_run(root: Path | str, name: str, spec: Mapping[str, Any]) -> Path:
    """A fresh working folder for a run, with `spec.json` and an empty `log.txt` in it."""
    if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) or WORK in name:
        rule, remedy = "letters, digits, '.', '_' and '-'", "as '0007' or '0007-retry1'"
        raise ArgumentError("start_run.name", rule, repr(name), remedy)
    work = Path(root) / f"{name}{WORK}{secrets.token_hex(4)}"
    text = as_json("start_run.spec", spec)
    with told(work, "creating"):
        work.mkdir(parents=True)
        write_synced(work / SPEC, text)
        write_synced(work / LOG, b"")
    return work


def finish_run(
    work: Path, arrays: Mapping[str, ndarray], *, seconds: float, cost: float
) -> RunRecord:
    """Put a run's output beside its spec and give the folder its final name.

    When another attempt at the same run finished first, that one stands and is returned.
    """
    data = packed(arrays)
    with told(work, "writing the output"):
        (work / OUTPUT).unlink(missing_ok=True)
        write_synced(work / OUTPUT, data)
    done = {
        "succeeded": True,
        "checksum": hashlib.sha256(data).hexdigest(),
        "shapes": {name: list(np.shape(array)) for name, array in arrays.items()},
    }
    return seal(work, {**done, "seconds": float(seconds), "cost": float(cost)})


def packed(arrays: Mapping[str, ndarray]) -> bytes:
    """The bytes of an `.npz` file; the same arrays give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as page:
                if np.asarray(array).dtype.hasobject:
                    rule, remedy = "must be numbers", "return an array of floats"
                    place = f"finish_run.arrays[{name!r}]"
                    raise ArgumentError(place, rule, "Python objects", remedy)
                np.lib.format.write_array(page, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def fail_run(work: Path, kind: str, detail: str, *, seconds: float, cost: float) -> RunRecord:
    """Record that a run failed for good, and give the folder its final name."""
    done = {"succeeded": False, "kind": kind, "detail": detail}
    return seal(work, {**done, "seconds": float(seconds), "cost": float(cost)})


def seal(work: Path, done: dict[str, Any]) -> RunRecord:
    """Write `done.json`, wait for the disk, rename; the one moment a run becomes finished."""
    root, name = work.parent, work.name.partition(WORK)[0]
    text = as_json("finish_run", {**done, "finished": time.time()})
    with told(work, "finishing"):
        (work / DONE).unlink(missing_ok=True)
        write_synced(work / DONE, text)
        sync_file(work / LOG)
        sync_folder(work)
        try:
            work.rename(root / name)
        except OSError:
            # A full folder of that name can only be the same run, finished by another attempt.
            earlier = find_run(root, name)
            if earlier is None:
                raise
            shutil.rmtree(work, ignore_errors=True)
            return earlier
        sync_folder(root)
    return read_record(root / name)


def find_run(root: Path | str, name: str) -> RunRecord | None:
    """The record of a finished run; None while it is not finished or was never started."""
    folder = Path(root) / name
    return read_record(folder) if folder.is_dir() else None


def read_record(folder: Path) -> RunRecord:
    """`spec.json` and `done.json` of a finished run."""
    spec, done = (from_json(folder / name) for name in (SPEC, DONE))
    shapes = {name: tuple(shape) for name, shape in done.pop("shapes", {}).items()}
    try:
        return RunRecord(name=folder.name, spec=spec, shapes=shapes, **done)
    except TypeError as error:
        text = "damaged, or written by a newer mflno; restore it, or delete the run's folder"
        raise StoreError(f"{folder / DONE}: {text}") from error


def load_output(root: Path | str, name: str) -> dict[str, ndarray]:
    """The arrays of a succeeded run, after their checksum was found to fit.

    Raises:
        StoreError: Not finished, failed, damaged or gone.
    """
    record, path = find_run(root, name), Path(root) / name / OUTPUT
    if record is None or not record.succeeded:
        state = "is not finished" if record is None else f"failed: {record.kind}"
        raise StoreError(f"{path}: run {name} {state}; it has no output")
    data = read_bytes(path)
    if hashlib.sha256(data).hexdigest() != record.checksum:
        text = "damaged or altered: the checksum does not fit"
        raise StoreError(
            f"{path}: {text}; restore it, or delete the run's folder to solve again"
        )
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return {key: found[key] for key in found.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise StoreError(f"{path}: cannot be read: {error}") from error


def list_runs(root: Path | str) -> list[RunRecord]:
    """The records of all finished runs by name: enough to rebuild a journal."""
    return [read_record(folder) for folder in folders(root) if WORK not in folder.name]


def incomplete_runs(root: Path | str) -> list[Path]:
    """Working folders: runs at work, and runs whose worker died."""
    return [folder for folder in folders(root) if WORK in folder.name]


def folders(root: Path | str) -> list[Path]:
    """All folders under the root, by name; none when the root is not there yet."""
    root = Path(root)
    with told(root, "listing"):
        return sorted(path for path in root.glob("*") if path.is_dir())


def as_json(place: str, value: Mapping[str, Any]) -> bytes:
    """A small JSON file's bytes."""
    try:
        return json.dumps(dict(value), indent=1, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError) as error:
        rule, remedy = "must be JSON with finite numbers", "use float(), int() or .tolist()"
        raise ArgumentError(place, rule, error, remedy) from error


def from_json(path: Path) -> dict[str, Any]:
    """A small JSON file's content."""
    raw = read_bytes(path)
    try:
        value = json.loads(raw)
    except ValueError as error:
        value = error
    if not isinstance(value, dict):
        raise StoreError(f"{path}: damaged; restore it, or delete the run's folder")
    return value
