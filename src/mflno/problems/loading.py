"""A problem by one word of text, so that it can be named on a command line or to a process."""

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from mflno.errors import ArgumentError
from mflno.problems.problem import Problem
from mflno.problems.toml_form import problem_from_toml
from mflno.processes import function_named


def load_problem(source: str | Path | Mapping[str, Any], folder: str | Path = ".") -> Problem:
    """A problem from whatever names one.

    Args:
        source: A built-in name, a `.toml` file, a table read from one, or
            `module:name` or `file.py:name` of a problem or of a function that makes one.
        folder: Where relative paths in a table start.

    Example:
        >>> load_problem("duffing").name
        'duffing'
    """
    from mflno.problems import problem_named

    if isinstance(source, Mapping):
        return problem_from_toml(source, folder)
    text = str(source)
    if text.endswith(".toml"):
        return problem_from_toml(text)
    if ":" not in text:
        return problem_named(text)
    found = function_named(text, called=False)
    # A class with the right attributes looks like a problem too; it is what makes one.
    ready = isinstance(found, Problem) and not isinstance(found, type)
    made = called(found, text) if callable(found) and not ready else found
    if isinstance(made, Problem):
        return made
    rule, remedy = "must be a problem or make one", "see docs/add-a-problem.md"
    raise ArgumentError(text, rule, type(made).__name__, remedy)


def called(maker: Callable[[], Any], text: str) -> Any:  # noqa: ANN401
    """What a maker makes; one that wants arguments is none."""
    try:
        signature(maker).bind()
    except TypeError as error:
        rule, remedy = "must need no arguments", "name a function of none that makes it"
        raise ArgumentError(text, rule, str(error), remedy) from error
    except ValueError:  # something compiled that does not tell its arguments
        pass
    return maker()


def solved(
    problem: str | Mapping[str, Any], case: Sequence[float], level: int, folder: str = "."
) -> dict[str, ndarray]:
    """One run of a named problem; what a process of its own is asked to call."""
    values = load_problem(problem, folder).solve(np.array(case, dtype=float), level)
    return {"values": values}
