"""Line: at each time, a straight line from the cheap solver's value to the expensive one's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from mflno.multifidelity.kernel import Kernel
from mflno.multifidelity.law import Data, Law, Predictor, joined
from mflno.multifidelity.query import Query
from mflno.multifidelity.waves import Waves
from mflno.seeds import numpy_stream
from mflno.shapes import Float


@dataclass(frozen=True)
class Line:
    """u(t) = a(t) + b(t) u_0(t) by least squares over the high runs, u_0 of the cheapest level.

    u_0 is the solver's own trajectory: every answer runs it. The deviation is that of a new
    value in linear regression,
    ```
    σ² = s² (1 + 1/N + (u_0 - mean)² / Σ (u_0i - mean)²),    s² = Σ residual² / (N - 2)
    ```

    Example:
        >>> Line().name
        'line'
    """

    name: ClassVar[str] = "line"

    def fit(
        self,
        data: Data,
        *,
        seed: int,
        device: str = "cpu",
        warm: Predictor | None = None,
        show: bool = True,
    ) -> "LinePredictor":
        """Learn; in closed form."""
        return fitted(data.query().cheapest, data.high.values, seed)

    def left_out(self, data: Data, predictor: Predictor, *, seed: int) -> Law:
        """The line again without each run in turn."""
        runs = range(len(data.high))
        lines = (self.fit(data.without(i), seed=seed) for i in runs)
        return joined(line.law(data.at_high(i)) for i, line in zip(runs, lines, strict=True))


@dataclass(frozen=True)
class LinePredictor:
    """A line at every output and time.

    Attributes:
        center: Mean cheap value.
        level: Mean expensive value.
        slope: Of the line.
        spread: Σ (u_0i - mean)².
        residuals: Of the runs, so scaled that their squares add up to s².
        runs: How many there were.
        seed: Of the draws.
    """

    kind: ClassVar[str] = "line"

    center: Float[ndarray, "O T"] = field(repr=False)
    level: Float[ndarray, "O T"] = field(repr=False)
    slope: Float[ndarray, "O T"] = field(repr=False)
    spread: Float[ndarray, "O T"] = field(repr=False)
    residuals: Float[ndarray, "N O T"] = field(repr=False)
    runs: int
    seed: int

    def law(self, query: Query, *, draws: int = 0) -> Law:
        """Mean and deviation of a new value; draws add random sums of residuals to the mean."""
        off = query.cheapest - self.center
        mean = self.level + self.slope * off
        reach = np.sqrt(1.0 + 1.0 / self.runs + np.square(off) / self.spread)
        std = reach * np.sqrt(np.square(self.residuals).sum(0))
        drawn = None
        if draws:
            mixed = [self.mixed(query.scaled, s) for s in range(draws)]
            drawn = mean + reach * np.stack(mixed)
        return Law(mean, std, drawn)

    def mixed(self, cases: Float[ndarray, "Q P"], number: int) -> Float[ndarray, "Q O T"]:
        """Residuals times smooth unit functions of the case: one function a draw."""
        columns = tuple(range(cases.shape[1]))
        theta = np.zeros(len(columns) + 1)
        kernel = Kernel((columns,), constant=0.0)
        waves = Waves.drawn(kernel, theta, len(columns), self.seed)
        generator = numpy_stream(self.seed, "line", number)
        weights = generator.standard_normal((waves.size, len(self.residuals)))
        return np.tensordot(waves(cases) @ weights, self.residuals, axes=1)

    def arrays(self) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """The line, its residuals and the seed of the draws."""
        names = "center", "level", "slope", "spread", "residuals"
        about = {"runs": self.runs, "seed": self.seed}
        return {name: getattr(self, name) for name in names}, about

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, ndarray], about: Mapping[str, Any]
    ) -> "LinePredictor":
        """The same line again."""
        return cls(**arrays, runs=int(about["runs"]), seed=int(about["seed"]))


def fitted(
    cheap: Float[ndarray, "N O T"], values: Float[ndarray, "N O T"], seed: int
) -> LinePredictor:
    """The line through pairs of cheap and expensive values."""
    count = len(values)
    center, level = cheap.mean(0), values.mean(0)
    off, rise = cheap - center, values - level
    # Where all cheap values agree, as at a common start, the line is level.
    square = np.square(off).sum(0)
    spread = np.maximum(square, 1e-12 * square.mean() + 1e-300)
    slope = (off * rise).sum(0) / spread
    residuals = rise - slope * off
    # Two points leave no residual: nothing is known but how far apart the values are.
    residuals = residuals / np.sqrt(count - 2) if count > 2 else rise
    return LinePredictor(center, level, slope, spread, residuals, count, seed)
