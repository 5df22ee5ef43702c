"""Imports once, then forks one command line of mflno for each order on standard input.

An order is a JSON line: the words, and a file for what it prints. The answers are JSON lines:
`pid` at once, `ended` with the exit status (negative for a signal) when the order `wait` comes.
"""

import json
import os
import sys

import mflno.campaign.campaign  # noqa: F401
from mflno.cli import main


def say(**words):
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def born(order):
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setsid()
        os.environ.update(order["environment"])
        handle = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = main(order["words"])
        sys.stdout.flush()
    finally:
        os._exit(code)


pid = 0
for line in sys.stdin:
    order = json.loads(line)
    if "words" in order:
        pid = born(order)
        say(pid=pid)
    else:
        found, status = os.waitpid(pid, 0 if order["wait"] else os.WNOHANG)
        say(ended=os.waitstatus_to_exitcode(status) if found else None)
