"""Plan, state, loop and runners of a campaign."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mflno.campaign.campaign import Campaign
    from mflno.campaign.dask_runner import Dask
    from mflno.campaign.history import FitRecord, History, RoundRecord, read_campaign
    from mflno.campaign.plan import Plan, amended, plan_of, read_plan
    from mflno.campaign.predictions import write_prediction
    from mflno.campaign.runners import Elsewhere, Inline, Local, Pool, Runner
    from mflno.campaign.state import Run, State, advance, next_action, state_of
    from mflno.campaign.tables import read_told

_HOMES = {
    "Dask": "dask_runner",
    "amended": "plan",
    "write_prediction": "predictions",
    "read_told": "tables",
    "Runner": "runners",
    "Pool": "runners",
    "Local": "runners",
    "Inline": "runners",
    "Elsewhere": "runners",
    "Campaign": "campaign",
    "FitRecord": "history",
    "History": "history",
    "Plan": "plan",
    "RoundRecord": "history",
    "Run": "state",
    "State": "state",
    "advance": "state",
    "next_action": "state",
    "plan_of": "plan",
    "read_campaign": "history",
    "read_plan": "plan",
    "state_of": "state",
}
__all__ = [
    "Campaign",
    "Dask",
    "Elsewhere",
    "FitRecord",
    "History",
    "Inline",
    "Local",
    "Plan",
    "Pool",
    "RoundRecord",
    "Run",
    "Runner",
    "State",
    "advance",
    "amended",
    "next_action",
    "plan_of",
    "read_campaign",
    "read_plan",
    "read_told",
    "state_of",
    "write_prediction",
]


# A solver's own process enters by this door too: it must not wait for torch.
def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import a public name from its home on first use."""
    if name not in _HOMES:
        text = f"module 'mflno.campaign' has no attribute {name!r}"
        raise AttributeError(text)
    return getattr(import_module(f"mflno.campaign.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
