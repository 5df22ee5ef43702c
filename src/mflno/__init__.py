"""mflno: surrogates with error bars for expensive oscillatory solvers, from few runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mflno.campaign import Campaign, Plan, read_campaign
    from mflno.data import Level, Parameter, Trajectories
    from mflno.errors import ArgumentError, MflnoError, MissingExtra, SolveFailed, StoreError
    from mflno.exchange import read_trajectories, write_trajectories
    from mflno.multifidelity import (
        METHODS,
        MFLNO,
        Auto,
        MovingMFLNO,
        Prediction,
        Surrogate,
        fit,
        load,
    )
    from mflno.sampling import sample

__version__ = "0.1.0"

_HOMES = {
    "Campaign": "campaign",
    "Plan": "campaign",
    "read_campaign": "campaign",
    "ArgumentError": "errors",
    "MflnoError": "errors",
    "MissingExtra": "errors",
    "SolveFailed": "errors",
    "StoreError": "errors",
    "Level": "data",
    "Parameter": "data",
    "Trajectories": "data",
    "METHODS": "multifidelity",
    "MFLNO": "multifidelity",
    "Auto": "multifidelity",
    "MovingMFLNO": "multifidelity",
    "Prediction": "multifidelity",
    "Surrogate": "multifidelity",
    "fit": "multifidelity",
    "load": "multifidelity",
    "read_trajectories": "exchange",
    "sample": "sampling",
    "write_trajectories": "exchange",
}
__all__ = [
    "METHODS",
    "MFLNO",
    "ArgumentError",
    "Auto",
    "Campaign",
    "Level",
    "MflnoError",
    "MissingExtra",
    "MovingMFLNO",
    "Parameter",
    "Plan",
    "Prediction",
    "SolveFailed",
    "StoreError",
    "Surrogate",
    "Trajectories",
    "__version__",
    "fit",
    "load",
    "read_campaign",
    "read_trajectories",
    "sample",
    "write_trajectories",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name from its home on first use, so that importing mflno does no work."""
    if name not in _HOMES:
        text = f"module 'mflno' has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"mflno.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
