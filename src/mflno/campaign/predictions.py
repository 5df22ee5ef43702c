"""Predicted trajectories with their bands as a table, a netCDF file or a picture."""

import csv
import io
import tempfile
from pathlib import Path

import numpy as np

from mflno.data import Trajectories
from mflno.errors import ArgumentError, MissingExtra
from mflno.exchange import as_dataset
from mflno.multifidelity import Prediction, Surrogate
from mflno.store import write_bytes_atomic

SUFFIXES = ".csv", ".nc", ".png"
INK, BAND, MOST = "#26323f", "#c8553d", 6


def write_prediction(
    surrogate: Surrogate, found: Prediction, path: Path, *, level: float = 0.95
) -> None:
    """Write a prediction by the file's ending, whole or not at all.

    Args:
        surrogate: Who predicted.
        found: What.
        path: Ends in `.csv`, `.nc` or `.png`.
        level: Of the band.
    """
    writers = {".csv": as_csv, ".nc": as_netcdf, ".png": as_png}
    if path.suffix not in writers:
        rule, remedy = f"must end in {', '.join(writers)}", "change the ending"
        raise ArgumentError("--out", rule, path.name, remedy)
    if not path.parent.is_dir():
        raise ArgumentError("--out", "its folder must exist", path.parent, "make it first")
    write_bytes_atomic(path, writers[path.suffix](surrogate, found, level))


def as_csv(surrogate: Surrogate, found: Prediction, level: float) -> bytes:
    """One row a case and time: the parameters, the time, and four columns an output."""
    low, high = found.interval(level)
    outputs = surrogate.problem.outputs
    head = [parameter.name for parameter in surrogate.problem.parameters] + ["time"]
    head += [f"{name}{end}" for name in outputs for end in ("", "_low", "_high", "_std")]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    for row, case in enumerate(found.cases):
        parts = np.stack([found.mean[row], low[row], high[row], found.std[row]], axis=1)
        table = parts.reshape(-1, len(found.grid)).T
        for time, cells in zip(found.grid, table, strict=True):
            writer.writerow([*case.tolist(), float(time), *cells.tolist()])
    return buffer.getvalue().encode()


def as_netcdf(surrogate: Surrogate, found: Prediction, level: float) -> bytes:
    """The mean as trajectories are written, with `u_std`, `u_low` and `u_high` beside it."""
    problem, low_high = surrogate.problem, found.interval(level)
    empty = np.empty((len(found.cases), 0, len(found.grid)))
    mean = Trajectories(
        found.cases, found.grid, empty, found.mean, len(problem.levels) - 1, problem.name,
        tuple(problem.parameters), tuple(problem.outputs),
    )  # fmt: skip
    dataset = as_dataset(mean)
    for name, values in zip(("low", "high", "std"), (*low_high, found.std), strict=True):
        words = {} if name == "std" else {"level": level}
        swapped = np.swapaxes(values, 1, 2)
        dataset[f"u_{name}"] = (("sample", "time", "output"), swapped, words)
    dataset.attrs["method"] = surrogate.method
    plain = {name: {"_FillValue": None} for name in dataset.variables}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "prediction.nc"
        dataset.to_netcdf(file, engine="h5netcdf", encoding=plain)
        return file.read_bytes()


def as_png(surrogate: Surrogate, found: Prediction, level: float) -> bytes:
    """A picture: one row a case, one column an output."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", extra="plot", purpose="a picture") from error
    problem, (low, high) = surrogate.problem, found.interval(level)
    count, outputs = min(MOST, len(found.cases)), problem.outputs
    figure = Figure((5.0 * len(outputs), 2.4 * count + 0.4), layout="constrained")
    axes = figure.subplots(count, len(outputs), squeeze=False, sharex=True)
    for row in range(count):
        words = ", ".join(
            f"{p.name} = {x:.4g}"
            for p, x in zip(problem.parameters, found.cases[row], strict=True)
        )
        for column, name in enumerate(outputs):
            axis = axes[row, column]
            edges = low[row, column], high[row, column]
            axis.fill_between(found.grid, *edges, color=BAND, alpha=0.3, lw=0)
            axis.plot(found.grid, found.mean[row, column], color=INK, lw=1.0)
            axis.set_ylabel(name)
            axis.set_title(words, fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("time")
    figure.suptitle(f"{problem.name}: mean and {level:.0%} band", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    return buffer.getvalue()
