"""The command line: parse, call, print. Exit 0 done, 1 failed, 2 wrong usage."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from mflno.commands import COMMANDS
from mflno.errors import ArgumentError, MflnoError


def overview() -> argparse.ArgumentParser:
    """The parser of the bare command, which knows the names alone."""
    lines = "\n".join(f"  {name:<11}{text}" for name, text in COMMANDS.items())
    parser = argparse.ArgumentParser(
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
    head = overview().parse_args(words[:1])
    if head.version or head.command is None:
        from mflno import __version__

        print(__version__) if head.version else overview().print_help()
        return 0 if head.version else 2
    command = import_module(f"mflno.commands.{head.command}")
    parser = argparse.ArgumentParser(
        prog=f"mflno {head.command}", description=COMMANDS[head.command]
    )
    command.configure(parser)
    try:
        return command.run(parser.parse_args(words[1:]))
    except ArgumentError as error:
        print(f"mflno {head.command}: {error}", file=sys.stderr)
        return 2
    except MflnoError as error:
        print(f"mflno {head.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"mflno {head.command}: stopped", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
