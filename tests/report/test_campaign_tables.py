"""Tables of a campaign's page that need no browser."""

import numpy as np

from mflno.multifidelity.account import Account
from mflno.multifidelity.channels import Channels
from mflno.multifidelity.forms import LNO
from mflno.multifidelity.learnt import Learnt
from mflno.multifidelity.normalising import Normalising
from mflno.report.campaign_tables import network_fold

ACCOUNT = Account(
    step=np.array([0, 5]), energy=np.array([[2.0, 3.0], [1.0, 1.5]]),
    temperature=np.array([0.1, 1.0]), tentative=np.array([0.5]), realised=np.array([0.25]),
    trips=np.array([3, 4]), restarts=np.array([0, 0]), findings=("chain 0: too cold",),
)  # fmt: skip


def learnt(account):
    one = np.ones((2, 1, 4))
    grid = np.linspace(0, 1, 4)
    scale = Normalising.of(one, one)
    return Learnt(
        LNO(), Channels(1), scale, grid, np.zeros((2, 3)), np.array([0.1, 0.3]), account
    )


def test_a_network_tells_its_draws_and_its_swaps():
    items = network_fold(1, learnt(ACCOUNT))["items"]
    draws, chart, swaps, trips, finding = items
    assert draws["rows"] == [["2", "0.1", "0.2", "0.3"]]
    assert [line["y"] for line in chart["series"]] == [[2.0, 1.0], [3.0, 1.5]]
    assert swaps["rows"] == [["0 and 1", "50 %", "25 %"]]
    assert trips["text"].endswith("3, 4.")
    assert finding["text"] == "Chain 0: too cold."


def test_a_network_without_a_sampler_tells_its_draws_alone():
    assert [each["type"] for each in network_fold(1, learnt(None))["items"]] == ["table"]
