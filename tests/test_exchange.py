import json
import random
import sys
from typing import cast

import numpy as np
import pytest

from mflno.data import Parameter, Trajectories
from mflno.errors import ArgumentError, MissingExtra, StoreError
from mflno.exchange import as_dataset, from_dataset, read_trajectories, write_trajectories
from mflno.problems import Burgers, grid_cases
from mflno.sampling import sample

FIELDS = "cases", "grid", "inputs", "values"


@pytest.fixture(scope="module")
def solved():
    return sample(Burgers(), grid_cases(Burgers(), 2), 0, cache=False)


def without_forcing():
    grid, values = np.linspace(0, 1, 4), np.arange(8.0).reshape(2, 1, 4)
    box = (Parameter("x", 0.0, 1.0, "m"),)
    cases = np.array([[0.1], [1 / 3]])
    return Trajectories(cases, grid, np.empty((2, 0, 4)), values, 2, "bare", box)


def same(one, other):
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in FIELDS)
    words = ("level", "problem", "parameters", "outputs")
    return arrays and all(getattr(one, name) == getattr(other, name) for name in words)


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_every_bit_comes_back(solved, tmp_path, suffix):
    for data in (solved, without_forcing()):
        path = tmp_path / f"{data.problem}{suffix}"
        write_trajectories(data, path)
        assert same(read_trajectories(path), data)


def test_the_same_trajectories_give_the_same_npz_bytes(solved, tmp_path):
    for name in ("one.npz", "two.npz"):
        write_trajectories(solved, tmp_path / name)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_dataset_follows_the_conventions(solved):
    dataset = as_dataset(solved)
    assert dataset["u"].dims == ("sample", "time", "output")
    assert dataset["f"].dims == ("sample", "time", "channel")
    assert dataset["time"].attrs["units"] == "s"
    assert dataset["sample"].attrs["cf_role"] == "timeseries_id"
    assert dataset["nu"].dims == ("sample",)
    assert dataset["nu"].attrs["role"] == "parameter"
    assert dataset.attrs["Conventions"] == "CF-1.11"
    assert dataset.attrs["featureType"] == "timeSeries"
    picked = dataset["u"].sel(output="u(1/2)").isel(sample=3)
    assert np.array_equal(picked, solved.values[3, 1])
    assert same(from_dataset(dataset), solved)


def test_a_file_of_netcdf_opens_without_us(solved, tmp_path):
    import xarray

    write_trajectories(solved, tmp_path / "solved.nc")
    with xarray.open_dataset(tmp_path / "solved.nc", engine="h5netcdf") as dataset:
        assert dataset.sizes == {"sample": 4, "time": 256, "output": 3, "channel": 1}
        assert json.loads(dataset.attrs["mflno"])["problem"] == "burgers"


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_a_damaged_file_says_so(solved, tmp_path, suffix):
    path = tmp_path / f"half{suffix}"
    write_trajectories(solved, path)
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(StoreError, match="not trajectories, or damaged"):
        read_trajectories(path)


@pytest.mark.parametrize("suffix", [".npz", ".nc"])
def test_no_damage_gives_other_numbers(solved, tmp_path, suffix):
    path, rng = tmp_path / f"hit{suffix}", random.Random(1)
    write_trajectories(solved, path)
    whole, refused = path.read_bytes(), 0
    for _ in range(40):
        data, place = bytearray(whole), rng.randrange(len(whole))
        data[place : place + 4] = rng.randbytes(4)
        path.write_bytes(data)
        try:
            found = read_trajectories(path)
        except StoreError as error:
            refused += "not trajectories, or damaged" in str(error)
        else:
            assert same(found, solved)
    assert refused > 30


def test_a_netcdf_file_may_be_edited_by_others(solved, tmp_path):
    import h5py

    write_trajectories(solved, tmp_path / "edited.nc")
    with h5py.File(tmp_path / "edited.nc", "r+") as file:
        cast("h5py.Dataset", file["u"])[0, 0, 0] = 7.0
    assert read_trajectories(tmp_path / "edited.nc").values[0, 0, 0] == 7.0


def test_a_file_of_something_else_says_so(tmp_path):
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(StoreError, match="not trajectories"):
        read_trajectories(tmp_path / "other.npz")
    with pytest.raises(StoreError, match="reading failed"):
        read_trajectories(tmp_path / "gone.npz")


def test_targets_are_checked(solved, tmp_path):
    with pytest.raises(ArgumentError, match=r"must end in \.npz or \.nc; got x\.csv"):
        write_trajectories(solved, tmp_path / "x.csv")
    with pytest.raises(ArgumentError, match="its folder must exist"):
        write_trajectories(solved, tmp_path / "none" / "x.npz")


def test_a_missing_extra_is_named(solved, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5netcdf", None)
    with pytest.raises(
        MissingExtra, match=r"netCDF needs h5netcdf; pip install 'mflno\[xarray\]'"
    ):
        write_trajectories(solved, tmp_path / "x.nc")
