"""A model behind a UM-Bridge URL as the solver of one level.

The client needs the standard library alone. It holds a time limit over the whole exchange, and
reads what real servers send: NaN and infinity in every spelling, errors as JSON or plain text.
"""

import http.client
import json
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.solver import LARGEST, Answer, Request, check_limit, digest_of

NOT_JSON = re.compile(
    r"(?<=[\[,:\s])([+-]?)(nan|inf)(?:inity)?(?:\([^)]*\))?(?=[\s,\]}])", re.I
)
SPELLING = {"nan": "NaN", "inf": "Infinity"}
CONNECT_SECONDS = 20.0


@dataclass(frozen=True)
class UmBridge:
    """A UM-Bridge model: parameters in as vectors, one vector for each output function back.

    Args:
        url: Where the server listens, as `http://localhost:4242`.
        model: The model's name there.
        limit: Seconds one evaluation may take (`inf` for no limit).
        config: The model's configuration; here goes its fidelity, as `{"fidelity": 7}`.
        sizes: Lengths of the model's input vectors, which the parameters fill in their order;
            one vector with all of them unless given.
        time: Which of the answered vectors is the times; none of them unless given.

    Example:
        >>> UmBridge("http://localhost:4242", limit=60.0, config={"fidelity": 7}).model
        'forward'
    """

    url: str
    model: str = "forward"
    limit: float = field(kw_only=True)
    config: Mapping[str, Any] = field(default_factory=dict)
    sizes: Sequence[int] | None = None
    time: int | None = None

    def check(self, request: Request) -> None:
        """See that address, sizes and configuration make sense; asks no server."""
        check_limit("UmBridge", self.limit)
        if not is_address(self.url):
            rule, remedy = "must be a web address", "write http://host:port"
            raise ArgumentError("UmBridge.url", rule, repr(self.url), remedy)
        sizes = self.sizes if self.sizes is not None else [len(request.case)]
        if sum(sizes) != len(request.case) or min(sizes) < 1:
            rule = f"must add up to {len(request.case)} parameters"
            raise ArgumentError(
                "UmBridge.sizes", rule, self.sizes, "see the model's InputSizes"
            )
        try:
            json.dumps(dict(self.config))
        except (TypeError, ValueError) as error:
            remedy = "use numbers, texts and lists"
            raise ArgumentError("UmBridge.config", "must be JSON", error, remedy) from error

    def solve(self, request: Request) -> Answer:
        """One evaluation; the request is never repeated, for a run may be expensive."""
        values = list(request.case.values())
        ends = np.cumsum(self.sizes if self.sizes is not None else [len(values)])
        vectors = [list(part) for part in np.split(np.array(values), ends[:-1])]
        question = {
            "name": self.model,
            "input": [[float(value) for value in vector] for vector in vectors],
            "config": dict(self.config),
        }
        reply = exchange(self.url, question, self.limit)
        return arranged(reply, self.time)

    def fingerprint(self) -> str:
        """The model and its configuration, wherever it is served."""
        return digest_of("umbridge", self.model, dict(self.config), self.sizes, self.time)


def is_address(url: str) -> bool:
    """Whether this is where a server may listen."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        return known and url.isprintable() and " " not in url
    except ValueError:
        return False


def exchange(url: str, question: Mapping[str, Any], limit: float) -> object:
    """Send one question to `/Evaluate` and return the `output` of the reply."""
    parts = urlsplit(url)
    kind = (
        http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    )
    connection = kind(parts.hostname or "", parts.port, timeout=min(limit, CONNECT_SECONDS))
    late = threading.Event()
    try:
        connection.connect()
    except OSError as error:
        raise SolveFailed("refused", f"no server at {url}: {error}") from error
    watchdog = hang_up_after(limit, connection.sock, late)
    status, data = 0, b""
    try:
        connection.sock.settimeout(None)
        body = json.dumps(question).encode()
        path = parts.path.rstrip("/") + "/Evaluate"
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        with connection.getresponse() as reply:
            status, data = reply.status, reply.read(LARGEST + 1)
            if reply.length and len(data) <= LARGEST:
                raise http.client.IncompleteRead(data, reply.length)
    except (OSError, http.client.HTTPException) as error:
        if not late.is_set():
            words = f"{url} hung up: {type(error).__name__} {error}"
            raise SolveFailed("refused", words) from error
    finally:
        watchdog.cancel()
        connection.close()
    # A reply that was cut off may look whole, so the clock decides, not the exception.
    if late.is_set():
        raise SolveFailed("timeout", f"{url} did not answer within {limit:g} s")
    if len(data) > LARGEST:
        raise SolveFailed("output", f"{url} sent more than {LARGEST} bytes")
    return output_of(url, status, data.decode(errors="replace"))


def hang_up_after(limit: float, line: socket.socket, late: threading.Event) -> threading.Timer:
    """A timer that ends the exchange, whichever part of it is slow."""

    def hang_up() -> None:
        late.set()
        try:
            line.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    watchdog = threading.Timer(min(limit, threading.TIMEOUT_MAX), hang_up)
    watchdog.daemon = True
    watchdog.start()
    return watchdog


def output_of(url: str, status: int, text: str) -> object:
    """The output in a reply; a server's error in its own words."""
    try:
        document = tolerant_json(text)
    except (ValueError, RecursionError) as error:
        if status == http.client.OK:
            raise SolveFailed("output", f"{url} sent no JSON: {error}", text[-1000:]) from error
        document = None
    fault = document.get("error") if isinstance(document, dict) else None
    if status != http.client.OK or fault:
        words = (
            f"{fault.get('type')}: {fault.get('message')}" if isinstance(fault, dict) else fault
        )
        detail = f"{url} answered with status {status}" + (f", {words}" if words else "")
        raise SolveFailed("server", detail, "" if words else text[-2000:])
    if not isinstance(document, dict) or "output" not in document:
        raise SolveFailed("output", f"{url} sent no output", text[-1000:])
    return document["output"]


def tolerant_json(text: str) -> object:
    """JSON, with NaN and infinity in any spelling.

    Example:
        >>> tolerant_json('{"output": [[nan, -inf, 1.0]]}')
        {'output': [[nan, -inf, 1.0]]}
    """
    try:
        return json.loads(text)
    except ValueError:
        strict = NOT_JSON.sub(signed, text)
        return json.loads(strict)


def signed(match: re.Match[str]) -> str:
    """One NaN or infinity as Python's reader takes it."""
    sign = "-" if match[1] == "-" and match[2].lower() == "inf" else ""
    return sign + SPELLING[match[2].lower()]


def arranged(output: object, time: int | None) -> Answer:
    """The answered vectors as outputs and times."""
    vectors = output if isinstance(output, list) else [output]
    if not all(isinstance(vector, list) for vector in vectors):
        raise SolveFailed("output", "the server's output is not a list of vectors")
    try:
        rows = [np.array(vector, dtype=float) for vector in vectors]
    except (TypeError, ValueError, ArithmeticError) as error:
        raise SolveFailed("output", f"the server's vectors are not numbers: {error}") from error
    if time is not None and not 0 <= time < len(rows):
        raise SolveFailed("shape", f"has {len(rows)} vectors, none at {time} for the times")
    times = None if time is None else rows.pop(time)
    shapes = [row.shape for row in rows]
    if len(set(shapes)) != 1 or len(shapes[0]) != 1:
        raise SolveFailed("shape", f"must be vectors of one length, came shapes {shapes}")
    return Answer(np.stack(rows), times)
