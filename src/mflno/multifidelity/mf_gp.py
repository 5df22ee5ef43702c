"""Multi-fidelity GP: each level a linear map of the one below, and a process for the rest."""

from dataclasses import dataclass, field
from typing import ClassVar

from mflno.multifidelity.gaussian_process import Prior
from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor
from mflno.multifidelity.levels import LevelsPredictor, fitted_levels, left_out_levels


@dataclass(frozen=True)
class MFGP:
    """Autoregressive Gaussian processes on principal coefficients, any number of levels.

    ```
    u_k(x) = ρ_k u_{k-1}(x) + R_k z_{k-1}(x) + δ_k(x),    R_k Gaussian,  δ_k ~ GP
    ```

    u_k are trajectories, ρ_k a number found by least squares, z_k the coefficients of u_k. With
    R_k integrated out this is a process with a linear covariance in z_{k-1} beside that of δ_k.
    It is also tried without ρ_k u_{k-1}, and without the level below altogether; errors at runs
    left out weigh the three.
    Reference: Kennedy, O'Hagan, Predicting the output from a complex computer code when fast
    approximations are available, 2000; with coefficients in place of a scalar.

    Args:
        shapes: Of the covariance of δ, some of `Kernel.SHAPES`.
        prior: Of lengthscales, b and nugget.

    Example:
        >>> MFGP().name
        'mf-gp'
    """

    name: ClassVar[str] = "mf-gp"

    shapes: tuple[str, ...] = ("se", "matern52")
    prior: Prior = field(default_factory=Prior)

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
        """With slopes in the coefficients below, and without."""
        rest, below = tuple(range(cases)), tuple(range(cases, cases + coefficients))
        plain = [Kernel((rest,), shape) for shape in self.shapes]
        linear = [Kernel((rest,), shape, linear=below) for shape in self.shapes]
        return linear + plain if coefficients else plain
