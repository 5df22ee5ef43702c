"""Trajectories as files others can read: `.npz`, and netCDF through xarray (extra)."""

import hashlib
import io
import json
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from mflno.data import Parameter, Trajectories
from mflno.errors import ArgumentError, MissingExtra, StoreError
from mflno.store import read_bytes, write_bytes_atomic

if TYPE_CHECKING:
    import xarray

SCHEMA = 1
SUFFIXES = ".npz", ".nc"
TAKEN = "sample", "time", "output", "channel", "u", "f"
ARRAYS = "cases", "grid", "inputs", "values"
SEAL = b"\nmflno sha256 "
"""Behind a netCDF file, where HDF5 does not look: the digest of all before it.

HDF5 has no check of its own, and may loop for ever over a damaged file. A program that edits
the file cuts the seal off.
"""
DAMAGED = (KeyError, ValueError, OSError, TypeError, AttributeError, RuntimeError, EOFError,
           BadZipFile, zlib.error)  # fmt: skip


def write_trajectories(trajectories: Trajectories, path: Path | str) -> None:
    """Write a file by its suffix, `.npz` or `.nc`, whole or not at all.

    The same trajectories give the same `.npz` bytes.
    """
    path = Path(path)
    check_target("write_trajectories.path", path)
    packed = as_netcdf if path.suffix == ".nc" else as_npz
    write_bytes_atomic(path, packed(trajectories))


def read_trajectories(path: Path | str) -> Trajectories:
    """Read what `write_trajectories` wrote."""
    path = Path(path)
    check_suffix("read_trajectories.path", path)
    data = read_bytes(path)
    try:
        return (from_netcdf if path.suffix == ".nc" else from_npz)(data)
    except MissingExtra:
        raise
    except DAMAGED as error:
        text = f"{path}: not trajectories, or damaged: {type(error).__name__}: {error}"
        raise StoreError(text) from error


def check_target(place: str, path: Path | str) -> None:
    """Refuse a file that cannot be written, before anything is solved for it."""
    path = Path(path)
    check_suffix(place, path)
    if not path.parent.is_dir():
        raise ArgumentError(place, "its folder must exist", path.parent, "make it first")


def check_suffix(place: str, path: Path) -> None:
    """Refuse a kind of file that we do not know, or that needs a missing package."""
    if path.suffix not in SUFFIXES:
        rule = f"must end in {' or '.join(SUFFIXES)}"
        raise ArgumentError(place, rule, path.name, "change the ending")
    if path.suffix == ".nc":
        xarray_module()


def description(trajectories: Trajectories) -> dict[str, Any]:
    """All that is not an array."""
    box = [[p.name, p.low, p.high, p.unit] for p in trajectories.parameters]
    return {
        "schema": SCHEMA,
        "problem": trajectories.problem,
        "level": trajectories.level,
        "outputs": list(trajectories.outputs),
        "parameters": box,
    }


def as_npz(trajectories: Trajectories) -> bytes:
    """The bytes of an `.npz` file; its `about` is JSON."""
    buffer = io.BytesIO()
    arrays = {name: getattr(trajectories, name) for name in ARRAYS}
    np.savez(buffer, about=np.array(json.dumps(description(trajectories))), **arrays)
    return buffer.getvalue()


def from_npz(data: bytes) -> Trajectories:
    """The trajectories of an `.npz` file's bytes."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        return Trajectories(
            **{name: file[name] for name in ARRAYS},
            level=int(about["level"]),
            problem=str(about["problem"]),
            parameters=tuple(Parameter(*row) for row in about["parameters"]),
            outputs=tuple(about["outputs"]),
        )


def xarray_module() -> Any:  # noqa: ANN401
    """Xarray and the netCDF writer behind it, or the error that names the extra."""
    for package in ("xarray", "h5netcdf", "h5py"):
        try:
            __import__(package)
        except ImportError as error:
            raise MissingExtra(package, extra="xarray", purpose="netCDF") from error
    import xarray

    return xarray


def as_dataset(trajectories: Trajectories) -> "xarray.Dataset":
    """An xarray dataset by the CF conventions for ensembles of time series.

    Dimensions `sample`, `time`, `output` and, where there is forcing, `channel`. The parameters
    are coordinates along `sample`; `u` holds the outputs and `f` the forcing. A parameter whose
    name is one of these is called `parameter_f`; its own name is the attribute `long_name`.
    """
    xarray = xarray_module()
    t = trajectories
    coordinates: dict[str, Any] = {
        "sample": ("sample", [f"{row:06d}" for row in range(len(t))]),
        "time": ("time", t.grid, {"units": "s", "axis": "T", "standard_name": "time"}),
        "output": ("output", list(t.outputs)),
    }
    coordinates["sample"] += ({"cf_role": "timeseries_id"},)
    for name, column, p in zip(columns(t.parameters), t.cases.T, t.parameters, strict=True):
        words = {"role": "parameter", "units": p.unit or "1", "valid_range": [p.low, p.high]}
        coordinates[name] = ("sample", column, {**words, "long_name": p.name})
    variables: dict[str, Any] = {
        "u": (("sample", "time", "output"), np.swapaxes(t.values, 1, 2)),
    }
    if t.inputs.shape[1]:
        variables["f"] = (("sample", "time", "channel"), np.swapaxes(t.inputs, 1, 2))
    about = description(t)
    words = {
        "Conventions": "CF-1.11",
        "featureType": "timeSeries",
        "problem": t.problem,
        "level": t.level,
        "mflno": json.dumps(about),
    }
    return xarray.Dataset(variables, coords=coordinates, attrs=words)


def columns(parameters: Sequence[Parameter]) -> list[str]:
    """What the parameters are called in a file, where some names are taken or not allowed."""
    names: list[str] = []
    for parameter in parameters:
        name = parameter.name.replace("/", "_")
        while name in (*TAKEN, *names):
            name = f"parameter_{name}"
        names.append(name)
    return names


def from_dataset(dataset: "xarray.Dataset") -> Trajectories:
    """The trajectories of a dataset that `as_dataset` made."""
    about = json.loads(dataset.attrs["mflno"])
    box = tuple(Parameter(*row) for row in about["parameters"])
    dims = "sample", "output", "time"
    values = np.asarray(dataset["u"].transpose(*dims).values, dtype=float)
    if "f" in dataset:
        inputs = np.asarray(dataset["f"].transpose("sample", "channel", "time").values)
    else:
        inputs = np.empty((len(values), 0, values.shape[2]))
    return Trajectories(
        cases=np.stack([dataset[name].values for name in columns(box)], axis=1),
        grid=dataset["time"].values,
        inputs=inputs,
        values=values,
        level=int(about["level"]),
        problem=str(about["problem"]),
        parameters=box,
        outputs=tuple(about["outputs"]),
    )


def as_netcdf(trajectories: Trajectories) -> bytes:
    """The bytes of a netCDF-4 file."""
    dataset = as_dataset(trajectories)
    # Missing values cannot occur, and a fill value on coordinates breaks CF.
    plain = {name: {"_FillValue": None} for name in dataset.variables}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "trajectories.nc"
        dataset.to_netcdf(path, engine="h5netcdf", encoding=plain)
        return sealed(path.read_bytes())


def from_netcdf(data: bytes) -> Trajectories:
    """The trajectories of a netCDF file's bytes."""
    xarray = xarray_module()
    import h5py

    content, seal, digest = data.rpartition(SEAL)
    if seal and sealed(content) != data and len(digest) == 64:
        raise ValueError("its content is not what was written")
    # A file that HDF5 refuses must not reach h5netcdf, which would complain on stderr too.
    with h5py.File(io.BytesIO(data), "r"):
        pass
    with xarray.open_dataset(io.BytesIO(data), engine="h5netcdf", decode_times=False) as file:
        return from_dataset(file.load())


def sealed(data: bytes) -> bytes:
    """The bytes with their digest behind them."""
    return data + SEAL + hashlib.sha256(data).hexdigest().encode()
