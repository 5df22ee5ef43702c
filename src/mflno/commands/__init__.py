"""One file a command: `HELP`, `configure(parser)`, `run(arguments) -> exit status`."""

COMMANDS: dict[str, str] = {}
"""Name of each command and what it does; the module of the same name does it."""
