"""One self-contained file for a fitted object: its arrays, and what they mean as JSON."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy import ndarray

from mflno.errors import ArgumentError, StoreError
from mflno.store.arrays import read_arrays, write_arrays


class Bundle(NamedTuple):
    """What a bundle file holds: arrays by name, JSON about them, and the version written."""

    arrays: dict[str, ndarray]
    meta: dict[str, Any]
    version: int


def write_bundle(
    path: Path | str, arrays: Mapping[str, ndarray], meta: Mapping[str, Any], *,
    kind: str, version: int = 1,
) -> None:  # fmt: skip
    """Write arrays and JSON into one file, whole or not at all.

    Args:
        path: Where; `.mflno` by habit. Any safetensors reader opens it.
        arrays: Arrays by name.
        meta: Anything JSON can hold; finite numbers only.
        kind: What this is, as `"surrogate"`; a reader asks for it by name.
        version: Of this kind's layout; raise it when an older reader would read it wrongly.
    """
    try:
        text = json.dumps(dict(meta), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        remedy = "turn arrays into `arrays`, and leave out what is not finite"
        raise ArgumentError("write_bundle.meta", "must be JSON", error, remedy) from error
    write_arrays(path, arrays, {"kind": kind, "version": str(version), "meta": text})


def read_bundle(path: Path | str, *, kind: str, newest_version: int = 1) -> Bundle:
    """Read a bundle of one kind, up to the newest version the caller understands.

    Raises:
        StoreError: Gone, damaged, of another kind, or written by a newer mflno.
    """
    arrays, metadata = read_arrays(path)
    found = metadata.get("kind")
    if found != kind:
        raise StoreError(f"{path}: holds {found or 'plain arrays'}, not a {kind}")
    try:
        version, meta = int(metadata["version"]), json.loads(metadata["meta"])
    except (KeyError, ValueError) as error:
        raise StoreError(f"{path}: a {kind} without its version or description") from error
    if version > newest_version:
        text = f"{kind} version {version}, this mflno reads up to {newest_version}"
        raise StoreError(f"{path}: {text}; update mflno to read it")
    return Bundle(arrays, meta, version)
