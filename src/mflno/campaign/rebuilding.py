"""A journal made again from the run folders, when it alone was lost."""

from pathlib import Path
from typing import Any

from mflno.store import RunRecord, list_runs


def rebuilt(runs: Path) -> list[dict[str, Any]]:
    """Events that lead to what the finished folders hold; fits and open picks are not there."""
    if not runs.is_dir():
        return []
    records = [record for record in list_runs(runs) if "run" in record.spec]
    first = {}
    for record in records:
        first.setdefault(record.spec["run"], record.spec)
    events: list[dict[str, Any]] = []
    for number in sorted({spec["round"] for spec in first.values()}):
        picks = [
            {"run": name, "case": spec["case"], "level": spec["level"]}
            for name, spec in first.items()
            if spec["round"] == number and number >= 0
        ]
        if picks:
            words = {"choice": "rebuilt", "sentence": "read from the run folders"}
            events.append({"event": "chosen", "picks": picks, **words})
    attempts = {(record.spec["run"], record.spec["attempt"]) for record in records}
    for record in records:
        again = (record.spec["run"], record.spec["attempt"] + 1) in attempts
        events.append(ended(record.spec, record, again))
    return events


def ended(spec: dict[str, Any], record: RunRecord, again: bool) -> dict[str, Any]:
    """The event of one finished folder."""
    words = {"run": spec["run"], "seconds": record.seconds, "cost": record.cost}
    if record.succeeded and spec["round"] < 0:
        place = {"case": spec["case"], "level": spec["level"], "attempt": spec["attempt"]}
        return {"event": "told", **words, **place}
    if record.succeeded:
        return {"event": "returned", **words}
    told = {"kind": record.kind, "detail": record.detail, "retryable": again, "again": again}
    return {"event": "failed", **words, **told, "attempt": spec["attempt"]}
