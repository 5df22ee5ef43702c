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
    from mflno.multifidelity.auto import Auto, MovingMFLNO
    from mflno.multifidelity.deeponets import MFDeepONet, ResidualDeepONet
    from mflno.multifidelity.forms import LNO, Mixture
    from mflno.multifidelity.gauss_newton import GaussNewton
    from mflno.multifidelity.hf_lno import HFLNO
    from mflno.multifidelity.lf_lno import LFLNO
    from mflno.multifidelity.line import Line
    from mflno.multifidelity.mf_gp import MFGP
    from mflno.multifidelity.mflno import MFLNO
    from mflno.multifidelity.nargp import NARGP
    from mflno.multifidelity.pod_gp import PodGP
    from mflno.multifidelity.trended import Trended
    from mflno.multifidelity.trends import Gain, Poles

_HOMES = {
    "Auto": "auto",
    "Gain": "trends",
    "GaussNewton": "gauss_newton",
    "HFLNO": "hf_lno",
    "LFLNO": "lf_lno",
    "LNO": "forms",
    "Line": "line",
    "MFDeepONet": "deeponets",
    "MFGP": "mf_gp",
    "MFLNO": "mflno",
    "Mixture": "forms",
    "MovingMFLNO": "auto",
    "NARGP": "nargp",
    "PodGP": "pod_gp",
    "Poles": "trends",
    "ResidualDeepONet": "deeponets",
    "Trended": "trended",
}

__all__ = [
    "HFLNO",
    "LFLNO",
    "LNO",
    "METHODS",
    "MFGP",
    "MFLNO",
    "NARGP",
    "PREDICTORS",
    "Auto",
    "Bands",
    "Data",
    "ExpectedError",
    "Gain",
    "GaussNewton",
    "Law",
    "LeavesOut",
    "LeftOut",
    "Line",
    "MFDeepONet",
    "Method",
    "Mixture",
    "MovingMFLNO",
    "PodGP",
    "Poles",
    "Prediction",
    "Predictor",
    "Query",
    "ResidualDeepONet",
    "Surrogate",
    "Trended",
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
