"""Guarded processes: however a run, its guard or its caller ends, nothing is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mflno.processes.calls
from mflno.errors import ArgumentError, SolveFailed
from mflno.processes import (
    Call,
    Command,
    call_to_end,
    first_ended,
    function_named,
    name_of,
    run,
    start,
    start_call,
    tail,
    write_whole,
)

LINUX = sys.platform.startswith("linux")
needs_linux = pytest.mark.skipif(not LINUX, reason="adopting orphans needs Linux")
PATIENCE = 20.0

# A run that starts a child, a grandchild in a session of its own that also ignores SIGTERM,
# and a daemon whose parent has already left; each writes its number to a file.
FAMILY = """
import os, signal, subprocess, sys, time
place = sys.argv[1]
def note(name):
    with open(f"{place}/.{name}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{place}/.{name}", f"{place}/{name}.pid")
def sleep():
    while True:
        time.sleep(1)
if os.fork() == 0:
    note("child")
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note("grandchild")
        sleep()
    sleep()
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        note("daemon")
        sleep()
    os._exit(0)
note("leader")
while len([name for name in os.listdir(place) if name.endswith(".pid")]) < 4:
    time.sleep(0.01)
print("family complete", flush=True)
exec(sys.argv[2])
"""


def command(place, code, *words, **settings):
    place.mkdir(exist_ok=True)
    settings = {"limit": 60.0, **settings}
    words = (sys.executable, "-c", code, *words)
    return Command(words, directory=place, log=place / "log.txt", **settings)


def family(place, last_words="sleep()", **settings):
    return command(place, FAMILY, str(place), last_words, grace=0.3, **settings)


def alive(pid):
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def members(place):
    return {path.stem: int(path.read_text()) for path in place.glob("*.pid")}


def wait_until(true, seconds=PATIENCE):
    deadline = time.monotonic() + seconds
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def ended_kind(running):
    ended = running.wait(PATIENCE)
    return ended.kind if ended else "on its way"


def assert_family_gone(place):
    pids = members(place)
    assert set(pids) == {"leader", "child", "grandchild", "daemon"}
    assert wait_until(lambda: not any(map(alive, pids.values()))), pids


def test_output_goes_to_the_log_and_the_run_succeeds(tmp_path):
    ended = run(command(tmp_path, "import sys; print('out'); print('err', file=sys.stderr)"))
    assert (ended.kind, ended.code) == ("exit", 0)
    assert set(ended.tail().split()) == {"out", "err"}


def test_environment_and_directory_reach_the_run(tmp_path):
    code = "import os; print(os.environ['WING'], os.environ['PATH'] != '', os.getcwd())"
    ended = run(command(tmp_path, code, environment={"WING": "left"}))
    assert ended.tail() == f"left True {tmp_path.resolve()}"


def test_exit_code_rule(tmp_path):
    code = "import sys; print('no convergence'); sys.exit(3)"
    with pytest.raises(SolveFailed, match="exit code 3") as caught:
        run(command(tmp_path, code))
    assert (caught.value.kind, caught.value.log) == ("exit", "no convergence")
    assert run(command(tmp_path, code, success=(0, 3))).code == 3


def test_death_by_a_signal_is_named(tmp_path):
    code = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(SolveFailed, match="SIGSEGV") as caught:
        run(command(tmp_path, code))
    assert caught.value.kind == "signal"


def test_missing_program_and_missing_log_folder_do_not_start(tmp_path):
    absent = Command(("/no/such/program",), tmp_path, tmp_path / "log.txt")
    with pytest.raises(SolveFailed, match="No such file") as caught:
        run(absent)
    assert caught.value.kind == "start"
    with pytest.raises(SolveFailed, match="No such file"):
        run(Command((sys.executable, "-V"), tmp_path, tmp_path / "absent" / "log.txt"))


def test_wrong_commands_are_refused_before_anything_starts(tmp_path):
    log = tmp_path / "log.txt"
    with pytest.raises(ArgumentError, match=r"Command\.words"):
        Command((), tmp_path, log)
    with pytest.raises(ArgumentError, match=r"Command\.limit"):
        Command(("true",), tmp_path, log, limit=0.0)
    with pytest.raises(ArgumentError, match=r"Command\.directory"):
        Command(("true",), tmp_path / "absent", log)


def test_long_log_is_cut_to_its_end(tmp_path):
    ended = run(command(tmp_path, "for i in range(100000): print('line', i)"))
    assert ended.tail().splitlines()[-1] == "line 99999"
    assert len(ended.tail().splitlines()) == 20


def test_endless_log_loses_its_beginning_before_it_fills_the_disk(tmp_path):
    code = (
        "import time\nfor k in range(300): print('x' * (1 << 20), flush=True)\n"
        "time.sleep(1)\nprint('the end', flush=True); time.sleep(60)"
    )
    with start(command(tmp_path, code)) as running:
        assert wait_until(lambda: "the end" in tail(tmp_path / "log.txt"))
        assert running.poll() is None
        assert (tmp_path / "log.txt").stat().st_size < 1 << 26


@needs_linux
def test_time_limit_ends_the_whole_family(tmp_path):
    with pytest.raises(SolveFailed, match=r"within 1\.5 s") as caught:
        run(family(tmp_path, limit=1.5))
    assert (caught.value.kind, caught.value.log) == ("timeout", "family complete")
    assert_family_gone(tmp_path)


@needs_linux
def test_cancel_ends_the_whole_family(tmp_path):
    running = start(family(tmp_path))
    assert wait_until(lambda: len(members(tmp_path)) == 4)
    assert running.poll() is None
    ended = running.cancel()
    assert ended.kind == "cancelled"
    assert not any(map(alive, members(tmp_path).values()))
    assert running.cancel() is ended


@needs_linux
@pytest.mark.parametrize("last_words", ["pass", "os.kill(os.getpid(), 9)"])
def test_what_a_run_leaves_behind_is_ended_with_it(tmp_path, last_words):
    ended = start(family(tmp_path, last_words)).wait(PATIENCE)
    assert ended is not None
    assert ended.kind == ("exit" if last_words == "pass" else "signal")
    assert_family_gone(tmp_path)


# A shell that starts the tests in the background has SIGINT ignored in all they start.
CALLER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from mflno.processes import Command, start
place = Path(sys.argv[1])
words = (sys.executable, "-c", sys.argv[2], str(place), "sleep()")
scratch = place / "scratch"
scratch.mkdir()
running = start(Command(words, place, place / "log.txt", grace=0.3, scratch=scratch))
exec(sys.argv[3])
while True:
    running.wait(1.0)
"""


def calling(place, extra=""):
    words = [sys.executable, "-c", CALLER, str(place), FAMILY, extra]
    caller = subprocess.Popen(words, stderr=subprocess.PIPE)
    assert wait_until(lambda: len(members(place)) == 4)
    return caller


def end(caller, number=signal.SIGKILL):
    caller.send_signal(number)
    caller.communicate(timeout=PATIENCE)


@needs_linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_death_of_the_caller_ends_the_whole_family(tmp_path, number):
    end(calling(tmp_path), number)
    assert_family_gone(tmp_path)
    assert wait_until(lambda: not (tmp_path / "scratch").exists())


@needs_linux
def test_death_of_a_caller_whose_fork_holds_the_lifeline_ends_the_family(tmp_path):
    extra = "if os.fork() == 0:\n    open(place / 'fork', 'w').write(str(os.getpid()))\n"
    extra += "    os.close(2)\n    time.sleep(60)"
    caller = calling(tmp_path, extra)
    assert wait_until(lambda: (tmp_path / "fork").exists())
    fork = int((tmp_path / "fork").read_text())
    try:
        end(caller)
        assert alive(fork)
        assert_family_gone(tmp_path)
    finally:
        os.kill(fork, signal.SIGKILL)


@needs_linux
def test_end_of_the_thread_that_started_a_run_does_not_end_it(tmp_path):
    from threading import Thread

    runs = []
    thread = Thread(target=lambda: runs.append(start(command(tmp_path, "input() if 0 else 0"))))
    thread.start()
    thread.join()
    assert ended_kind(runs[0]) == "exit"


@needs_linux
def test_death_of_the_guard_ends_the_run(tmp_path):
    code = "import os, time; print(os.getpid(), 'is it', flush=True); time.sleep(60)"
    running = start(command(tmp_path, code))
    assert wait_until(lambda: "is it" in tail(tmp_path / "log.txt"))
    pid = int(tail(tmp_path / "log.txt").split()[0])
    running.guard.kill()
    ended = running.wait(PATIENCE)
    assert ended is not None
    assert (ended.kind, ended.code) == ("signal", 9)
    assert wait_until(lambda: not alive(pid))


@needs_linux
def test_death_of_caller_and_guard_at_once_ends_the_run(tmp_path):
    code = (
        "import os, sys; from mflno.processes import *; from pathlib import Path\n"
        "place = Path(sys.argv[1])\n"
        "code = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'\n"
        "running = start(Command((sys.executable, '-c', code), place, place / 'log.txt'))\n"
        "while not tail(place / 'log.txt'): running.wait(0.05)\n"
        "os.kill(running.guard.pid, 9); os.kill(os.getpid(), 9)"
    )
    caller = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=PATIENCE)
    assert caller.returncode == -signal.SIGKILL
    pid = int(tail(tmp_path / "log.txt"))
    assert wait_until(lambda: not alive(pid))


@needs_linux
def test_terminated_guard_cleans_up_before_it_goes(tmp_path):
    running = start(family(tmp_path))
    assert wait_until(lambda: len(members(tmp_path)) == 4)
    running.guard.terminate()
    assert ended_kind(running) == "cancelled"
    assert_family_gone(tmp_path)


@needs_linux
def test_losing_the_handle_ends_the_run(tmp_path):
    running = start(family(tmp_path))
    assert wait_until(lambda: len(members(tmp_path)) == 4)
    del running
    assert_family_gone(tmp_path)


def test_a_polite_run_may_say_goodbye(tmp_path):
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('licence returned')))\n"
        "sys.stdout.write('ready\\n')\nsys.stdout.flush()\nwhile True: time.sleep(0.05)"
    )
    running = start(command(tmp_path, code, grace=10.0))
    assert wait_until(lambda: "ready" in tail(tmp_path / "log.txt"))
    assert running.cancel().tail().splitlines() == ["ready", "licence returned"]


def test_many_runs_at_once_are_taken_as_they_end(tmp_path):
    codes = ["import time; time.sleep(60)", "pass", "import time; time.sleep(60)"]
    runs = [start(command(tmp_path / str(k), code)) for k, code in enumerate(codes)]
    assert first_ended(runs, PATIENCE) == [runs[1]]
    assert first_ended([runs[0], runs[2]], 0.05) == []
    assert runs[0].wait(0.0) is None
    assert {run.cancel().kind for run in runs} == {"cancelled", "exit"}
    assert first_ended([]) == []


def test_runs_that_end_at_once_are_not_missed(tmp_path):
    words = ("true", "false")
    runs = [
        start(Command((words[k % 2],), tmp_path, tmp_path / f"{k}.txt", limit=60.0))
        for k in range(16)
    ]
    ended = [run.wait(PATIENCE) for run in runs]
    assert [each and (each.kind, each.code) for each in ended] == [("exit", 0), ("exit", 1)] * 8


def test_guards_leave_no_process_and_no_file_handle(tmp_path):
    before = len(os.listdir("/dev/fd"))
    runs = [start(command(tmp_path, f"raise SystemExit({k})")) for k in range(3)]
    assert [ended_kind(run) for run in runs] == ["exit"] * 3
    assert len(os.listdir("/dev/fd")) == before
    for handle in runs:
        assert not Path(f"/proc/{handle.guard.pid}").exists()


MODULE = """
import os, sys, time
import numpy as np
from mflno.errors import SolveFailed

def line(slope, grid):
    return {"u": slope * np.asarray(grid), "t": grid}

def broken():
    print("step 7 diverged")
    raise ZeroDivisionError("no pivot")

def refusing():
    raise SolveFailed("nan", "step 3 is NaN", "own log")

def leaving():
    sys.exit(4)

def dying():
    os.abort()

def vanishing():
    os._exit(0)

def hanging():
    time.sleep(60)

def nothing():
    return None

def family(place, code):
    sys.argv = ["", place, "sleep()"]
    exec(code, {})
"""


@pytest.fixture
def models(tmp_path):
    path = tmp_path / "models.py"
    path.write_text(MODULE)
    return path


def called(models, name, limit=60.0, **arguments):
    place = models.parent / "call"
    place.mkdir(exist_ok=True)
    return Call(f"{models}:{name}", arguments, place, limit)


def test_call_brings_arrays_back_exactly(models):
    grid = np.linspace(0, 1 / 3, 7)
    answer = call_to_end(called(models, "line", slope=0.1, grid=grid))
    assert np.array_equal(answer["u"], 0.1 * grid)
    assert np.array_equal(answer["t"], grid)
    names = {path.name for path in (models.parent / "call").iterdir()}
    assert names == {"answer.npz", "log.txt", "task.json"}


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("broken", "error", r"ZeroDivisionError: no pivot \(models.py:11\)"),
        ("refusing", "nan", "step 3 is NaN"),
        ("leaving", "exit", "exit code 4"),
        ("dying", "signal", "SIGABRT"),
        ("nothing", "output", "NoneType"),
        ("absent", "error", "absent"),
    ],
)
def test_call_that_fails_says_how(models, name, kind, words):
    with pytest.raises(SolveFailed, match=words) as caught:
        call_to_end(called(models, name))
    assert caught.value.kind == kind
    if name == "broken":
        assert "step 7 diverged" in caught.value.log
        assert "Traceback" in caught.value.log
    assert not called(models, name).answer.exists()


def test_call_that_hangs_is_stopped(models):
    with pytest.raises(SolveFailed, match="within 1 s") as caught:
        call_to_end(called(models, "hanging", limit=1.0))
    assert caught.value.kind == "timeout"


@needs_linux
def test_cancelled_call_takes_its_family_along(models):
    place = models.parent / "family"
    place.mkdir()
    with start_call(called(models, "family", place=str(place), code=FAMILY)):
        assert wait_until(lambda: len(members(place)) == 4)
    assert_family_gone(place)


def test_an_earlier_answer_is_never_taken_for_a_new_one(models):
    call_to_end(called(models, "line", slope=1.0, grid=[0.0, 1.0]))
    with pytest.raises(SolveFailed, match="left without an answer"):
        call_to_end(called(models, "vanishing"))
    with pytest.raises(SolveFailed, match="no pivot"):
        call_to_end(called(models, "broken"))
    with pytest.raises(SolveFailed, match="left without an answer"):
        call_to_end(called(models, "vanishing"))


def test_argument_that_cannot_travel_is_refused(models):
    with pytest.raises(TypeError, match="set cannot travel"):
        call_to_end(called(models, "line", slope={1}, grid=[]))


def test_functions_are_found_by_name(models):
    assert function_named("math:sqrt")(4.0) == 2.0
    line = function_named(f"{models}:line")
    assert name_of(line) == f"{models}:line"
    assert name_of(json.dumps) == "json:dumps"
    for wrong in ("math", "math:", "no_such_module:f", "math:no_such", "math:pi", "a.py:f"):
        with pytest.raises(ArgumentError, match="function"):
            function_named(wrong)
    with pytest.raises(ArgumentError, match="top of a module"):
        name_of(lambda: 0)


def test_interrupted_write_leaves_the_earlier_file(tmp_path, monkeypatch):
    path = tmp_path / "answer.txt"
    write_whole(path, lambda part: part.write_text("whole"))

    def half(part):
        part.write_text("ha")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_whole(path, half)
    order = []
    monkeypatch.setattr(mflno.processes.calls, "sync", lambda place: order.append(place.name))
    monkeypatch.setattr(os, "replace", lambda part, place: order.append("rename"))
    write_whole(path, lambda part: part.write_text("more"))
    assert order == [f".{os.getpid()}.answer.txt", "rename", tmp_path.name]
    assert path.read_text() == "whole"
    assert [entry.name for entry in tmp_path.iterdir()] == ["answer.txt"]
