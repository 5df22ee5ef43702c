"""The array format against the safetensors package, and against every kind of damage."""

import json

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mflno.errors import ArgumentError, StoreError
from mflno.store import read_arrays, read_bundle, write_arrays, write_bundle
from mflno.store.arrays import DTYPES, canonical, checksum, decode, encode, split

RNG = np.random.default_rng(0)


def sample():
    arrays = {
        name: (RNG.normal(size=(3, 5)) * 50).astype(code) for name, code in DTYPES.items()
    }
    return {
        **arrays,
        "scalar": np.array(2.5),
        "empty": np.zeros((0, 4)),
        "columns": RNG.normal(size=(4, 6)).T,
        "big_endian": np.arange(5, dtype=">f4"),
        "odd": np.arange(7, dtype=np.uint8),
    }


def assert_same(first, second):
    assert set(first) == set(second)
    for name, array in first.items():
        assert second[name].dtype == array.dtype.newbyteorder("<"), name
        assert second[name].shape == array.shape
        assert np.array_equal(second[name], array)


def test_round_trip_keeps_values_dtypes_shapes_and_metadata(tmp_path):
    write_arrays(tmp_path / "a", sample(), {"unit": "s"})
    arrays, metadata = read_arrays(tmp_path / "a")
    assert metadata == {"unit": "s"}
    assert all(array.flags.writeable for array in arrays.values())
    columns = arrays.pop("columns")
    assert columns.shape == (6, 4)


@given(
    hnp.arrays(
        st.sampled_from([np.dtype(code) for code in DTYPES.values()]),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
)
@settings(max_examples=60, deadline=None)
def test_any_array_comes_back_bit_for_bit(array):
    back = decode(encode({"x": array}, {}), checked=True).arrays["x"]
    assert (back.dtype, back.shape, back.tobytes()) == (
        array.dtype,
        array.shape,
        array.tobytes(),
    )


def test_the_safetensors_package_reads_our_files(tmp_path):
    arrays = sample()
    write_arrays(tmp_path / "a", arrays, {"unit": "s"})
    assert_same(arrays, safetensors.numpy.load_file(tmp_path / "a"))
    with safetensors.safe_open(tmp_path / "a", framework="np") as opened:
        assert opened.metadata()["unit"] == "s"


def test_we_read_files_of_the_safetensors_package(tmp_path):
    arrays = {name: np.ascontiguousarray(array) for name, array in sample().items()}
    arrays["big_endian"] = arrays["big_endian"].astype("<f4")
    safetensors.numpy.save_file(arrays, tmp_path / "a", metadata={"unit": "m"})
    found, metadata = read_arrays(tmp_path / "a", checked=False)
    assert_same(arrays, found)
    assert metadata == {"unit": "m"}
    with pytest.raises(StoreError, match="no mflno checksum"):
        read_arrays(tmp_path / "a")


def test_bfloat16_of_others_is_refused_by_name(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"w": torch.zeros(3, dtype=torch.bfloat16)}, tmp_path / "a")
    with pytest.raises(StoreError, match="'w' has dtype BF16"):
        read_arrays(tmp_path / "a", checked=False)


def test_the_same_content_gives_the_same_bytes_in_any_order():
    arrays = sample()
    backwards = dict(reversed(arrays.items()))
    assert encode(arrays, {"a": "1", "b": "2"}) == encode(backwards, {"b": "2", "a": "1"})


def test_every_array_begins_at_a_multiple_of_its_item_size():
    raw = encode(sample(), {})
    header, data = split(raw)
    start = len(raw) - len(data)
    assert start % 8 == 0
    for name, entry in header.items():
        if name != "__metadata__":
            width = np.dtype(DTYPES[entry["dtype"]]).itemsize
            assert (start + entry["data_offsets"][0]) % width == 0


@pytest.mark.parametrize("keep", [0, 4, 8, 30, -9, -1])
def test_a_file_cut_short_is_refused(tmp_path, keep):
    raw = encode(sample(), {})
    (tmp_path / "a").write_bytes(raw[:keep])
    with pytest.raises(StoreError, match=r"a: (cut short|damaged)"):
        read_arrays(tmp_path / "a")


def test_every_flipped_bit_is_refused_or_harmless(tmp_path):
    arrays = {"x": np.arange(4.0), "flags": np.array([True, False])}
    raw = encode(arrays, {"unit": "s"})
    for place in range(len(raw)):
        bad = bytearray(raw)
        bad[place] ^= 4
        (tmp_path / "a").write_bytes(bytes(bad))
        with pytest.raises(StoreError):
            read_arrays(tmp_path / "a")


def test_bytes_added_at_the_end_are_refused(tmp_path):
    (tmp_path / "a").write_bytes(encode(sample(), {}) + b"\0")
    with pytest.raises(StoreError):
        read_arrays(tmp_path / "a")


def forged(header, data=b"\0" * 16):
    text = canonical(header)
    return len(text).to_bytes(8, "little") + text + data


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ({"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 8]}}, "cut short or grown"),
        (
            {"x": {"dtype": "F64", "shape": [3], "data_offsets": [0, 16]}},
            "do not fit its shape",
        ),
        ({"x": {"dtype": "F64", "shape": [-2], "data_offsets": [0, 16]}}, "does not describe"),
        ({"x": {"dtype": "F64", "shape": [2], "data_offsets": [16, 0]}}, "does not describe"),
        (
            {
                "x": {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]},
                "y": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]},
            },
            "overlap or leave gaps",
        ),
        ({"x": 3}, "does not describe"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path, entries, words):
    (tmp_path / "a").write_bytes(forged(entries))
    with pytest.raises(StoreError, match=words):
        read_arrays(tmp_path / "a", checked=False)


def test_a_name_that_comes_twice_is_refused(tmp_path):
    entry = '{"dtype":"F64","shape":[2],"data_offsets":[0,16]}'
    text = f'{{"x":{entry},"x":{entry}}}'.encode()
    (tmp_path / "a").write_bytes(len(text).to_bytes(8, "little") + text + b"\0" * 16)
    with pytest.raises(StoreError, match="not JSON"):
        read_arrays(tmp_path / "a", checked=False)


def test_a_newer_format_is_refused_before_anything_else(tmp_path):
    header = {"__metadata__": {"mflno.format": "2"}}
    header["__metadata__"]["mflno.sha256"] = checksum(header, b"")
    (tmp_path / "a").write_bytes(forged(header, b""))
    with pytest.raises(StoreError, match=r"format version 2.*update mflno"):
        read_arrays(tmp_path / "a")


def test_objects_complex_numbers_and_reserved_names_are_refused(tmp_path):
    for array in (np.array([object()]), np.array([1j]), np.array(["a"])):
        with pytest.raises(ArgumentError, match="dtype must be one of"):
            write_arrays(tmp_path / "a", {"x": array})
    with pytest.raises(ArgumentError, match="belongs to the format"):
        write_arrays(tmp_path / "a", {"__metadata__": np.zeros(1)})
    with pytest.raises(ArgumentError, match="text by name"):
        write_arrays(tmp_path / "a", {}, {"mflno.sha256": "0"})
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"nowhere: reading failed: No such file"):
        read_arrays(tmp_path / "nowhere")


def test_a_bundle_comes_back_with_its_meaning(tmp_path):
    meta = {"method": "mflno", "width": 8, "scale": 0.1, "names": ["u", "v"]}
    write_bundle(tmp_path / "s.mflno", {"w": np.ones(3)}, meta, kind="surrogate", version=3)
    arrays, found, version = read_bundle(
        tmp_path / "s.mflno", kind="surrogate", newest_version=4
    )
    assert (found, version) == (meta, 3)
    assert np.array_equal(arrays["w"], np.ones(3))


def test_a_bundle_of_another_kind_or_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "s.mflno"
    write_bundle(path, {}, {}, kind="surrogate", version=3)
    with pytest.raises(StoreError, match="holds surrogate, not a checkpoint"):
        read_bundle(path, kind="checkpoint")
    with pytest.raises(StoreError, match=r"surrogate version 3.*up to 2.*update"):
        read_bundle(path, kind="surrogate", newest_version=2)
    write_arrays(path, {})
    with pytest.raises(StoreError, match="holds plain arrays"):
        read_bundle(path, kind="surrogate")


@pytest.mark.parametrize("meta", [{"x": float("nan")}, {"x": np.ones(2)}])
def test_a_bundle_refuses_meta_that_is_not_json(tmp_path, meta):
    with pytest.raises(ArgumentError, match=r"write_bundle.meta: must be JSON"):
        write_bundle(tmp_path / "s", {}, meta, kind="surrogate")


def test_no_pickle_hides_in_the_header():
    header, _ = split(encode({"x": np.zeros(2)}, {}))
    assert json.loads(canonical(header)) == header
