"""A program as the solver of one level: input files from templates, an output file, a log."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mflno.errors import ArgumentError, SolveFailed
from mflno.problems.readers import Output, is_inside
from mflno.problems.solver import Answer, Request, check_file, check_limit, digest_of
from mflno.processes import Command, run, tail

PLACEHOLDER = re.compile(r"(?<!\$)\$\{([^{}:]+)(?::([^{}]*))?\}")
ESCAPED = re.compile(r"\$(?=\$\{)")
FORCING_FILE, CASE_FILE, LOG_FILE = "forcing.csv", "case.json", "log.txt"


@dataclass(frozen=True)
class Executable:
    """A program that is started once for each run, in a directory of its own.

    In words, templates and environment values `${name}` stands for a parameter, with all its
    digits, or as `${name:.4e}` says. `${grid.start}`, `${grid.stop}`, `${grid.step}` and
    `${grid.points}` tell the grid, `${run}` is the run's directory, `${folder}` the one that
    relative paths start at, and `${forcing}` the name of a `.csv` file with the forcing. For
    a `${` that shall stay, as of a shell, write `$${`. Any other `$` or brace is left alone.
    Templates may be of any encoding that agrees with ASCII; line ends are kept.

    Args:
        command: Program and arguments; no shell looks at them.
        output: The file it leaves.
        limit: Seconds a run may take (`inf` for no limit); then all its processes are ended.
        templates: Name of each input file, and the template it is made from.
        files: Files and directories copied into the run's directory.
        environment: Variables added to this process's own.
        success: Exit codes that mean success.
        ignores: Parameters that this program does not take; any other must appear somewhere.
        folder: Where relative paths start; the current directory unless given.
        runs: Keep each run's directory in here; temporary directories unless given.
    """

    command: Sequence[str]
    output: Output
    limit: float
    templates: Mapping[str, str | Path] = field(default_factory=dict)
    files: Sequence[str | Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    success: Sequence[int] = (0,)
    ignores: Sequence[str] = ()
    folder: str | Path = "."
    runs: str | Path | None = None

    def __post_init__(self) -> None:
        """Fix the folder, so that a later change of directory moves nothing."""
        object.__setattr__(self, "folder", Path(self.folder).absolute())

    def path(self, name: str | Path) -> Path:
        """A path that may be relative to the folder."""
        return Path(self.folder) / name

    def check(self, request: Request) -> None:
        """See that program, files and placeholders exist and that no parameter is forgotten."""
        check_limit("Executable", self.limit)
        self.output.check(request.outputs)
        if not self.command:
            rule, remedy = "must name a program", "add it"
            raise ArgumentError("Executable.command", rule, self.command, remedy)
        own = {LOG_FILE} if request.forcing is None else {LOG_FILE, FORCING_FILE}
        check_inputs(self, own)
        texts = [*self.command, *self.environment.values(), *self.template_texts().values()]
        values = placeholder_values(self, request, Path("run"))
        for text in texts:
            filled(text, values)
        used = {match[1] for text in texts for match in PLACEHOLDER.finditer(text)}
        forgotten = set(request.case) - used - set(self.ignores)
        if forgotten:
            rule = "every parameter must reach the program"
            remedy = "use ${name} somewhere, or list the name in `ignores`"
            raise ArgumentError("Executable.command", rule, f"no {sorted(forgotten)}", remedy)
        program(self, filled(self.command[0], values))

    def template_texts(self) -> dict[str, str]:
        """Text of each template by the name of the file made from it."""
        # Bytes that are no UTF-8 go through unchanged, and so do line ends.
        read = lambda path: self.path(path).read_bytes().decode(errors="surrogateescape")
        return {name: read(path) for name, path in self.templates.items()}

    def solve(self, request: Request) -> Answer:
        """Prepare a directory, run the program in it, and read what it left."""
        with run_directory(self.runs and self.path(self.runs)) as place:
            values = placeholder_values(self, request, place)
            try:
                write_inputs(self, request, place, values)
            except OSError as error:
                text = f"its directory could not be prepared: {error}"
                raise SolveFailed("start", text) from error
            words = [filled(word, values) for word in self.command]
            words[0] = program(self, words[0])
            added = {name: filled(text, values) for name, text in self.environment.items()}
            log = place / LOG_FILE
            run(Command(words, place, log, added, self.limit, self.success,
                        scratch=None if self.runs else place))  # fmt: skip
            try:
                return self.output.read(place, request.outputs, len(request.grid))
            except SolveFailed as error:
                raise SolveFailed(error.kind, error.detail, tail(log)) from error

    def fingerprint(self) -> str:
        """Command, environment, and the content of program, templates and copied files."""
        words = list(self.command)
        templates = sorted((name, self.path(each)) for name, each in self.templates.items())
        copies = sorted((self.path(each).name, self.path(each)) for each in self.files)
        places = (self.path(word.replace("${folder}", ".")) for word in words)
        programs = [place for place in places if place.is_file()]
        return digest_of(
            "executable", words, dict(self.environment), repr(self.output), *programs,
            *(part for pair in (*templates, *copies) for part in pair),
        )  # fmt: skip


def check_inputs(solver: Executable, own: Set[str]) -> None:
    """Raise unless templates and files exist and land in the run's directory, each its own."""
    names = [*solver.templates, *(solver.path(each).name for each in solver.files)]
    for name in names:
        if not is_inside(name):
            place, rule = "Executable.templates", "must be names in the run's directory"
            raise ArgumentError(place, rule, repr(name), "let the program read it there")
    if len({Path(name) for name in (*names, *own)}) < len(names) + len(own):
        rule = f"must be different names, and none of them {' or '.join(sorted(own))}"
        raise ArgumentError("Executable.templates", rule, names, "rename one")
    for name in solver.templates.values():
        check_file("Executable.templates", solver.path(name))
    for name in solver.files:
        if not solver.path(name).exists():
            place, remedy = "Executable.files", "check the path"
            raise ArgumentError(place, "must exist", solver.path(name), remedy)


def program(solver: Executable, word: str) -> str:
    """Where the program is; a word with a slash is a path, another is looked up."""
    path = str(solver.path(word)) if os.sep in word else word
    if shutil.which(path, path=solver.environment.get("PATH")) is None:
        rule, remedy = "must name a program that can be started", "check path and permissions"
        raise ArgumentError("Executable.command", rule, path, remedy)
    return path


def placeholder_values(
    solver: Executable, request: Request, place: Path
) -> dict[str, float | int | str]:
    """What each placeholder stands for."""
    grid = request.grid
    values: dict[str, float | int | str] = {
        "grid.start": float(grid[0]), "grid.stop": float(grid[-1]), "grid.points": len(grid),
        "grid.step": float((grid[-1] - grid[0]) / (len(grid) - 1)),
        "run": str(place), "folder": str(solver.folder),
    }  # fmt: skip
    if request.forcing is not None:
        values["forcing"] = FORCING_FILE
    clash = set(values) & set(request.case)
    if clash:
        rule, remedy = "must not be names of placeholders", "rename the parameters"
        raise ArgumentError("Executable.command", rule, sorted(clash), remedy)
    return {**values, **request.case}


def filled(text: str, values: Mapping[str, float | int | str]) -> str:
    """The text with its placeholders filled in.

    Example:
        >>> filled("a = ${a}, b = ${b:8.3f}; {c} $d $${HOME}", {"a": 0.1, "b": 2.0})
        'a = 0.1, b =    2.000; {c} $d ${HOME}'
    """

    def value(match: re.Match[str]) -> str:
        name, form = match[1], match[2]
        if name not in values:
            rule = f"must be one of {', '.join(values)}"
            remedy = "correct the name, or write $${ for what is no placeholder"
            raise ArgumentError("Executable placeholder", rule, match[0], remedy)
        try:
            return format(values[name], form or "")
        except ValueError as error:
            rule = "must have a format that Python knows"
            raise ArgumentError("Executable placeholder", rule, match[0], str(error)) from error

    return ESCAPED.sub("", PLACEHOLDER.sub(value, text))


@contextmanager
def run_directory(keep: Path | str | None) -> Iterator[Path]:
    """A fresh directory; kept where a place for it is given."""
    if keep:
        Path(keep).mkdir(parents=True, exist_ok=True)
        yield Path(tempfile.mkdtemp(prefix="run-", dir=keep))
        return
    with tempfile.TemporaryDirectory(prefix="mflno-", ignore_cleanup_errors=True) as place:
        yield Path(place)


def write_inputs(
    solver: Executable, request: Request, place: Path, values: Mapping[str, float | int | str]
) -> None:
    """Put everything the program reads into the run's directory."""
    for name in solver.files:
        source = solver.path(name)
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, place / source.name)
    for name, text in solver.template_texts().items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(filled(text, values).encode(errors="surrogateescape"))
    if not (place / CASE_FILE).exists():
        (place / CASE_FILE).write_text(json.dumps(dict(request.case)), encoding="utf-8")
    # What was copied in is no answer of this run.
    (place / solver.output.file).unlink(missing_ok=True)
    if request.forcing is not None:
        rows = request.forcing(request.grid)
        header = ",".join(["t", *(f"f{number}" for number in range(len(rows)))])
        table = np.vstack([request.grid, rows]).T
        np.savetxt(place / FORCING_FILE, table, "%.17g", ",", header=header, comments="")
