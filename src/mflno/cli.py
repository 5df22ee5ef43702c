"""The command line: parse, call, print. Exit 0 done, 1 failed, 2 wrong usage."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from mflno.commands import COMMANDS
from mflno.commands.usage import Parser
from mflno.errors import ArgumentError, MflnoError

THREADS = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"


def overview() -> Parser:
    """The parser of the bare command, which knows the names alone."""
    lines = "\n".join(f"  {name:<11}{text}" for name, text in COMMANDS.items())
    parser = Parser(
        prog="mflno",
        description="Surrogates with error bars for expensive solvers, from few runs.",
        epilog=f"commands:\n{lines}\n\nmflno COMMAND --help tells its arguments.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.add_argument("command", nargs="?", choices=[*COMMANDS], metavar="COMMAND")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    name = f"mflno {words[0]}" if words and words[0] in COMMANDS else "mflno"
    try:
        return obeyed(words)
    except ArgumentError as error:
        said, status = str(error), 2
    except MflnoError as error:
        said, status = str(error), 1
    except OSError as error:
        # A disk, a folder or a pipe: what the machine says, with the place it says it of.
        place = f"{error.filename}: " if error.filename else ""
        said, status = f"{place}{error.strerror or error}", 1
    except KeyboardInterrupt:
        said, status = "stopped", 1
    print(f"{name}: {said}", file=sys.stderr)
    return status


def one_thread() -> None:
    """Have linear algebra on one thread unless the user has said otherwise.

    The matrices of a fit are small: threads that wait for each other made it ten times slower
    on two busy cores. The words are taken back once they are read, so that the processes of
    solvers have the threads they always had.
    """
    unsaid = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(unsaid, "1"))
    try:
        import_module("numpy")
        import_module("scipy.linalg")
    finally:
        for name in unsaid:
            del os.environ[name]


def obeyed(words: Sequence[str]) -> int:
    """Run the command that is named first."""
    head = overview().checked(words[:1])
    if head.version or head.command is None:
        from mflno import __version__

        print(__version__) if head.version else overview().print_help()
        return 0 if head.version else 2
    one_thread()
    command = import_module(f"mflno.commands.{head.command}")
    parser = Parser(prog=f"mflno {head.command}", description=COMMANDS[head.command])
    command.configure(parser)
    return command.run(parser.checked(words[1:]))


if __name__ == "__main__":
    sys.exit(main())
