"""Surrogate files: arrays and JSON, no pickle; the same bits again after reading."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy import ndarray

from mflno.data import Trajectories
from mflno.errors import StoreError
from mflno.multifidelity.calibrating import Bands, LeftOut
from mflno.multifidelity.names import predictor_kind
from mflno.multifidelity.remembered import described, remembered, resolved
from mflno.multifidelity.surrogate import Surrogate
from mflno.problems import Problem
from mflno.store import read_bundle, write_bundle

VERSION = 1


def write_surrogate(surrogate: Surrogate, path: Path | str) -> None:
    """Write a surrogate into one file."""
    grids, problem = described(surrogate.problem)
    learnt, predictor = surrogate.predictor.arrays()
    bands, radius = banded(surrogate.bands)
    known = {
        f"known.{runs.level}.{part}": getattr(runs, part)
        for runs in surrogate.known
        for part in ("cases", "inputs", "values")
    }
    arrays = {
        "cases": surrogate.cases,
        **prefixed("problem", grids),
        **prefixed("predictor", learnt),
        **prefixed("bands", bands),
        **known,
    }
    meta = {
        "problem": problem,
        "method": surrogate.method,
        "kind": surrogate.predictor.kind,
        "predictor": predictor,
        "seed": surrogate.seed,
        "scale": surrogate.bands.scale,
        "radius": radius,
        "worth": surrogate.bands.worth,
        "known": [runs.level for runs in surrogate.known],
    }
    write_bundle(path, arrays, meta, kind="surrogate", version=VERSION)


def load(path: Path | str, problem: Problem | None = None) -> Surrogate:
    """Read a surrogate.

    Args:
        path: What `Surrogate.save` wrote.
        problem: Whose surrogate it is. Built-in problems are found by their name; of others
            the file remembers all but forcing and solver, and asks when a method needs those.

    Raises:
        StoreError: The file is gone, damaged, altered, or written by a newer mflno.
    """
    bundle = read_bundle(path, kind="surrogate", newest_version=VERSION)
    meta, arrays = bundle.meta, bundle.arrays
    try:
        told = remembered(part(arrays, "problem"), meta["problem"])
        kind = predictor_kind(meta["kind"])
        predictor = kind.from_arrays(part(arrays, "predictor"), meta["predictor"])
        bands = bands_from(part(arrays, "bands"), meta)
        known = tuple(runs_from(arrays, level, told) for level in meta["known"])
        fields = meta["method"], predictor, bands, int(meta["seed"]), arrays["cases"]
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path}: a surrogate without its parts: {error}") from error
    return Surrogate(resolved(told, problem), *fields, known)


def banded(bands: Bands) -> tuple[dict[str, ndarray], list[list[float]]]:
    """Bands as arrays and JSON."""
    names = "floor", "usual", "amplitudes"
    arrays = {name: getattr(bands, name) for name in names}
    if bands.left_out is not None:
        for name in ("cases", "errors", "scaled"):
            arrays[f"left_out.{name}"] = getattr(bands.left_out, name)
    return arrays, [[level, width] for level, width in bands.radius]


def bands_from(arrays: Mapping[str, ndarray], meta: Mapping[str, Any]) -> Bands:
    """The bands again."""
    left = part(arrays, "left_out")
    return Bands(
        floor=arrays["floor"],
        scale=float(meta["scale"]),
        radius=tuple((float(level), float(width)) for level, width in meta["radius"]),
        worth=float(meta["worth"]),
        usual=arrays["usual"],
        amplitudes=arrays["amplitudes"],
        left_out=LeftOut(**left) if left else None,
    )


def runs_from(arrays: Mapping[str, ndarray], level: int, told: Problem) -> Trajectories:
    """The cheap trajectories of one level."""
    own = part(arrays, f"known.{level}")
    return Trajectories(
        own["cases"], told.levels[level].grid, own["inputs"], own["values"],
        level, told.name, tuple(told.parameters), tuple(told.outputs),
    )  # fmt: skip


def prefixed(name: str, arrays: Mapping[str, ndarray]) -> dict[str, ndarray]:
    """Arrays under names of one family."""
    return {f"{name}.{key}": value for key, value in arrays.items()}


def part(arrays: Mapping[str, ndarray], name: str) -> dict[str, ndarray]:
    """The arrays of one family."""
    head = f"{name}."
    return {k[len(head) :]: v for k, v in arrays.items() if k.startswith(head)}
