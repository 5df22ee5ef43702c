"""Solve many cases of one level: parallel, cached on disk, resumable."""
