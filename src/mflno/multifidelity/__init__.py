"""Data of several levels to one predictive law: the MF-LNO and its peers."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mflno.multifidelity.calibrating import Bands, ExpectedError, LeftOut, left_out_law
from mflno.multifidelity.files import load
from mflno.multifidelity.law import Data, Law, LeavesOut, Method, Prediction, Predictor
from mflno.multifidelity.names import DEFAULT, METHODS, PREDICTORS, method_named
from mflno.multifidelity.query import Query, interpolated
from mflno.multifidelity.surrogate import Surrogate, checked_device, fit

if TYPE_CHECKING:
    from mflno.multifidelity.auto import Auto, MovingMFLNO
    from mflno.multifidelity.channels import Channels, parameter_channels, scaled_cases
    from mflno.multifidelity.deeponets import MFDeepONet, ResidualDeepONet, deep_ensemble
    from mflno.multifidelity.forms import LNO, Mixed, Mixture, Site
    from mflno.multifidelity.gauss_newton import GaussNewton
    from mflno.multifidelity.gaussian_process import Prior, learned
    from mflno.multifidelity.hf_lno import HFLNO
    from mflno.multifidelity.kernel import Kernel
    from mflno.multifidelity.learnt import Learnt
    from mflno.multifidelity.lf_lno import LFLNO
    from mflno.multifidelity.line import Line
    from mflno.multifidelity.mf_gp import MFGP
    from mflno.multifidelity.mflno import MFLNO, Stages
    from mflno.multifidelity.nargp import NARGP
    from mflno.multifidelity.network_law import chained
    from mflno.multifidelity.pod_gp import PodGP
    from mflno.multifidelity.trended import Trended
    from mflno.multifidelity.trends import Gain, Poles

_HOMES = {
    "Auto": "auto",
    "Channels": "channels",
    "Gain": "trends",
    "GaussNewton": "gauss_newton",
    "HFLNO": "hf_lno",
    "Kernel": "kernel",
    "LFLNO": "lf_lno",
    "LNO": "forms",
    "Learnt": "learnt",
    "Line": "line",
    "MFDeepONet": "deeponets",
    "MFGP": "mf_gp",
    "MFLNO": "mflno",
    "Mixed": "forms",
    "Mixture": "forms",
    "MovingMFLNO": "auto",
    "NARGP": "nargp",
    "PodGP": "pod_gp",
    "Poles": "trends",
    "Prior": "gaussian_process",
    "ResidualDeepONet": "deeponets",
    "Site": "forms",
    "Stages": "mflno",
    "Trended": "trended",
    "chained": "network_law",
    "deep_ensemble": "deeponets",
    "learned": "gaussian_process",
    "parameter_channels": "channels",
    "scaled_cases": "channels",
}

__all__ = [
    "DEFAULT",
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
    "Channels",
    "Data",
    "ExpectedError",
    "Gain",
    "GaussNewton",
    "Kernel",
    "Law",
    "Learnt",
    "LeavesOut",
    "LeftOut",
    "Line",
    "MFDeepONet",
    "Method",
    "Mixed",
    "Mixture",
    "MovingMFLNO",
    "PodGP",
    "Poles",
    "Prediction",
    "Predictor",
    "Prior",
    "Query",
    "ResidualDeepONet",
    "Site",
    "Stages",
    "Surrogate",
    "Trended",
    "chained",
    "checked_device",
    "deep_ensemble",
    "fit",
    "interpolated",
    "learned",
    "left_out_law",
    "load",
    "method_named",
    "parameter_channels",
    "scaled_cases",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a method's class on first use: networks bring torch, processes need none."""
    if name not in _HOMES:
        text = f"module 'mflno.multifidelity' has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"mflno.multifidelity.{_HOMES[name]}"), name)
