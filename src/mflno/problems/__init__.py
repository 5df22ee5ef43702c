"""Solvers: the contract, the experiments, and adapters for everybody's own."""

from mflno.data import Level, Parameter
from mflno.problems.problem import Problem

__all__ = ["Level", "Parameter", "Problem"]
