"""Named arrays in one file: the safetensors format, with a checksum and a version of ours.

```
8 bytes     length of the header, little-endian
header      JSON: {"__metadata__": {...}, name: {"dtype", "shape", "data_offsets"}}, padded
data        the arrays' bytes, little-endian, row-major, widest numbers first, without gaps
```

The same arrays and metadata give the same bytes. The checksum covers names, shapes, metadata
and data, so that an altered file is refused instead of giving other numbers.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, StoreError
from mflno.store.files import read_bytes, write_bytes_atomic

FORMAT_VERSION = 1
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
OURS = "mflno.format", "mflno.sha256"


class Arrays(NamedTuple):
    """What a file of arrays holds."""

    arrays: dict[str, ndarray]
    metadata: dict[str, str]


def write_arrays(
    path: Path | str, arrays: Mapping[str, ndarray], metadata: Mapping[str, str] | None = None
) -> None:
    """Write named arrays and a little text about them, whole or not at all.

    Args:
        path: Where.
        arrays: Floats, integers, booleans; no objects, no complex numbers.
        metadata: Text by name; names that start with `mflno.` are kept for the format.
    """
    write_bytes_atomic(path, encode(arrays, metadata or {}))


def read_arrays(path: Path | str, *, checked: bool = True) -> Arrays:
    """Read what `write_arrays` wrote.

    Args:
        path: Which file.
        checked: Refuse a file without our checksum; False also reads anybody's safetensors.

    Raises:
        StoreError: The file is gone, cut short, altered, or of a newer version.
    """
    try:
        return decode(read_bytes(path), checked=checked)
    except _Damaged as error:
        raise StoreError(f"{path}: {error}") from error


class _Damaged(Exception):
    """What is wrong with the bytes; the reader adds which file."""


def little(name: str, array: ndarray) -> ndarray:
    """The array in little-endian row-major order; its dtype must have a name in the format."""
    array = np.asarray(array, order="C")
    dtype = array.dtype.newbyteorder("<")
    if dtype not in NAMES:
        rule = f"dtype must be one of {', '.join(str(d) for d in NAMES)}"
        remedy = "store real and imaginary parts, or numbers instead of objects"
        raise ArgumentError(f"write_arrays.arrays[{name!r}]", rule, array.dtype, remedy)
    return array.astype(dtype, copy=False)


def encode(arrays: Mapping[str, ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file."""
    check_names(arrays, metadata)
    plain = {name: little(name, array) for name, array in arrays.items()}
    # Widest numbers first keeps every array aligned to its own item size.
    order = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    header: dict[str, Any] = {}
    end = 0
    for name in order:
        begin, end = end, end + plain[name].nbytes
        header[name] = {
            "dtype": NAMES[plain[name].dtype],
            "shape": list(plain[name].shape),
            "data_offsets": [begin, end],
        }
    data = b"".join(plain[name].tobytes() for name in order)
    header["__metadata__"] = {**metadata, OURS[0]: str(FORMAT_VERSION)}
    header["__metadata__"][OURS[1]] = checksum(header, data)
    text = canonical(header)
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def check_names(arrays: Mapping[str, ndarray], metadata: Mapping[str, str]) -> None:
    """Raise on a name that the format keeps for itself, and on metadata that is not text."""
    if "__metadata__" in arrays:
        rule, remedy = "the name `__metadata__` belongs to the format", "choose another name"
        raise ArgumentError("write_arrays.arrays", rule, "it as an array's name", remedy)
    for name, text in metadata.items():
        if name.startswith("mflno.") or not isinstance(text, str):
            rule = "text by name, names not starting with 'mflno.'"
            remedy = "rename it, or encode it as JSON"
            raise ArgumentError("write_arrays.metadata", rule, {name: text}, remedy)


def canonical(header: dict[str, Any]) -> bytes:
    """The header as JSON with one spelling only."""
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def checksum(header: dict[str, Any], data: bytes | memoryview) -> str:
    """SHA-256 over the header without its checksum, then the data."""
    metadata = {k: v for k, v in header["__metadata__"].items() if k != OURS[1]}
    digest = hashlib.sha256(canonical({**header, "__metadata__": metadata}))
    digest.update(data)
    return digest.hexdigest()


def decode(raw: bytes, *, checked: bool) -> Arrays:
    """Arrays and metadata from a file's bytes."""
    header, data = split(raw)
    metadata = header.setdefault("__metadata__", {})
    verify(header, data, checked=checked)
    entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
    spans = sorted((entry["data_offsets"] for entry in entries.values()), key=tuple)
    ends = [0, *(end for _, end in spans)]
    if any(begin != end for (begin, _), end in zip(spans, ends, strict=False)):
        raise _Damaged("damaged: the arrays overlap or leave gaps")
    if ends[-1] != len(data):
        raise _Damaged(
            f"cut short or grown: {ends[-1]} bytes of data expected, {len(data)} there"
        )
    arrays = {name: unpack(name, entry, data) for name, entry in entries.items()}
    return Arrays(arrays, {k: v for k, v in metadata.items() if k not in OURS})


def split(raw: bytes) -> tuple[dict[str, Any], memoryview]:
    """Header and data, with every claim of the header checked for its form."""
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 8 or length > len(raw) - 8:
        raise _Damaged("cut short, or not a file of arrays: the header is not all there")
    try:
        header = json.loads(raw[8 : 8 + length], object_pairs_hook=unique)
    except ValueError as error:
        raise _Damaged("damaged: its header is not JSON") from error
    if not (isinstance(header, dict) and all(well_formed(*item) for item in header.items())):
        raise _Damaged("damaged: its header does not describe arrays")
    return header, memoryview(raw)[8 + length :]


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which no name comes twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name comes twice")
    return found


def well_formed(name: str, entry: object) -> bool:
    """Whether one entry of the header is text by name, or a dtype, a shape and two offsets."""
    if not isinstance(entry, dict):
        return False
    if name == "__metadata__":
        return all(isinstance(text, str) for text in entry.values())
    offsets = entry.get("data_offsets")
    return (
        isinstance(entry.get("dtype"), str)
        and counts(entry.get("shape"))
        and counts(offsets)
        and len(offsets) == 2
        and offsets[0] <= offsets[1]
    )


def counts(row: object) -> TypeGuard[list[int]]:
    """Whether this is a list of whole numbers from zero up."""
    return isinstance(row, list) and all(type(n) is int and n >= 0 for n in row)


def verify(header: dict[str, Any], data: memoryview, *, checked: bool) -> None:
    """Raise on a newer version, and on bytes that do not give the checksum they carry."""
    version, found = (header["__metadata__"].get(name) for name in OURS)
    if version is not None and (not version.isdigit() or int(version) > FORMAT_VERSION):
        text = f"format version {version}, this mflno reads up to {FORMAT_VERSION}"
        raise _Damaged(f"{text}; update mflno to read it")
    if found is None and checked:
        raise _Damaged("has no mflno checksum: not written by mflno, or its header was altered")
    if found is not None and found != checksum(header, data):
        raise _Damaged("damaged or altered: the checksum does not fit; restore it from a copy")


def unpack(name: str, entry: dict[str, Any], data: memoryview) -> ndarray:
    """One array, copied so that it is aligned, writable and outlives the file's bytes."""
    if entry["dtype"] not in DTYPES:
        raise _Damaged(f"array {name!r} has dtype {entry['dtype']}, which NumPy does not have")
    dtype, shape = np.dtype(DTYPES[entry["dtype"]]), tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    if math.prod(shape) * dtype.itemsize != end - begin:
        raise _Damaged(f"damaged: the bytes of array {name!r} do not fit its shape")
    return np.frombuffer(data[begin:end], dtype).reshape(shape).copy()
