"""Parameters to draws: Langevin steps, replica ladders, collection, diagnosis, bands.

The door: an energy `energy(theta[K, P], batch) -> [K]` goes in, an inference's
`sample(energy, theta0, cases=..., generator=...)` gives `Draws`.
"""

from mflno.bayes.collect import All, Cold, Collection, Final
from mflno.bayes.draws import Draws, Energy, Inference, Trace
from mflno.bayes.energy import gaussian_energy, gaussian_prior, relative_loss

__all__ = [
    "All",
    "Cold",
    "Collection",
    "Draws",
    "Energy",
    "Final",
    "Inference",
    "Trace",
    "gaussian_energy",
    "gaussian_prior",
    "relative_loss",
]
