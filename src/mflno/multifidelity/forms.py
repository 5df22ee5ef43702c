"""Network forms by their sizes alone: frozen, made into modules when channels are known."""

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from mflno.errors import ArgumentError
from mflno.multifidelity.channels import Channels
from mflno.operators import (
    Architecture,
    Causal,
    DeepONet,
    Published,
    Residue,
    Rule,
    Spectrum,
    build_operator,
    identity,
    paper_deeponet,
    residual_deeponet,
)
from mflno.shapes import Float

ACTIVATIONS = {"sine": torch.sin, "identity": identity, "tanh": torch.tanh}


@dataclass(frozen=True)
class Site:
    """Where a network is to work: its channels, outputs, grid size and the data's spectrum."""

    channels: Channels
    outputs: int
    points: int
    spectrum: Spectrum


@runtime_checkable
class Form(Protocol):
    """The sizes of a network; a frozen dataclass of JSON values."""

    kind: ClassVar[str]
    tied: ClassVar[bool]
    """Whether it can be evaluated on the grid it was trained on only."""

    def build(self, site: Site, generator: torch.Generator) -> nn.Module:
        """A module with fresh parameters."""
        ...


@dataclass(frozen=True)
class LNO:
    """A Laplace neural operator; the defaults are the paper's low-fidelity net.

    Args:
        width: Channels between lift and projection.
        modes: Poles a pair of channels.
        hidden: Widths of the projection's hidden layers.
        layers: Laplace blocks.
        activation: "sine", "tanh", or "identity" for a linear operator.
        inner: The same, after each block.
        rule: "causal", "residue" or "published".
        initial_state: Add a learned homogeneous response.

    Example:
        >>> site = Site(Channels(1, (0,)), outputs=1, points=512, spectrum=Spectrum())
        >>> from mflno.operators import count_parameters
        >>> count_parameters(LNO().build(site, torch.Generator()))
        806
    """

    kind: ClassVar[str] = "lno"
    tied: ClassVar[bool] = False
    width: int = 3
    modes: int = 8
    hidden: tuple[int, ...] = (128,)
    layers: int = 1
    activation: str = "sine"
    inner: str = "identity"
    rule: str = "causal"
    initial_state: bool = False

    def build(self, site: Site, generator: torch.Generator) -> nn.Module:
        """A Laplace operator."""
        rules: dict[str, Rule] = {
            "causal": Causal(initial_state=self.initial_state),
            "residue": Residue(initial_state=self.initial_state),
            "published": Published(),
        }
        for name, known in (
            ("rule", rules),
            ("activation", ACTIVATIONS),
            ("inner", ACTIVATIONS),
        ):
            if getattr(self, name) not in known:
                rule = f"must be one of {', '.join(known)}"
                came = getattr(self, name)
                raise ArgumentError(f"LNO.{name}", rule, came, "choose one of them")
        sizes = Architecture(
            width=self.width, modes=self.modes, hidden=tuple(self.hidden), layers=self.layers,
            activation=ACTIVATIONS[self.activation], inner=ACTIVATIONS[self.inner],
            rule=rules[self.rule],
        )  # fmt: skip
        return build_operator(
            site.channels.count,
            site.outputs,
            sizes,
            spectrum=site.spectrum,
            generator=generator,
        )


class Mixed(nn.Module):
    """α G_l(x) + (1 - α) G_nl(x), α the sigmoid of a free number (Eq. 10)."""

    def __init__(self, linear: nn.Module, nonlinear: nn.Module) -> None:
        super().__init__()
        self.linear, self.nonlinear = linear, nonlinear
        self.weight = nn.Parameter(torch.zeros(1))

    def alpha(self) -> Tensor:
        """The share of the linear operator."""
        return torch.sigmoid(self.weight)[..., None, None]

    def forward(
        self,
        inputs: Float[Tensor, "*#K N C T"],
        grid: Float[Tensor, " T"],
        *,
        checked: bool = True,
    ) -> Float[Tensor, "*K N O T"]:
        """The mixture on the inputs' grid."""
        alpha = self.alpha()
        linear = self.linear(inputs, grid, checked=checked)
        return alpha * linear + (1 - alpha) * self.nonlinear(inputs, grid, checked=checked)


@dataclass(frozen=True)
class Mixture:
    """A linear and a nonlinear Laplace operator in parallel; the defaults are the paper's.

    Args:
        linear: G_l; its activation is left out whatever it says.
        nonlinear: G_nl.

    Example:
        >>> site = Site(Channels(1, (0,), lower=1), 1, points=512, spectrum=Spectrum())
        >>> from mflno.operators import count_parameters
        >>> count_parameters(Mixture().build(site, torch.Generator()))
        359
    """

    kind: ClassVar[str] = "mixture"
    tied: ClassVar[bool] = False
    linear: LNO = field(default_factory=lambda: LNO(hidden=(2,)))
    nonlinear: LNO = field(default_factory=lambda: LNO(hidden=(2,)))

    def build(self, site: Site, generator: torch.Generator) -> nn.Module:
        """Both operators and their weight."""
        plain = LNO(**{**asdict(self.linear), "activation": "identity", "inner": "identity"})
        return Mixed(plain.build(site, generator), self.nonlinear.build(site, generator))


@dataclass(frozen=True)
class Deep:
    """A DeepONet of three hidden layers in branch and trunk, GELU (the paper's form).

    Args:
        width: Of every layer.
        once: Constant channels reach the branch as one number each, not once a point.

    Example:
        >>> site = Site(Channels(1, (0,)), outputs=1, points=512, spectrum=Spectrum())
        >>> from mflno.operators import count_parameters
        >>> count_parameters(Deep(width=32).build(site, torch.Generator()))
        39201
    """

    kind: ClassVar[str] = "deeponet"
    tied: ClassVar[bool] = True
    width: int = 32
    once: bool = False

    def build(self, site: Site, generator: torch.Generator) -> DeepONet:
        """A DeepONet for the site's grid."""
        single_output(site)
        constants = site.channels.constants if self.once else ()
        sensors = sensor_count(site, constants, ())
        return paper_deeponet(sensors, self.width, constants=constants, generator=generator)


@dataclass(frozen=True)
class DeepMixture:
    """Two DeepONets mixed by α, as the paper's counts tell of its MF-DeepONet.

    The linear one is linear in what it reads: its branch has no activation, its trunk has.

    Args:
        width: Of every layer.
        once: Constant channels reach the branch as one number each.
    """

    kind: ClassVar[str] = "deeponet-mixture"
    tied: ClassVar[bool] = True
    width: int = 32
    once: bool = False

    def build(self, site: Site, generator: torch.Generator) -> nn.Module:
        """Both networks and their weight."""
        part = Deep(self.width, self.once)
        linear = part.build(site, generator)
        linear.branch.activation = identity
        return Mixed(linear, part.build(site, generator))


@dataclass(frozen=True)
class DeepResidual:
    """The published form: linear branch, a trunk that sees u_L(t) at the query time.

    Args:
        width: Of every layer.
    """

    kind: ClassVar[str] = "deeponet-residual"
    tied: ClassVar[bool] = True
    width: int = 512

    def build(self, site: Site, generator: torch.Generator) -> nn.Module:
        """A DeepONet whose trunk has the cheaper trajectories beside the time."""
        single_output(site)
        constants, along = site.channels.constants, site.channels.cheaper
        sensors = sensor_count(site, constants, along)
        return residual_deeponet(
            sensors, self.width, constants=constants, along=along, generator=generator
        )


def single_output(site: Site) -> None:
    """Raise unless the problem has one output function."""
    if site.outputs != 1:
        rule, remedy = "gives one output function", "use a Laplace operator"
        raise ArgumentError("DeepONet", rule, f"{site.outputs} outputs", remedy)


def sensor_count(site: Site, constants: tuple[int, ...], along: tuple[int, ...]) -> int:
    """How many numbers a branch reads."""
    whole = site.channels.count - len(constants) - len(along)
    return whole * site.points + len(constants)


FORMS: dict[str, type] = {
    each.kind: each for each in (LNO, Mixture, Deep, DeepMixture, DeepResidual)
}
"""The forms, by the name under which they are saved."""


def form_about(form: Form) -> dict[str, Any]:
    """A form as JSON."""
    return {"kind": form.kind, **asdict(form)}  # pyright: ignore[reportArgumentType]


def form_from(about: dict[str, Any]) -> Form:
    """A form from JSON."""
    sizes = {name: value for name, value in about.items() if name != "kind"}
    for name, value in sizes.items():
        if isinstance(value, dict):
            sizes[name] = LNO(**{**value, "hidden": tuple(value["hidden"])})
    if "hidden" in sizes:
        sizes["hidden"] = tuple(sizes["hidden"])
    return FORMS[about["kind"]](**sizes)
