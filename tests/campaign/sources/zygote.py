"""Imports once, then forks one command line of mflno for each order on standard input.

An order is a JSON line: the words, a file for what is printed, and variables. The answers are
JSON lines: `pid` at once, `ended` with the exit status (negative for a signal) when asked.
"""

import json
import os
import sys


def say(**words):
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def warm():
    """Import here, once, what a campaign imports late."""
    import mflno
    from mflno.problems import Chain

    assert mflno.Campaign
    cases = [[2.0, 0.2], [4.0, 0.4], [6.0, 0.1]]
    runs = [mflno.sample(Chain(), cases, k, cache=False, show=False) for k in range(3)]
    mflno.fit(Chain(), runs, "pod-gp", show=False).predict([[3.0, 0.2]], draws=2)


def born(order):
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        from mflno.cli import main

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


def serve():
    warm()
    say(ready=True)
    pid = 0
    for line in sys.stdin:
        order = json.loads(line)
        if "words" in order:
            pid = born(order)
            say(pid=pid)
        else:
            found, status = os.waitpid(pid, 0 if order["wait"] else os.WNOHANG)
            say(ended=os.waitstatus_to_exitcode(status) if found else None)


# Processes that a campaign spawns import this file too.
if __name__ == "__main__":
    serve()
