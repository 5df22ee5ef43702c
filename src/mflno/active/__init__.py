"""Draws, candidates and costs to the next cases."""
