"""Journals, arrays and surrogate files on disk; no pickle."""

from mflno.store.arrays import Arrays, read_arrays, write_arrays
from mflno.store.bundle import Bundle, read_bundle, write_bundle
from mflno.store.files import read_bytes, write_bytes_atomic, write_text_atomic
from mflno.store.journal import Event, Journal, read_journal
from mflno.store.lock import Lock, owner_of, process_start
from mflno.store.runs import (
    RunRecord,
    fail_run,
    find_run,
    finish_run,
    incomplete_runs,
    list_runs,
    load_output,
    start_run,
)

__all__ = [
    "Arrays",
    "Bundle",
    "Event",
    "Journal",
    "Lock",
    "RunRecord",
    "fail_run",
    "find_run",
    "finish_run",
    "incomplete_runs",
    "list_runs",
    "load_output",
    "owner_of",
    "process_start",
    "read_arrays",
    "read_bundle",
    "read_bytes",
    "read_journal",
    "start_run",
    "write_arrays",
    "write_bundle",
    "write_bytes_atomic",
    "write_text_atomic",
]
