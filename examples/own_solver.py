"""A Python function as the solver of two levels, and a few of its runs.

python examples/own_solver.py
"""

import numpy as np

import mflno
from mflno.problems import ExternalProblem, random_cases


def pendulum(case, grid):
    angle, speed, step, swing = 2.0, 0.0, grid[1] - grid[0], []
    for _ in grid:
        swing.append(angle)
        speed -= step * (case["stiffness"] * np.sin(angle) + case["damping"] * speed)
        angle += step * speed
    return swing


box = [mflno.Parameter("damping", 0.05, 0.2), mflno.Parameter("stiffness", 4.0, 9.0)]
coarse = mflno.Level("coarse", np.linspace(0.0, 10.0, 128), cost=1.0)
fine = mflno.Level("fine", np.linspace(0.0, 10.0, 2048), cost=16.0)
problem = ExternalProblem(
    "pendulum", parameters=box, levels=[coarse, fine], solvers=[pendulum, pendulum]
)

if __name__ == "__main__":
    cases = random_cases(problem, 5, np.random.default_rng(0))
    low, high = (mflno.sample(problem, cases, level) for level in (0, 1))
    for case, rough, good in zip(cases, low.values[:, 0], high.values[:, 0], strict=True):
        error = np.abs(np.interp(high.grid, low.grid, rough) - good).max()
        print(
            f"damping {case[0]:.3f}, stiffness {case[1]:.3f}: coarse is off by {error:.2f} rad"
        )
