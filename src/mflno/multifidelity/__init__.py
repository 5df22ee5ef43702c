"""Data of several levels to one predictive law: the MF-LNO and its peers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mflno.multifidelity.calibrating import Bands, ExpectedError, LeftOut, left_out_law
from mflno.multifidelity.files import load
from mflno.multifidelity.law import Data, Law, LeavesOut, Method, Prediction, Predictor
from mflno.multifidelity.names import METHODS, PREDICTORS, method_named
from mflno.multifidelity.query import Query
from mflno.multifidelity.surrogate import Surrogate, fit

if TYPE_CHECKING:
    from mflno.multifidelity.line import Line
    from mflno.multifidelity.mf_gp import MFGP
    from mflno.multifidelity.nargp import NARGP
    from mflno.multifidelity.pod_gp import PodGP

_HOMES = {"Line": "line", "MFGP": "mf_gp", "NARGP": "nargp", "PodGP": "pod_gp"}

__all__ = [
    "METHODS",
    "MFGP",
    "NARGP",
    "PREDICTORS",
    "Bands",
    "Data",
    "ExpectedError",
    "Law",
    "LeavesOut",
    "LeftOut",
    "Line",
    "Method",
    "PodGP",
    "Prediction",
    "Predictor",
    "Query",
    "Surrogate",
    "fit",
    "left_out_law",
    "load",
    "method_named",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a method's class on first use: networks bring torch, processes need none."""
    if name not in _HOMES:
        text = f"module 'mflno.multifidelity' has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"mflno.multifidelity.{_HOMES[name]}"), name)
