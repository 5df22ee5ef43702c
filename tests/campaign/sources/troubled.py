"""Solvers that fail in part of the box, hang, crash, or give what nobody can use."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from mflno.errors import MissingExtra, SolveFailed
from mflno.problems import Chain


class Troubled(Chain):
    """The chain, whose exact level gives way below c = 0.2 in the way the name says."""

    name = "troubled"
    trouble = "diverged"

    def solve_many(self, cases, level):
        values = super().solve_many(cases, level)
        if level == 2 and cases[0][1] < 0.2:
            values = TROUBLES[self.trouble](values)
        return values


def diverged(values):
    raise SolveFailed("error", "the time step fell below 1e-12")


def hangs(values):
    time.sleep(600.0)


def nan(values):
    return values * np.nan


def crashes(values):
    os.kill(os.getpid(), signal.SIGSEGV)


def raises(values):
    return values[0][0][-1] / 0


def leaves(values):
    raise SystemExit(3)


TROUBLES = {f.__name__: f for f in (diverged, hangs, nan, crashes, raises, leaves)}


def made(trouble):
    problem = Troubled()
    problem.trouble = trouble
    return problem


divergent, hanging, empty, crashing, raising, leaving = map(made, TROUBLES)


class Flaky(Chain):
    """Its exact level is killed at the first attempt of every case."""

    name = "flaky"

    def solve(self, case, level):
        mark = Path(os.environ["FLAKY_MARKS"], f"{case[0]:.9f}-{case[1]:.9f}")
        if level == 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().solve(case, level)


class Unlicensed(Chain):
    """Its exact level needs a package that is not there, in every case."""

    name = "unlicensed"

    def solve(self, case, level):
        if level == 2:
            raise MissingExtra("pricey", extra="none", purpose="the exact chain")
        return super().solve(case, level)
