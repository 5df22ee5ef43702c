"""The rules by the names a plan uses."""

from typing import Any

from mflno.active.conditioned import Conditioned
from mflno.active.coreset import CoreSet
from mflno.active.ivr import VarianceReduction
from mflno.active.lcmd import LargestCluster
from mflno.active.maximin import Maximin
from mflno.active.planned import Planned
from mflno.active.random import Random
from mflno.active.sbal import Stochastic
from mflno.active.shortlist import Shortlist
from mflno.active.sobol import Sobol
from mflno.active.topb import TopB
from mflno.active.view import Choice
from mflno.errors import ArgumentError

CHOICES: dict[str, type] = {
    "planned": Planned,
    "maximin": Maximin,
    "sobol": Sobol,
    "random": Random,
    "ivr": VarianceReduction,
    "conditioned": Conditioned,
    "lcmd": LargestCluster,
    "coreset": CoreSet,
    "sbal": Stochastic,
    "uncertain-maximin": Shortlist,
    "topb": TopB,
}
"""Every rule; `Guard` joins one that reads no posterior with one that does."""


def choice_named(name: str, **options: Any) -> Choice:  # noqa: ANN401
    """A rule by its name, as a plan file gives it.

    Example:
        >>> choice_named("topb", relative=True)
        TopB(relative=True)
    """
    if name not in CHOICES:
        rule, remedy = "must be a known rule", f"one of {', '.join(CHOICES)}"
        raise ArgumentError("choice", rule, repr(name), remedy)
    try:
        return CHOICES[name](**options)
    except TypeError as error:
        remedy = "see the rule's own arguments"
        raise ArgumentError(f"choice {name!r}", "takes other options", error, remedy) from error
