"""Checks that a new problem, operator, sampler or score can run on itself."""
