"""What a program wrote: each format read, each fault told, no more taken than asked for."""

import zipfile

import numpy as np
import pytest

from mflno.errors import SolveFailed
from mflno.problems import Output
from mflno.problems.solver import LARGEST


def test_a_torn_file_is_refused_even_when_the_exit_code_is_trusted(tmp_path):
    output = Output("out.csv", columns=["u"], time="t")
    (tmp_path / "out.csv").write_text("t,u\n0.0,1.0\n0.1,0.")
    answer = output.read(tmp_path, ("u",), 9)
    assert np.array_equal(np.asarray(answer.times), [0.0, 0.1])
    (tmp_path / "out.csv").write_text("t,u\n0.0,1.0\n0.1")
    with pytest.raises(SolveFailed, match="line 3"):
        output.read(tmp_path, ("u",), 9)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("out.csv", "", "it is empty"),
        ("out.csv", "t,x\n0,1\n", "no column 'u' among t, x"),
        ("out.csv", "t,u\n0,oops\n", "line 2: could not convert"),
        ("out.json", "{", "Expecting property name"),
        ("out.json", '{"t": [0]}', "no 'u' of 'u' among t"),
        ("out.json", '{"u": {"v": 1}, "t": 1}', "not 'dict'"),
        ("out.npz", "junk", "cannot be read"),
        ("out.npy", "junk", "cannot be read"),
    ],
)
def test_unreadable_files_say_where(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    time = None if name == "out.npy" else "t"
    with pytest.raises(SolveFailed, match=words) as caught:
        Output(name, time=time).read(tmp_path, ("u",), 4)
    assert caught.value.kind == "output"


def test_readers_know_headers_numbers_fortran_null_and_keys(tmp_path):
    cases = {
        "a.csv": ("\ufefft;u\n0,5;1\n".replace(",", "."), {"delimiter": ";"}, [1.0]),
        "b.csv": ("0.5,1\n1.5,2\n", {"columns": [1], "time": 0}, [1.0, 2.0]),
        "g.csv": ("# by x\n# t, u\n0.5,1\n# more\n1.5,2\n", {"time": "t"}, [1.0, 2.0]),
        "h.csv": ('# by x\n"a, b","u"\n"0.5","1"\n', {}, [1.0]),
        "i.csv": ("t [µs],u\n0,-1.#IND\n1,1.#INF00\n", {}, [np.nan, np.inf]),
        "c.out": ("# t u\n 0.0 1.5D-03\n\n1.0 2d0 # end\n", {"columns": [1]}, [0.0015, 2.0]),
        "d.json": ('{"u": [1, null, NaN, -Infinity]}', {}, [1.0, np.nan, np.nan, -np.inf]),
    }
    for name, (text, settings, expected) in cases.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        answer = Output(name, **settings).read(tmp_path, ("u",), 4)
        np.testing.assert_array_equal(np.asarray(answer.values), [expected])
    np.savez(tmp_path / "e.npz", u=np.arange(3), w=np.arange(3))
    answer = Output("e.npz", time="w").read(tmp_path, ("u",), 4)
    assert np.array_equal(np.asarray(answer.times), [0, 1, 2])
    np.save(tmp_path / "f.npy", np.array([{}], dtype=object))
    with pytest.raises(SolveFailed, match="allow_pickle"):
        Output("f.npy").read(tmp_path, ("u",), 4)


def test_more_points_than_the_grid_has_are_not_read(tmp_path):
    huge = LARGEST // 8 + 99
    np.lib.format.open_memmap(tmp_path / "a.npy", "w+", float, (huge,)).flush()
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "a.npy", "u.npy")
    with open(tmp_path / "c.json", "wb") as file:
        file.truncate(LARGEST + 1)
    (tmp_path / "d.csv").write_text("u\n" + "1\n" * 5)
    (tmp_path / "e.dat").write_text("1\n" * 5)
    for name, kind in (("a.npy", "shape"), ("b.npz", "shape"), ("c.json", "output"),
                       ("d.csv", "shape"), ("e.dat", "shape")):  # fmt: skip
        columns = [0] if name == "e.dat" else None
        with pytest.raises(SolveFailed, match=r"more than|must hold 4 numbers") as caught:
            Output(name, columns=columns).read(tmp_path, ("u",), 4)
        assert caught.value.kind == kind


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"u": 1e999999999, "u": [1' + "0" * 400 + "]}"]
)
def test_json_that_python_cannot_take_is_a_failed_run(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(SolveFailed, match=r"a\.json cannot be read"):
        Output("a.json").read(tmp_path, ("u",), 4)
