"""The Laplace layer: a convolution with a sum of damped oscillations, learned pole by pole.

    y_o(t) = Re Σ_i Σ_k β_iok ∫_0^t e^{μ_iok (t-s)} v_i(s) ds          (Eqs. 1 to 8)

The integral splits into a transient part Σ γ_n e^{μ_n t} and a steady part Σ λ_l e^{iω_l t};
three rules evaluate it:

- `causal`, the default: the convolution itself, to fifth order in the step on any uniform grid;
- `residue`: the two parts of the paper, from the signal's Fourier coefficients;
- `published`: the formula of the public code, whose transient part contracts the wrong index.
  It is right for one channel and wrong for more, and stands here for comparison only.

In this room signals have the channel before the case, "I N T", so that a pointwise map of all
cases is one matrix product. Any number of chains may lead: "K I N T".
"""

from dataclasses import dataclass
from math import pi
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from mflno.operators.convolution import causal_convolution, mixed
from mflno.operators.spectrum import Spectrum
from mflno.shapes import Complex, Float


def residue_parts(
    signal: Float[Tensor, "*K I N T"],
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
) -> tuple[Float[Tensor, "*K O N T"], Float[Tensor, "*K O N T"]]:
    """The steady part Σ λ_l e^{iω_l t} and the transient part Σ γ_n e^{μ_n t} (Eqs. 5 to 8).

    With α the Fourier coefficients of the signal: λ_l = α_l K(iω_l), γ_n = β_n V(μ_n),
    V(μ) = Σ_l α_l / (μ - iω_l). Re() pairs every pole with its conjugate, so that half of the
    spectrum carries all.

    A signal that ends elsewhere than it began would repeat with a jump, which no few
    coefficients say. It is therefore split into a line ct and a rest that repeats; the line's
    transform c/s² has its pole at 0, of order two: it adds c/μ² to V, and to the steady part
    -cβ(1/μ² + t/μ), which is what does not repeat in it.
    """
    # Rows of packed parameters are apart by odd numbers, which complex views refuse.
    poles, residues = (torch.view_as_complex(p.contiguous()) for p in (poles, residues))
    points = signal.shape[-1]
    frequency = (
        2j * pi * torch.fft.rfftfreq(points, device=poles.device, dtype=step.dtype) / step
    )
    nearness = 1.0 / (frequency - poles[..., None])
    mirrored = 1.0 / (frequency - poles.conj()[..., None])
    transfer = (residues[..., None] * nearness + residues.conj()[..., None] * mirrored).sum(
        -2
    ) / 2
    times = torch.arange(points, device=poles.device) * step
    values = signal.to(step.dtype)
    slope = (one_further(values) - values[..., 0]) / (points * step)
    spectrum = torch.fft.rfft(values - slope[..., None] * times)
    product = torch.einsum("...inf,...iof->...onf", spectrum, transfer)
    steady = torch.fft.irfft(product, points)
    inverse = 1.0 / poles
    for size, power in ((residues * inverse**2, 1.0), (residues * inverse, times)):
        along = torch.einsum("...in,...io->...on", slope, size.sum(-1).real)
        steady = steady - along[..., None] * power

    half = torch.full_like(frequency.real, 1.0 / points)
    half[0] = 0.5 / points
    half[-1] = half[-1] / (1 + (points % 2 == 0))
    weighted = spectrum * half
    at_poles = -(
        torch.einsum("...inf,...iokf->...inok", weighted, nearness)
        + torch.einsum("...inf,...iokf->...inok", weighted, mirrored).conj()
    )
    at_poles = at_poles + slope[..., None, None] * inverse[..., None, :, :] ** 2
    gamma = at_poles * residues[..., None, :, :]
    wave = torch.exp(poles[..., None] * times)
    transient = torch.einsum("...inok,...iokt->...ont", gamma, wave).real
    return steady.to(signal.dtype), transient.to(signal.dtype)


def one_further(values: Float[Tensor, "*m T"]) -> Float[Tensor, "*m"]:
    """The value after the last one, by the quintic through the last six."""
    weights = torch.tensor([-1.0, 6.0, -15.0, 20.0, -15.0, 6.0]).to(values)
    return values[..., -6:] @ weights


def published_response(
    signal: Float[Tensor, "*K I N T"],
    poles: Float[Tensor, "*K I O M 2"],
    residues: Float[Tensor, "*K I O M 2"],
    step: Float[Tensor, ""],
) -> Float[Tensor, "*K O N T"]:
    """The public code's formula, its transient residues summed over the input too early.

    g_ok = -Σ_il α_i(l) H_iok(l) has lost its input channel; the transient part then pairs the
    residues' output channel with the poles' input channel: Σ_ak g_ak e^{μ_ack t} for channel c.
    """
    points = signal.shape[-1]
    poles, residues = (
        torch.view_as_complex(p.to(torch.float32).contiguous()) for p in (poles, residues)
    )
    step = step.to(torch.float32)
    spectrum = torch.fft.fft(signal.to(torch.float32))
    frequency = torch.fft.fftfreq(points, device=poles.device) / step * 2j * pi
    response = residues[..., None] * (1.0 / (frequency - poles[..., None]))
    steady = torch.fft.ifft(torch.einsum("...inf,...iokf->...onf", spectrum, response)).real
    summed = torch.einsum("...inf,...iokf->...nok", spectrum, -response)
    times = torch.arange(points, device=poles.device) * step
    wave = torch.exp(poles[..., None] * times)
    transient = torch.einsum("...nak,...ackt->...cnt", summed, wave).real / points
    return (steady + transient).to(signal.dtype)


@runtime_checkable
class Rule(Protocol):
    """How a layer stores its poles and answers a signal; pass one to `LaplaceLayer`."""

    def start(
        self, shape: tuple[int, int, int], spectrum: Spectrum, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """First values of the layer's parameters, for (inputs, outputs, modes)."""
        ...

    def poles(self, parameters: dict[str, Tensor]) -> Float[Tensor, "*K I O M 2"]:
        """μ as real pairs."""
        ...

    def respond(
        self,
        signal: Tensor,
        parameters: dict[str, Tensor],
        step: Tensor,
        mixing: Tensor | None = None,
        merging: Tensor | None = None,
    ) -> Float[Tensor, "*K O N T"]:
        """The response to `mixed(signal, mixing)`, itself `mixed` by `merging`."""
        ...


@dataclass(frozen=True)
class Causal:
    """The default rule: stable poles, spread over the band of the data, exact convolution.

    Re μ = growth - e^{decay}, so that no step of any optimiser or sampler makes a pole grow
    faster than `growth`.

    Attributes:
        growth: Upper bound of Re μ; 0 keeps every mode damped, c/T lets it grow by e^c.
        initial_state: Add the homogeneous response Re Σ c_k v(0) e^{μ_k t}, c learned.
    """

    growth: float = 0.0
    initial_state: bool = False

    def start(
        self, shape: tuple[int, int, int], spectrum: Spectrum, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Poles spread over the band; residues scaled so that the response is of order one."""
        decay, frequency = spectrum.poles(shape, generator)
        scale = torch.sqrt(decay * spectrum.band / (shape[0] * shape[2]))
        draw = lambda: torch.randn(*shape, 2, generator=generator) * scale[..., None]
        values = {"decay": decay.log(), "frequency": frequency, "residue": draw()}
        if self.initial_state:
            values["initial"] = draw() / spectrum.band
        return values

    def poles(self, parameters: dict[str, Tensor]) -> Float[Tensor, "*K I O M 2"]:
        """(growth - e^{decay}, frequency)."""
        damping = self.growth - torch.exp(parameters["decay"].double())
        return torch.stack([damping, parameters["frequency"].double()], dim=-1)

    def respond(
        self,
        signal: Tensor,
        parameters: dict[str, Tensor],
        step: Tensor,
        mixing: Tensor | None = None,
        merging: Tensor | None = None,
    ) -> Float[Tensor, "*K O N T"]:
        """The causal convolution."""
        residues = parameters["residue"].double()
        initial = parameters.get("initial")
        return causal_convolution(
            signal, self.poles(parameters), residues, step, initial, mixing, merging
        )


@dataclass(frozen=True)
class Residue(Causal):
    """The paper's split into steady and transient part, on the same stable poles."""

    def respond(
        self,
        signal: Tensor,
        parameters: dict[str, Tensor],
        step: Tensor,
        mixing: Tensor | None = None,
        merging: Tensor | None = None,
    ) -> Float[Tensor, "*K O N T"]:
        """Steady part plus transient part."""
        residues = parameters["residue"].double()
        values = mixed(signal, mixing)
        steady, transient = residue_parts(values, self.poles(parameters), residues, step)
        return mixed(steady + transient, merging)


@dataclass(frozen=True)
class Published:
    """The public code's layer, its poles free to grow; for comparison only."""

    def start(
        self, shape: tuple[int, int, int], spectrum: Spectrum, generator: torch.Generator
    ) -> dict[str, Tensor]:
        """Both parts of poles and residues uniform in [0, 1 / (inputs outputs))."""
        del spectrum
        draw = lambda: torch.rand(*shape, 2, generator=generator) / (shape[0] * shape[1])
        return {"pole": draw(), "residue": draw()}

    def poles(self, parameters: dict[str, Tensor]) -> Float[Tensor, "*K I O M 2"]:
        """As stored."""
        return parameters["pole"]

    def respond(
        self,
        signal: Tensor,
        parameters: dict[str, Tensor],
        step: Tensor,
        mixing: Tensor | None = None,
        merging: Tensor | None = None,
    ) -> Float[Tensor, "*K O N T"]:
        """The published formula."""
        values = mixed(signal, mixing)
        found = published_response(values, parameters["pole"], parameters["residue"], step)
        return mixed(found, merging)


class LaplaceLayer(nn.Module):
    """A learned convolution with `modes` damped oscillations a pair of channels.

    Args:
        inputs: Channels that come in.
        outputs: Channels that go out.
        modes: Poles a pair of channels.
        rule: `Causal()`, `Residue()` or `Published()`.
        spectrum: Where the poles start.
        generator: Where the first values come from.

    Example:
        >>> layer = LaplaceLayer(1, 1, 4, generator=torch.Generator().manual_seed(0))
        >>> grid = torch.linspace(0.0, 20.0, 256)
        >>> layer(torch.zeros(1, 5, 256), grid).abs().max().item()
        0.0
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        modes: int = 8,
        *,
        rule: Rule | None = None,
        spectrum: Spectrum | None = None,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.rule: Rule = Causal() if rule is None else rule
        shape = (inputs, outputs, modes)
        start = self.rule.start(shape, spectrum or Spectrum(), generator)
        for name, value in start.items():
            self.register_parameter(name, nn.Parameter(value))
        self.names = tuple(start)

    def parameters_by_name(self) -> dict[str, Tensor]:
        """This layer's own tensors, as the rule names them."""
        return {name: getattr(self, name) for name in self.names}

    def poles(self) -> Complex[Tensor, "*K I O M"]:
        """μ, per second (or whatever the unit of the grid is)."""
        return torch.view_as_complex(self.rule.poles(self.parameters_by_name()).contiguous())

    def residues(self) -> Complex[Tensor, "*K I O M"]:
        """β of each pole."""
        return torch.view_as_complex(self.parameters_by_name()["residue"])

    def forward(
        self,
        signal: Float[Tensor, "*#K J N T"],
        grid: Float[Tensor, " T"],
        mixing: Float[Tensor, "*K I J"] | None = None,
        merging: Float[Tensor, "*K A O"] | None = None,
    ) -> Float[Tensor, "*K A N T"]:
        """The response on the signal's own grid.

        `mixing` makes the inputs from the signal, `merging` what goes out from the outputs.
        """
        step = (grid[-1] - grid[0]).double() / (grid.shape[0] - 1)
        return self.rule.respond(signal, self.parameters_by_name(), step, mixing, merging)
