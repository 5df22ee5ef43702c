"""Solvers: the contract, the experiments, and adapters for everybody's own."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mflno.data import Level, Parameter
from mflno.errors import ArgumentError
from mflno.problems.burgers import Burgers
from mflno.problems.cases import (
    Split,
    candidate_cases,
    grid_cases,
    random_cases,
    study_cases,
    test_cases,
)
from mflno.problems.chain import Chain
from mflno.problems.checking import (
    checked_case,
    checked_cases,
    checked_level,
    checked_values,
)
from mflno.problems.duffing import Duffing
from mflno.problems.elsewhere import Elsewhere
from mflno.problems.executable import Executable
from mflno.problems.external import ExternalProblem
from mflno.problems.fmu import Fmu
from mflno.problems.forcing import inputs_of
from mflno.problems.function import PythonFunction
from mflno.problems.loading import load_problem
from mflno.problems.lorenz import Lorenz
from mflno.problems.problem import Problem
from mflno.problems.readers import Output
from mflno.problems.toml_form import problem_from_toml
from mflno.problems.umbridge import UmBridge
from mflno.problems.wrapped import Wrapped

if TYPE_CHECKING:
    from mflno.problems.beam import Beam, full_beam


def composite_beam() -> Problem:
    """The composite beam; its finite elements are imported when it is made, not before."""
    from mflno.problems.beam import Beam

    return Beam()


PROBLEMS: dict[str, Callable[[], Problem]] = {
    "lorenz": Lorenz,
    "duffing": Duffing,
    "duffing-wide": Duffing.wide,
    "duffing-jump": Duffing.jump,
    "beam": composite_beam,
    "burgers": Burgers,
    "chain": Chain,
}
"""Name of each built-in problem and what makes it."""


def problem_named(name: str) -> Problem:
    """A built-in problem by its name.

    Example:
        >>> problem_named("chain").name
        'chain'
    """
    if name not in PROBLEMS:
        rule = f"must be one of {', '.join(PROBLEMS)}"
        remedy = "'mflno problems' describes them; name your own as file.py:name or x.toml"
        raise ArgumentError("problem", rule, repr(name), remedy)
    return PROBLEMS[name]()


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name in ("Beam", "full_beam"):
        from mflno.problems import beam

        return getattr(beam, name)
    text = f"module 'mflno.problems' has no attribute {name!r}"
    raise AttributeError(text)


__all__ = [
    "PROBLEMS",
    "Beam",
    "Burgers",
    "Chain",
    "Duffing",
    "Elsewhere",
    "Executable",
    "ExternalProblem",
    "Fmu",
    "Level",
    "Lorenz",
    "Output",
    "Parameter",
    "Problem",
    "PythonFunction",
    "Split",
    "UmBridge",
    "Wrapped",
    "candidate_cases",
    "checked_case",
    "checked_cases",
    "checked_level",
    "checked_values",
    "full_beam",
    "grid_cases",
    "inputs_of",
    "load_problem",
    "problem_from_toml",
    "problem_named",
    "random_cases",
    "study_cases",
    "test_cases",
]
