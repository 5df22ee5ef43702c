"""Functions to functions: the Laplace layer, LNO, DeepONet."""

from mflno.operators.convolution import causal_convolution
from mflno.operators.counting import count_parameters
from mflno.operators.deeponet import DeepONet, Dense, paper_deeponet, residual_deeponet
from mflno.operators.laplace import (
    Causal,
    LaplaceLayer,
    Published,
    Residue,
    Rule,
    published_response,
    residue_parts,
)
from mflno.operators.network import (
    Architecture,
    LaplaceBlock,
    LaplaceOperator,
    Pointwise,
    Projection,
    build_operator,
    identity,
)
from mflno.operators.packing import Packing, chain_forward
from mflno.operators.quadrature import basis, extrapolation, gauss
from mflno.operators.spectrum import Spectrum

RULES = {"causal": Causal, "residue": Residue, "published": Published}
"""The rules of a Laplace layer, by name."""

__all__ = [
    "RULES",
    "Architecture",
    "Causal",
    "DeepONet",
    "Dense",
    "LaplaceBlock",
    "LaplaceLayer",
    "LaplaceOperator",
    "Packing",
    "Pointwise",
    "Projection",
    "Published",
    "Residue",
    "Rule",
    "Spectrum",
    "basis",
    "build_operator",
    "causal_convolution",
    "chain_forward",
    "count_parameters",
    "extrapolation",
    "gauss",
    "identity",
    "paper_deeponet",
    "published_response",
    "residual_deeponet",
    "residue_parts",
]
