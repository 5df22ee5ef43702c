"""Guarded child processes: time limits, logs, whole results, and no orphans.

`start` returns a handle (`poll`, `wait`, `cancel`), `run` waits; `Call` does the same for a
Python function in a fresh interpreter, and `answers` keeps a few interpreters standing for
a long list. The guard itself is `supervisor.py`.
"""

from mflno.processes.calls import (
    Call,
    call_answer,
    call_to_end,
    failure_of,
    function_named,
    name_of,
    start_call,
    write_whole,
)
from mflno.processes.running import Command, Ended, Running, first_ended, run, start, tail
from mflno.processes.workers import answers

__all__ = [
    "Call",
    "Command",
    "Ended",
    "Running",
    "answers",
    "call_answer",
    "call_to_end",
    "failure_of",
    "first_ended",
    "function_named",
    "name_of",
    "run",
    "start",
    "start_call",
    "tail",
    "write_whole",
]
