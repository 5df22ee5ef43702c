"""Comparisons: methods, budgets and seeds to tables."""
