"""A Python function in a fresh interpreter of its own, under guard.

The function travels as a name, its arguments as JSON, its answer as one `.npz` file that is
there whole or not at all. Nothing is pickled, and nothing of the caller's state leaks in.
"""

import importlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError, SolveFailed
from mflno.processes.running import Command, Ended, Running, start, tail

ANSWER, TASK, FAILURE, LOG = "answer.npz", "task.json", "failure.json", "log.txt"
OF_FILES = "mflno_file_"
BOOT = (
    "import json, sys; task = json.load(open(sys.argv[1], encoding='utf-8')); "
    "sys.path[:] = task['path']; from mflno.processes.calls import answer; answer(task)"
)


def function_named(target: str, *, called: bool = True) -> Any:  # noqa: ANN401
    """The function behind `package.module:function` or `path/to/file.py:function`.

    Args:
        target: Where it lives and what it is called.
        called: Whether it must be something to call.

    Example:
        >>> function_named("math:sqrt")(9.0)
        3.0
    """
    place = f"function {target!r}"
    home, colon, name = target.rpartition(":")
    if not (home and colon and name):
        raise ArgumentError(place, "must read module:function", target, "name both")
    try:
        found: Any = (
            module_in(Path(home)) if home.endswith(".py") else importlib.import_module(home)
        )
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, OSError, AttributeError) as error:
        remedy = "check the name and where Python looks for modules"
        raise ArgumentError(place, "must be importable", f"{error}", remedy) from error
    except (Exception, SystemExit) as error:
        came, remedy = failure_of(error).detail, "correct the module"
        raise ArgumentError(place, "must be importable", came, remedy) from error
    if called and not callable(found):
        raise ArgumentError(place, "must be callable", type(found).__name__, "name a function")
    return found


def module_in(path: Path) -> Any:  # noqa: ANN401
    """The module in a file, loaded once and not as the main program; it sees its neighbours."""
    path = path.resolve(strict=True)
    name = f"{OF_FILES}{path.stem}_{crc32(str(path).encode()):x}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            text = f"{path} is not a Python file"
            raise ImportError(text)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def loaded_files() -> list[str]:
    """The files whose modules this process has loaded; another must do so to unpickle."""
    modules = [each for name, each in sys.modules.items() if name.startswith(OF_FILES)]
    return [each.__file__ for each in modules if each.__file__]


def name_of(function: Callable[..., Any] | str) -> str:
    """The name by which a fresh interpreter finds a function."""
    if isinstance(function, str):
        return function
    home = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "<nameless>")
    if home == "__main__" or str(home).startswith(OF_FILES):
        home = getattr(sys.modules.get(str(home)), "__file__", None)
        home = str(Path(home).resolve()) if home else None
    if not home or "<" in name:
        rule = "must be a function at the top of a module or script"
        remedy = "move it there, or name it as 'module:function'"
        raise ArgumentError("guarded function", rule, name, remedy)
    return f"{home}:{name}"


@dataclass(frozen=True)
class Call:
    """One call of a function in a process of its own.

    Args:
        target: `module:function` or `file.py:function`; it returns an array, or a dict of them.
        arguments: Keyword arguments; what JSON can hold, and arrays, which arrive as lists.
        directory: An existing folder of its own for the task, the log and the answer.
        limit: Seconds until the call is ended; none for as long as it takes.
        environment: Variables added to the caller's own.
        scratch: A directory to delete when the caller dies.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     call = Call("numpy:linspace", dict(start=0, stop=1, num=3), Path(place), 60.0)
        ...     call_to_end(call)["values"].tolist()
        [0.0, 0.5, 1.0]
    """

    target: str
    arguments: Mapping[str, Any]
    directory: Path
    limit: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    scratch: Path | None = None

    @property
    def answer(self) -> Path:
        """Where the answer is, once the call has succeeded."""
        return Path(self.directory).absolute() / ANSWER

    def command(self) -> Command:
        """The command of the fresh interpreter."""
        folder = Path(self.directory).absolute()
        return Command(
            (sys.executable, "-c", BOOT, str(folder / TASK)),
            directory=Path.cwd(), log=folder / LOG, limit=self.limit,
            environment={"PYTHONUNBUFFERED": "1", **self.environment}, scratch=self.scratch,
        )  # fmt: skip


def start_call(call: Call) -> Running:
    """Start the call and return at once; an earlier answer in the same folder is removed."""
    command = call.command()
    for name in (ANSWER, FAILURE):
        (call.answer.parent / name).unlink(missing_ok=True)
    task = {
        "target": call.target,
        "arguments": call.arguments,
        "folder": str(call.answer.parent),
        "path": [str(Path(entry).absolute()) if entry else os.getcwd() for entry in sys.path],
    }
    text = json.dumps(task, default=plain)
    write_whole(call.answer.parent / TASK, lambda path: path.write_text(text, encoding="utf-8"))
    return start(command)


def call_answer(call: Call, ended: Ended) -> dict[str, ndarray]:
    """What the function gave; raises `SolveFailed` when it gave nothing."""
    told = call.answer.parent / FAILURE
    if ended.kind == "exit" and told.exists():
        raise SolveFailed(**json.loads(told.read_text(encoding="utf-8")))
    failure = ended.failure()
    if failure:
        raise failure
    if not call.answer.exists():
        raise SolveFailed("output", f"{call.target} left without an answer", ended.tail())
    with np.load(call.answer, allow_pickle=False) as file:
        return dict(file)


def call_to_end(call: Call) -> dict[str, ndarray]:
    """Call, wait, and take the answer."""
    with start_call(call) as running:
        ended = running.wait()
    return call_answer(call, ended or running.cancel())


def plain(value: object) -> Any:  # noqa: ANN401
    """Arrays and numbers of NumPy as JSON takes them."""
    if isinstance(value, ndarray | np.generic):
        return value.tolist()
    text = f"{type(value).__name__} cannot travel as JSON"
    raise TypeError(text)


def named_arrays(value: Any) -> dict[str, ndarray]:  # noqa: ANN401
    """The answer of a function as named arrays; a lone array is called `values`."""
    given = dict(value) if isinstance(value, Mapping) else {"values": value}
    arrays = {str(name): np.asarray(item) for name, item in given.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufcUS":
            kind = type(given[name]).__name__
            raise SolveFailed("output", f"{name} is {kind}, which is not an array of numbers")
    return arrays


def answer(task: Mapping[str, Any]) -> None:
    """What the fresh interpreter does; it leaves an answer or a failure, and never returns."""
    folder, code = Path(task["folder"]), 1
    try:
        arrays = named_arrays(function_named(task["target"])(**task["arguments"]))
        write_whole(folder / ANSWER, lambda path: np.savez(path, **arrays))  # pyright: ignore
        code = 0
    except SolveFailed as error:
        report(folder, error)
    except BaseException as error:
        traceback.print_exc()
        report(folder, failure_of(error))
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    # Native libraries may crash while the interpreter shuts down, after the work is done.
    os._exit(code)


def failure_of(error: BaseException, log: str = "") -> SolveFailed:
    """What an exception of somebody's solver is to us, with the place it came from."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, SystemExit):
        return SolveFailed("exit", f"the function left with exit code {error.code}{place}", log)
    return SolveFailed("error", f"{type(error).__name__}: {error}{place}", log)


def report(folder: Path, error: SolveFailed) -> None:
    """Leave a failure where the caller looks for it."""
    words = {"kind": error.kind, "detail": error.detail, "log": error.log or tail(folder / LOG)}
    text = json.dumps(words)
    write_whole(folder / FAILURE, lambda path: path.write_text(text, encoding="utf-8"))


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file so that it is there whole or not at all, also after a power cut."""
    part = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        write(part)
        sync(part)
        os.replace(part, path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file's content, or a folder's names, survive a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
