"""NARGP: each level a nonlinear function of the case and of the level below."""

from dataclasses import dataclass, field
from typing import ClassVar

from mflno.multifidelity.gaussian_process import Prior
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor
from mflno.multifidelity.levels import LevelsPredictor, fitted_levels, left_out_levels


@dataclass(frozen=True)
class NARGP:
    """Nonlinear autoregressive Gaussian processes on principal coefficients.

    ```
    z_k(x) = g_k(x, z_{k-1}(x)),    k = s_ρ(x, x') s_f(z, z') + w² s_δ(x, x')
    ```

    Reference: Perdikaris et al., Nonlinear information fusion algorithms for data-efficient
    multi-fidelity modelling, 2017.

    Args:
        shapes: Of the covariances, some of `Kernel.SHAPES`.
        coefficients: How many coefficients of the level below are looked at.
        prior: Of lengthscales, w and nugget.

    Example:
        >>> NARGP(coefficients=2).name
        'nargp'
    """

    name: ClassVar[str] = "nargp"

    shapes: tuple[str, ...] = ("se", "matern52")
    coefficients: int = 4
    prior: Prior = field(default_factory=lambda: Prior(weight=0.5))

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> LevelsPredictor:
        """Learn every level; quick enough never to need a warm start or another device."""
        return fitted_levels(data, self.kernels, self.prior, seed)

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """Each high run's case left out at every level."""
        return left_out_levels(data, self.kernels, self.prior, seed)

    def kernels(self, cases: int, coefficients: int) -> list[Kernel]:
        """A joint term and one of the case alone; the latter alone at the cheapest level."""
        rest = tuple(range(cases))
        joint = tuple(range(cases + min(coefficients, self.coefficients)))
        terms = (joint, rest) if coefficients else (rest,)
        return [Kernel(terms, shape) for shape in self.shapes]
