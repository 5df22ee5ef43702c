"""A few standing processes that work off a list; one that dies costs the item it held."""

import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from mflno.errors import ArgumentError, MflnoError, SolveFailed
from mflno.processes.calls import failure_of, loaded_files, module_in
from mflno.processes.running import signal_name
from mflno.processes.supervisor import PR_SET_PDEATHSIG, control

Item = TypeVar("Item")
Answer = TypeVar("Answer")

SINGLE_THREADED = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"


def answers(
    task: Callable[[Item], Answer], items: Sequence[Item], *, jobs: int
) -> Generator[tuple[int, Answer | SolveFailed], None, None]:
    """What the task gives for each item, with the item's place, in the order of finishing.

    Fresh interpreters do the work, so a crash in compiled code kills none but the worker; its
    item is answered with `SolveFailed` and another worker takes its place. An error of ours
    that is no `SolveFailed`, as a wrong argument or a missing package, is raised at once: it
    would meet every item. Workers and what they have started end when the loop is closed, and
    also when the caller is killed.

    Args:
        task: A function or object that pickle can carry.
        items: What it is called with.
        jobs: How many processes; each uses one thread for linear algebra.
    """
    try:
        packed = pickle.dumps((loaded_files(), pickle.dumps(task)))
    except Exception as error:
        rule, remedy = "must be picklable to travel", "define it in a module, or use one job"
        raise ArgumentError("answers.task", rule, f"{error}", remedy) from error
    waiting = deque(enumerate(items))
    crew: list[Worker] = []
    try:
        while waiting or any(worker.place is not None for worker in crew):
            while len(crew) < min(jobs, len(waiting) + busy(crew)):
                crew.append(Worker(packed))
            for worker in crew:
                if worker.ready and worker.place is None and waiting:
                    worker.give(*waiting.popleft())
            wait([worker.connection for worker in crew])
            yield from news(crew)
    finally:
        for worker in crew:
            worker.end()


def busy(crew: "list[Worker]") -> int:
    """How many workers hold an item."""
    return sum(worker.place is not None for worker in crew)


def news(crew: "list[Worker]") -> Iterator[tuple[int, Any]]:
    """Take what the workers have sent; the dead leave the crew."""
    for worker in list(crew):
        try:
            if not worker.connection.poll():
                continue
            place, answer = worker.place, worker.take()
        except (EOFError, OSError):
            crew.remove(worker)
            place, answer = worker.place, worker.death()
        if place is not None:
            yield place, answer


class Worker:
    """One process, and the place of the item it holds."""

    def __init__(self, packed: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, far = context.Pipe()
        self.process = context.Process(target=serve, args=(far,), name="mflno worker")
        self.place: int | None = None
        self.ready = False
        with one_thread_each():
            self.process.start()
        # Only the worker may hold its end, or its death would not be seen on the pipe.
        far.close()
        with suppress(OSError):
            self.connection.send_bytes(packed)

    def give(self, place: int, item: object) -> None:
        """Hand out an item."""
        self.place = place
        with suppress(OSError):
            self.connection.send(item)

    def take(self) -> object:
        """What the worker sent: that it is ready, or an answer."""
        answer = self.connection.recv()
        if isinstance(answer, Refusal):
            raise answer.error()
        if not self.ready:
            self.ready = True
            if answer is not None:
                raise unable(answer)
        self.place = None
        return answer

    def death(self) -> SolveFailed:
        """Why the process is no more; raises when it never came to work at all."""
        self.end_family()
        self.process.join(5.0)
        self.connection.close()
        code = self.process.exitcode
        if not self.ready:
            raise unable(f"exit code {code}")
        if code is not None and code < 0:
            return SolveFailed(
                "signal", f"the solver's process was killed by {signal_name(-code)}"
            )
        return SolveFailed("exit", f"the solver ended its process with exit code {code}")

    def end(self) -> None:
        """Stop the process, whatever it does, and what it has started."""
        self.connection.close()
        self.end_family()
        self.process.kill()
        self.process.join()

    def end_family(self) -> None:
        """Stop all that lives in the worker's session; a ready worker has one of its own."""
        with suppress(ProcessLookupError, PermissionError):
            if self.ready and self.process.pid:
                os.killpg(self.process.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Refusal:
    """An error of ours that concerns every item alike, in a form that can travel."""

    kind: type[MflnoError]
    words: tuple[Any, ...]
    state: dict[str, Any]

    def error(self) -> MflnoError:
        """The error again, as it was raised."""
        error = self.kind.__new__(self.kind)
        error.args = self.words
        error.__dict__.update(self.state)
        return error


def unable(reason: object) -> ArgumentError:
    """The error of a worker that could not even begin."""
    rule = "a fresh interpreter must be able to import what it works on"
    remedy = (
        "define it in a module, guard the script by if __name__ == '__main__', or use one job"
    )
    return ArgumentError("worker process", rule, reason, remedy)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started inside use one thread each, unless the user has said otherwise."""
    added = [name for name in SINGLE_THREADED if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def serve(connection: Connection) -> None:
    """What a worker does: take the task, then items, until the caller is gone."""
    # A session of its own: what a solver starts ends with its worker, and a Ctrl-C is answered
    # by the caller for all. A solver that never lets Python run again hears the caller's death
    # from the kernel alone.
    os.setsid()
    control(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    letters: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(connection, letters), daemon=True).start()
    try:
        files, packed = pickle.loads(letters.get())
        for file in files:
            module_in(Path(file))
        task = pickle.loads(packed)
    except Exception as error:
        connection.send(f"{type(error).__name__}: {error}")
        return
    connection.send(None)
    while True:
        item = pickle.loads(letters.get())
        try:
            answer = task(item)
        except SolveFailed as error:
            answer = error
        except MflnoError as error:
            answer = Refusal(type(error), error.args, error.__dict__)
        except (Exception, SystemExit) as error:
            answer = failure_of(error)
        sys.stdout.flush()
        connection.send(answer)


def receive(connection: Connection, letters: "queue.SimpleQueue[bytes]") -> None:
    """Pass on what comes, and end the process at once when the caller is gone."""
    while True:
        try:
            letters.put(connection.recv_bytes())
        except (EOFError, OSError):
            # All of the session, or what a solver has started would live on.
            os.killpg(0, signal.SIGKILL)
