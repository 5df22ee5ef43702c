"""A campaign on a solver of one's own: nine expensive runs, and a surrogate with bands.

python examples/own_campaign.py [DIRECTORY]          the same line again goes on where it stood
"""

import sys

import numpy as np

import mflno
from mflno.problems import ExternalProblem


def pendulum(case, grid):
    angle, speed, step, swing = 2.0, 0.0, grid[1] - grid[0], []
    for _ in grid:
        swing.append(angle)
        speed -= step * (case["stiffness"] * np.sin(angle) + case["damping"] * speed)
        angle += step * speed
    return swing


box = [mflno.Parameter("damping", 0.05, 0.2), mflno.Parameter("stiffness", 4.0, 9.0)]
levels = [mflno.Level("coarse", np.linspace(0.0, 10.0, 128), cost=1.0),
          mflno.Level("fine", np.linspace(0.0, 10.0, 2048), cost=16.0)]  # fmt: skip
problem = ExternalProblem("pendulum", parameters=box, levels=levels, solvers=[pendulum] * 2)

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "pendulum"
    campaign = mflno.Campaign(folder, problem, mflno.Plan(budget=9, method="pod-gp"))
    print(campaign.run())
    surrogate = campaign.surrogate
    low, high = surrogate.predict([[0.1, 6.0]]).interval(0.95)
    print(f"widest 95 % band at damping 0.1, stiffness 6: {(high - low).max():.3f} rad")
    print(f"relative error expected over the box: {surrogate.expected_error.mean:.3%}")
