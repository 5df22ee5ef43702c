"""The methods and predictors by their names; each is imported when it is asked for."""

from importlib import import_module
from typing import Any

from mflno.errors import ArgumentError, StoreError
from mflno.multifidelity.law import Method

METHODS: dict[str, str] = {
    "auto": "auto:Auto",
    "mflno": "auto:MovingMFLNO",
    "mflno-networks": "mflno:MFLNO",
    "mflno-paper": "mflno:MFLNO.paper",
    "lf-lno": "lf_lno:LFLNO",
    "hf-lno": "hf_lno:HFLNO",
    "mf-deeponet": "deeponets:MFDeepONet",
    "mf-deeponet-residual": "deeponets:ResidualDeepONet",
    "ensemble": "deeponets:deep_ensemble",
    "pod-gp": "pod_gp:PodGP",
    "line": "line:Line",
    "mf-gp": "mf_gp:MFGP",
    "nargp": "nargp:NARGP",
}
"""Name of each method, the module of this room and the class that is it."""

PREDICTORS: dict[str, str] = {
    "stack": "stack:StackPredictor",
    "trended": "trended:TrendedPredictor",
    "networks": "network_law:NetworkPredictor",
    "pod-gp": "pod_gp:PodGPPredictor",
    "line": "line:LinePredictor",
    "levels": "levels:LevelsPredictor",
}
"""Kind of each predictor in a file, the module and the class that reads it."""

DEFAULT = "auto"


def method_named(name: str, **options: Any) -> Method:  # noqa: ANN401
    """A method by its name, with its settings by theirs.

    Example:
        >>> method_named("pod-gp", shapes=("se",)).name
        'pod-gp'
    """
    if name not in METHODS:
        rule, remedy = "must be a known method", f"one of {', '.join(METHODS)}"
        raise ArgumentError("method", rule, repr(name), remedy)
    try:
        return found(METHODS[name])(**options)
    except TypeError as error:
        remedy = "see the method's own arguments"
        raise ArgumentError(f"method {name!r}", "takes other options", error, remedy) from error


def predictor_kind(kind: str) -> Any:  # noqa: ANN401
    """The class that reads predictors of this kind."""
    if kind not in PREDICTORS:
        raise StoreError(f"holds a predictor of kind {kind!r}; update mflno to read it")
    return found(PREDICTORS[kind])


def found(place: str) -> Any:  # noqa: ANN401
    """What `module:Class`, or `module:Class.maker`, of this room stands for."""
    module, _, path = place.partition(":")
    thing: Any = import_module(f"mflno.multifidelity.{module}")
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing
