"""Draws, candidates and costs to the next cases."""

from mflno.active.beliefs import Beliefs, Posterior, Predict, Sketched
from mflno.active.conditioned import Conditioned
from mflno.active.coreset import CoreSet
from mflno.active.cost import GainPerCost, Offer, Pick, annealed_costs
from mflno.active.covariance import after_pending, conditioned_features, noise_floor
from mflno.active.guard import Decision, Evidence, Guard, concordance
from mflno.active.ivr import VarianceReduction
from mflno.active.lcmd import LargestCluster
from mflno.active.levels import Agreement, agreement
from mflno.active.maximin import Maximin
from mflno.active.names import CHOICES, choice_named
from mflno.active.planned import Planned, prior_features
from mflno.active.pools import (
    grid_pool,
    listed_pool,
    refined,
    scaled,
    sobol_pool,
    unscaled,
)
from mflno.active.random import Random
from mflno.active.sbal import Stochastic
from mflno.active.shortlist import Shortlist
from mflno.active.sobol import Sobol
from mflno.active.stop import Budget, ErrorGoal, Verdict, error_ratios, expected_error
from mflno.active.topb import TopB
from mflno.active.view import Choice, View, nearest

__all__ = [
    "CHOICES",
    "Agreement",
    "Beliefs",
    "Budget",
    "Choice",
    "Conditioned",
    "CoreSet",
    "Decision",
    "ErrorGoal",
    "Evidence",
    "GainPerCost",
    "Guard",
    "LargestCluster",
    "Maximin",
    "Offer",
    "Pick",
    "Planned",
    "Posterior",
    "Predict",
    "Random",
    "Shortlist",
    "Sketched",
    "Sobol",
    "Stochastic",
    "TopB",
    "VarianceReduction",
    "Verdict",
    "View",
    "after_pending",
    "agreement",
    "annealed_costs",
    "choice_named",
    "concordance",
    "conditioned_features",
    "error_ratios",
    "expected_error",
    "grid_pool",
    "listed_pool",
    "nearest",
    "noise_floor",
    "prior_features",
    "refined",
    "scaled",
    "sobol_pool",
    "unscaled",
]
