"""The paper's tables of networks: how many numbers each of ours has, counted."""

import numpy as np
import torch

from mflno.errors import ArgumentError
from mflno.multifidelity import MFLNO, Channels, MFDeepONet, Mixed, Site, parameter_channels
from mflno.operators import Spectrum, count_parameters
from mflno.problems import Problem, problem_named
from mflno.study.cells import Row

PRINTED: dict[tuple[str, str], tuple[int, int, int, int]] = {
    ("lorenz", "MF-LNO"): (803, 176, 176, 1_156),
    ("duffing", "MF-LNO"): (803, 176, 176, 1_156),
    ("beam", "MF-LNO"): (806, 179, 179, 1_165),
    ("lorenz", "MF-DeepONet"): (39_201, 203_041, 203_041, 445_284),
    ("duffing", "MF-DeepONet"): (526_593, 1_444_097, 1_444_097, 3_414_788),
    ("beam", "MF-DeepONet"): (9_697, 12_929, 12_929, 35_556),
}
"""G_L, linear, nonlinear and the sum (with α), as the paper prints them."""


def network_rows() -> list[Row]:
    """Each network of the three problems, counted with complex numbers as one and as two."""
    rows = []
    for (name, label), printed in PRINTED.items():
        problem = problem_named(name)
        method = MFLNO.paper(name) if label == "MF-LNO" else MFDeepONet().whole(name)
        for choice in ("hidden", "none"):
            low, linear, nonlinear, total = counted(problem, method, choice, complex_as=1)
            rows.append({
                "problem": name, "network": label,
                "parameter channels": "hidden ones" if choice == "hidden" else "none",
                "G_L": low, "linear": linear, "nonlinear": nonlinear, "total": total,
                "paper G_L": printed[0], "paper linear": printed[1],
                "paper total": printed[3],
                "total, complex as 2": counted(problem, method, choice, complex_as=2)[3],
            })  # fmt: skip
    return rows


def counted(
    problem: Problem, method: MFLNO, choice: str, *, complex_as: int
) -> tuple[int, int, int, int]:
    """Numbers of G_L, of the two halves of the correction, and of all with α."""
    constant = parameter_channels(problem, choice)
    forcing = problem.inputs(np.array([p.low for p in problem.parameters]), 0).shape[0]
    low, top = problem.levels[0], problem.levels[-1]
    first = Site(Channels(forcing, constant), 1, low.points, Spectrum())
    second = Site(Channels(forcing, constant, lower=1), 1, top.points, Spectrum())
    generator = torch.Generator().manual_seed(0)
    net = method.low.build(first, generator)
    mixed = method.form.build(second, generator) if method.form else None
    if not isinstance(mixed, Mixed):
        rule, remedy = "must be a mixture", "count its own parts instead"
        raise ArgumentError("network_rows.method", rule, type(mixed).__name__, remedy)
    parts = [
        count_parameters(each, complex_as=complex_as)
        for each in (net, mixed.linear, mixed.nonlinear)
    ]
    return parts[0], parts[1], parts[2], sum(parts) + 1
