"""Journals, arrays and surrogate files on disk; no pickle."""
