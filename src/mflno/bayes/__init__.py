"""Parameters to draws: Langevin steps, replica ladders, collection, diagnosis, bands.

The door: an energy `energy(theta[K, P], batch) -> [K]` goes in, an inference's
`sample(energy, theta0, cases=..., generator=...)` gives `Draws`.
"""

from mflno.bayes.bandscale import (
    BandScale,
    amplitude_scale,
    checked_radius,
    pooled_scale,
    scaled_residuals,
    student_scale,
)
from mflno.bayes.calibrate import Calibration, Estimate, calibration
from mflno.bayes.checkpoint import run_arrays, run_from
from mflno.bayes.collect import All, Cold, Collection, Final
from mflno.bayes.conformal import (
    jackknife_band,
    jackknife_minmax_band,
    mean_score,
    risk_radius,
    split_band,
    split_radius,
    sup_score,
)
from mflno.bayes.convergence import Mixing, chains_of, mixing
from mflno.bayes.cyclical import CycleEnds, CyclicalSGLD
from mflno.bayes.diagnose import Diagnosis, diagnosis
from mflno.bayes.draws import Draws, Energy, Inference, Trace, last_states
from mflno.bayes.energy import gaussian_energy, gaussian_prior, relative_loss
from mflno.bayes.engine import Captured, Compiled, Eager, Engine
from mflno.bayes.ensemble import ADAM, DeepEnsemble
from mflno.bayes.langevin import Drift
from mflno.bayes.last_layer import LastLayer, LinearPosterior, linear_posterior
from mflno.bayes.laws import AtomLaw, DrawLaw, Law, StudentLaw, widened
from mflno.bayes.replica import ReplicaExchange
from mflno.bayes.run import Run
from mflno.bayes.schedule import Constant, Cosine, Cyclical, Polynomial, Schedule
from mflno.bayes.scores import relative_error
from mflno.bayes.sghmc import SGHMC
from mflno.bayes.state import Info, State
from mflno.bayes.swag import SWAG
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
from mflno.bayes.targets import Bowl, Mixture, Noisy

__all__ = [
    "ADAM",
    "SGHMC",
    "SWAG",
    "All",
    "AtomLaw",
    "BandScale",
    "Bowl",
    "Buffer",
    "Calibration",
    "Captured",
    "Cold",
    "Collection",
    "Compiled",
    "Constant",
    "Corrected",
    "Cosine",
    "CycleEnds",
    "Cyclical",
    "CyclicalSGLD",
    "DeepEnsemble",
    "Diagnosis",
    "DrawLaw",
    "Draws",
    "Drift",
    "Eager",
    "Energy",
    "Engine",
    "Estimate",
    "Final",
    "Inference",
    "Info",
    "LastLayer",
    "Law",
    "LinearPosterior",
    "Metropolis",
    "Mixing",
    "Mixture",
    "Never",
    "Noisy",
    "Paper",
    "Polynomial",
    "Probe",
    "ReplicaExchange",
    "Rule",
    "Run",
    "Schedule",
    "State",
    "StudentLaw",
    "Trace",
    "Window",
    "amplitude_scale",
    "calibration",
    "chains_of",
    "checked_radius",
    "diagnosis",
    "gaussian_energy",
    "gaussian_prior",
    "jackknife_band",
    "jackknife_minmax_band",
    "last_states",
    "linear_posterior",
    "mean_score",
    "mixing",
    "pooled_scale",
    "relative_error",
    "relative_loss",
    "risk_radius",
    "run_arrays",
    "run_from",
    "scaled_residuals",
    "split_band",
    "split_radius",
    "student_scale",
    "sup_score",
    "widened",
    "window_size",
]
