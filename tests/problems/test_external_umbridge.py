"""A UM-Bridge server on this machine as a solver, and servers that misbehave."""

import json
import socket
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError, SolveFailed
from mflno.problems import ExternalProblem, UmBridge, problem_from_toml
from mflno.problems.umbridge import tolerant_json
from mflno.processes import Command, start

needs_umbridge = pytest.mark.skipif(find_spec("umbridge") is None, reason="needs umbridge")
BOX = (Parameter("a", 0.1, 1.0), Parameter("w", 2.0, 4.0))
CASE = np.array([1 / 3, 2.7])
COARSE, FINE = np.linspace(0.0, 10.0, 64), np.linspace(0.0, 10.0, 512)
SERVER = """
import math, os, sys, time
import umbridge

class Wave(umbridge.Model):
    def get_input_sizes(self, config):
        return [1, 1] if config.get("split") else [2]

    def get_output_sizes(self, config):
        return [config["points"]] * 2

    def __call__(self, parameters, config):
        fault, points = config.get("fault"), config["points"]
        a, w = [value for vector in parameters for value in vector]
        t = [10.0 * k / (points - 1) for k in range(points)]
        u = [math.exp(-a * s) * math.cos(w * s) for s in t]
        if fault == "raise":
            raise RuntimeError("the mesh is tangled")
        if fault == "hang":
            time.sleep(60)
        if fault == "die":
            os._exit(1)
        if fault in ("nan", "inf"):
            u[5] = float(fault)
        if fault == "late":
            t = [s + 1.0 for s in t]
        return [t, u if fault != "short" else u[:-1]]

    def supports_evaluate(self):
        return True

umbridge.serve_models([Wave("forward")], int(sys.argv[1]), max_workers=4)
"""


def serving(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = (sys.executable, "-W", "ignore", "-c", SERVER, str(port))
    server = start(Command(words, folder, folder / "server.txt"))
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return server, f"http://127.0.0.1:{port}"
        except OSError:
            assert server.poll() is None, server.wait()
            time.sleep(0.05)
    pytest.fail("the server did not come up")


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    if find_spec("umbridge") is None:
        pytest.skip("needs umbridge")
    server, address = serving(tmp_path_factory.mktemp("server"))
    with server:
        yield address


def problem_of(url, limit=60.0, **settings):
    levels = (Level("coarse", COARSE, 1.0), Level("fine", FINE, 40.0))
    config = settings.pop("config", {})
    solvers = [
        UmBridge(url, limit=limit, config={"points": each.points, **config}, time=0, **settings)
        for each in levels
    ]
    return ExternalProblem("wave", parameters=BOX, levels=levels, solvers=solvers)


def failure(url, fault="none", level=0, **settings):
    with pytest.raises(SolveFailed) as caught:
        problem_of(url, config={"fault": fault}, **settings).solve(CASE, level)
    assert caught.value.kind in SolveFailed.KINDS
    return caught.value


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("split", [False, True])
def test_level_travels_in_the_config_and_the_answer_comes_back_exactly(url, level, split):
    sizes = [1, 1] if split else None
    problem = problem_of(url, config={"split": split}, sizes=sizes)
    grid = problem.levels[level].grid
    expected = np.exp(-CASE[0] * grid) * np.cos(CASE[1] * grid)
    np.testing.assert_allclose(problem.solve(CASE, level)[0], expected, atol=1e-14)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        ("nan", "nan", "first at time 0.79"),
        ("inf", "inf", "first at point 5"),
        ("late", "grid", "the level's grid has"),
        ("raise", "server", "status 500"),
        ("short", "server", "InvalidOutput: Output vector 1 has invalid length"),
    ],
)
def test_faults_of_the_model_are_told_apart(url, fault, kind, words):
    error = failure(url, fault)
    assert error.kind == kind
    assert words in error.detail


def test_unknown_model_and_wrong_sizes_come_back_in_the_servers_words(url):
    assert "ModelNotFound" in failure(url, model="backward").detail
    assert "InvalidInput" in failure(url, sizes=[1, 1]).detail


def test_hanging_model_is_given_up_and_the_server_goes_on(url):
    started = time.monotonic()
    error = failure(url, "hang", limit=0.5)
    assert (error.kind, error.retryable) == ("timeout", True)
    assert time.monotonic() - started < 10.0
    assert problem_of(url).solve(CASE, 0).shape == (1, 64)


@needs_umbridge
def test_server_that_dies_during_the_run(tmp_path):
    server, url = serving(tmp_path)
    with server:
        error = failure(url, "die")
        assert (error.kind, error.retryable) == ("refused", True)
        assert "hung up" in error.detail
        ended = server.wait(20.0)
        assert ended is not None
        assert failure(url).detail.startswith("no server at")


def canned(text, *, pause=0.0):
    """The address of a server that answers one request with this text, piece by piece."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer():
        with listener, listener.accept()[0] as line:
            question = b""
            while not question.endswith(b"}}"):
                question += line.recv(65536)
            try:
                for piece in (
                    [text] if not pause else [text[k : k + 1] for k in range(len(text))]
                ):
                    line.sendall(piece.encode())
                    time.sleep(pause)
            except OSError:
                return

    threading.Thread(target=answer, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def page(body, status="200 OK", length=None):
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n{body}"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        (page("<html>busy</html>"), "output", "sent no JSON"),
        (page("[" * 100_000), "output", "sent no JSON"),
        (page('{"output": [[1' + "0" * 400 + "], [1]]}"), "output", "too large to convert"),
        (page('{"output": [[1], [1]]}', length=999), "refused", "977 more expected"),
        (page('{"result": 1}'), "output", "sent no output"),
        (page('{"output": 1}'), "output", "not a list of vectors"),
        (page('{"output": [[1, 2], [1]]}'), "shape", "must have 64 times"),
        (page('{"output": [[1], [1, 2], [1]]}'), "shape", "one length"),
        (page('{"output": []}'), "shape", "has 0 vectors"),
        (page('{"output": [["a"], ["b"]]}'), "output", "could not convert"),
        (page("worker lost", "502 Bad Gateway"), "server", "status 502"),
        (page("", "307 Temporary Redirect"), "server", "status 307"),
        (page('{"error": {"type": "T", "message": "M"}}'), "server", "T: M"),
        (page('{"output": [[1', length=900), "refused", "IncompleteRead"),
        ("", "refused", "hung up"),
        ("junk\r\n\r\n", "refused", "BadStatusLine"),
    ],
)
def test_replies_of_misbehaving_servers_are_told_apart(text, kind, words):
    error = failure(canned(text))
    assert error.kind == kind
    assert words in str(error)


@pytest.mark.parametrize("length", [4000, None])
def test_dripping_server_cannot_stretch_the_time_limit(length):
    text = "HTTP/1.1 200 OK\r\n"
    text += (
        f"Content-Length: {length}\r\n\r\n" + " " * 4000 if length else "X-Drip: 1\r\n" * 400
    )
    started = time.monotonic()
    assert failure(canned(text, pause=0.02), limit=0.5).kind == "timeout"
    assert time.monotonic() - started < 10.0


def test_half_a_body_that_ends_with_the_connection_is_a_timeout_not_an_answer():
    text = "HTTP/1.0 200 OK\r\n\r\n" + '{"output": [[1, 2], [3, 4]]}' + " " * 4000
    assert failure(canned(text, pause=0.02), limit=1.5).kind == "timeout"


def test_nan_and_infinity_are_read_in_every_spelling():
    text = '{"output": [[nan, -nan, NaN, inf, -inf,+inf, Infinity, -Infinity, nan(0x8)]]}'
    found = tolerant_json(text)
    assert isinstance(found, dict)
    expected = [np.nan, np.nan, np.nan, np.inf, -np.inf, np.inf, np.inf, -np.inf, np.nan]
    np.testing.assert_array_equal(found["output"], [expected])
    assert tolerant_json('["inf, nan"]') == ["inf, nan"]
    with pytest.raises(ValueError, match="Expecting"):
        tolerant_json("[1, oops]")


def test_a_reply_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr("mflno.problems.umbridge.LARGEST", 1 << 16)
    endless = "HTTP/1.1 200 OK\r\n\r\n" + "[1" + ",1" * (1 << 20)
    error = failure(canned(endless))
    assert (error.kind, "more than 65536 bytes" in error.detail) == ("output", True)


def test_null_is_nan():
    output = [COARSE.tolist(), [0.0] * 63 + [None]]
    assert failure(canned(page(json.dumps({"output": output})))).kind == "nan"


def test_wrong_settings_are_refused():
    url = "http://localhost:1"
    wrong = {
        "url: must be a web address": problem_settings("localhost:4242"),
        "web address; got 'http://localhost:none'": problem_settings("http://localhost:none"),
        "web address; got 'http://localhost:1/a b'": problem_settings("http://localhost:1/a b"),
        "limit: must be positive": problem_settings(url, limit=-1.0),
        "sizes: must add up to 2 parameters": problem_settings(url, sizes=[1]),
        "config: must be JSON": problem_settings(url, config={"set": {1}}),
    }
    for words, make in wrong.items():
        with pytest.raises(ArgumentError, match=words):
            make()


def problem_settings(url, **settings):
    return lambda: problem_of(url, **settings)


def test_version_follows_model_and_config_but_not_the_address():
    one = problem_of("http://localhost:1").version
    assert one == problem_of("http://localhost:2", limit=5.0).version
    assert one != problem_of("http://localhost:1", config={"order": 2}).version
    assert one != problem_of("http://localhost:1", model="other").version


def test_toml_form(url):
    def level(name, points, cost):
        solver = {"kind": "umbridge", "url": url, "limit": 60, "config": {"points": points}}
        grid = {"stop": 10, "points": points}
        return {"name": name, "cost": cost, "grid": grid, "solver": {**solver, "time": 0}}

    table = {
        "name": "wave",
        "parameters": {"a": {"low": 0.1, "high": 1}, "w": {"low": 2, "high": 4}},
        "levels": [level("coarse", 64, 1), level("fine", 512, 40)],
    }
    expected = problem_of(url).solve(CASE, 1)
    assert np.array_equal(problem_from_toml(table).solve(CASE, 1), expected)
    table["levels"][1]["solver"]["address"] = url
    with pytest.raises(ArgumentError, match=r"takes url, .*'address'"):
        problem_from_toml(table)


def test_nothing_of_the_server_is_left(tmp_path):
    if find_spec("umbridge") is None:
        pytest.skip("needs umbridge")
    server, _ = serving(tmp_path)
    server.cancel()
    assert not Path(f"/proc/{server.pid}").exists()
