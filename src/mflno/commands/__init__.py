"""One file a command: `HELP`, `configure(parser)`, `run(arguments) -> exit status`."""

COMMANDS: dict[str, str] = {
    "bench": "speed, side by side with the published formulation",
    "demo": "learn a damped oscillator and show the picture",
    "problems": "list the built-in problems, their parameters, levels and costs",
    "sample": "solve many cases of one level into a file",
}
"""Name of each command and what it does; the module of the same name does it."""
