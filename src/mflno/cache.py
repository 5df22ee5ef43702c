"""Solved cases on disk, found by what was asked: problem, version, level and case.

```
<cache>/lorenz-1-0-<digest of the problem and the level>/<digest of the case>.safetensors
```

One file a case, there whole or not at all, never changed: any number of processes may write
into one cache. Deleting it loses nothing but time.
"""

import hashlib
import json
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy import ndarray

from mflno.errors import StoreError
from mflno.problems import Problem
from mflno.shapes import Float
from mflno.store import read_arrays, write_arrays

LAYOUT = 1
"""Part of every digest: a change of the file format starts an empty cache."""
STALE = 3600.0
"""Seconds after which a half-written file belongs to nobody any more."""


def cache_folder() -> Path:
    """Where solved cases are kept: `$MFLNO_CACHE`, or `mflno` in the user's cache directory."""
    own = os.environ.get("MFLNO_CACHE")
    if own:
        return Path(own).expanduser()
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "mflno"


def digest_of(problem: Problem, level: int) -> str:
    """What tells apart the solutions of one problem and level from all others.

    The box belongs to it: a solution may depend on the parameters as scaled to their box.
    """
    asked = problem.levels[level]
    parts = [LAYOUT, problem.name, problem.version, level, asked.name, list(problem.outputs)]
    parts += [[each.name, each.low, each.high] for each in problem.parameters]
    text = json.dumps(parts).encode()
    return hashlib.sha256(text + np.asarray(asked.grid, dtype="<f8").tobytes()).hexdigest()


@dataclass(frozen=True)
class Cache:
    """The solved cases of one problem and level; `opened` makes it."""

    folder: Path
    asked: str

    @classmethod
    def opened(cls, root: Path, problem: Problem, level: int) -> "Cache":
        """The cache's folder, made if it is not there, half-written files swept out."""
        asked = digest_of(problem, level)
        readable = re.sub(r"[^A-Za-z0-9.]+", "-", f"{problem.name}-{problem.version}-{level}")
        folder = root / f"{readable}-{asked[:16]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            text = (
                f"{folder}: cannot be made: {error.strerror}; set MFLNO_CACHE to another place"
            )
            raise StoreError(text) from error
        for part in folder.glob(".*.tmp"):
            with suppress(OSError):
                if time.time() - part.stat().st_mtime > STALE:
                    part.unlink()
        return cls(folder, asked)

    def path(self, case: Float[ndarray, " P"]) -> Path:
        """The file of one case; two cases share it only when all their bits agree."""
        bits = np.asarray(case, dtype="<f8").tobytes()
        return self.folder / f"{hashlib.sha256(bits).hexdigest()[:32]}.safetensors"

    def find(self, case: Float[ndarray, " P"]) -> Float[ndarray, "O T"] | None:
        """The solution of a case, or nothing when there is none that is whole."""
        path = self.path(case)
        if not path.exists():
            return None
        try:
            found = read_arrays(path)
        except StoreError:
            return None
        same = found.metadata.get("asked") == self.asked
        return found.arrays["values"] if same else None

    def keep(self, case: Float[ndarray, " P"], values: Float[ndarray, "O T"]) -> None:
        """Put a solution on the disk; when this returns it survives a kill."""
        arrays = {"case": np.asarray(case), "values": values}
        write_arrays(self.path(case), arrays, {"asked": self.asked})
