"""Parameters to draws: Langevin steps, replica ladders, collection, diagnosis, bands.

The door: an energy `energy(theta[K, P], batch) -> [K]` goes in, an inference's
`sample(energy, theta0, cases=..., generator=...)` gives `Draws`.
"""

from mflno.bayes.checkpoint import run_arrays, run_from
from mflno.bayes.collect import All, Cold, Collection, Final
from mflno.bayes.draws import Draws, Energy, Inference, Trace
from mflno.bayes.energy import gaussian_energy, gaussian_prior, relative_loss
from mflno.bayes.engine import Captured, Compiled, Eager, Engine
from mflno.bayes.langevin import Drift
from mflno.bayes.replica import ReplicaExchange
from mflno.bayes.run import Run
from mflno.bayes.schedule import Constant, Cosine, Cyclical, Polynomial, Schedule
from mflno.bayes.state import Info, State
from mflno.bayes.swap import (
    Buffer,
    Corrected,
    Metropolis,
    Never,
    Paper,
    Probe,
    Rule,
    Window,
    window_size,
)

__all__ = [
    "All",
    "Buffer",
    "Captured",
    "Cold",
    "Collection",
    "Compiled",
    "Constant",
    "Corrected",
    "Cosine",
    "Cyclical",
    "Draws",
    "Drift",
    "Eager",
    "Energy",
    "Engine",
    "Final",
    "Inference",
    "Info",
    "Metropolis",
    "Never",
    "Paper",
    "Polynomial",
    "Probe",
    "ReplicaExchange",
    "Rule",
    "Run",
    "Schedule",
    "State",
    "Trace",
    "Window",
    "gaussian_energy",
    "gaussian_prior",
    "relative_loss",
    "run_arrays",
    "run_from",
    "window_size",
]
