"""Runs made elsewhere: ask for cases, have them measured, tell what came, as often as you like.

python examples/ask_and_tell.py [DIRECTORY]

`measured` stands for a laboratory: it might take days, and this script might be ended between
any two lines; the campaign is in its directory.
"""

import sys

import numpy as np

import mflno
from mflno.problems import Elsewhere, ExternalProblem


def model(case, grid):
    return np.exp(-case["damping"] * grid) * np.cos(case["frequency"] * grid)


def measured(case, grid):
    bent = case["frequency"] * (1.0 - 0.02 * np.exp(-2 * case["damping"] * grid))
    return np.exp(-1.05 * case["damping"] * grid) * np.cos(bent * grid)


box = [mflno.Parameter("damping", 0.1, 0.5), mflno.Parameter("frequency", 3.0, 5.0)]
levels = [mflno.Level("model", np.linspace(0.0, 10.0, 256), cost=1.0),
          mflno.Level("rig", np.linspace(0.0, 10.0, 512), cost=100.0)]  # fmt: skip
problem = ExternalProblem(
    "rig", parameters=box, levels=levels, solvers=[model, Elsewhere()], outputs=["angle"]
)

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "rig"
    campaign = mflno.Campaign(folder, problem, mflno.Plan(budget=7, method="pod-gp"))
    names = [parameter.name for parameter in box]
    for count in (3, 2, 2):
        for case in campaign.ask(count):
            swing = measured(dict(zip(names, case, strict=True)), levels[1].grid)
            campaign.tell([case], swing[None, None])
    campaign.run(show=False)
    error = campaign.surrogate.expected_error
    print(f"7 measurements; error expected: {error.mean:.3%}, at most {error.high:.3%}")
