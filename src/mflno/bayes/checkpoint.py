"""A run as named tensors and plain facts, and back, bit for bit; writing them is for others."""

from typing import Any

import torch
from torch import Tensor

from mflno.bayes.run import Run
from mflno.bayes.state import Info, State, Walk
from mflno.bayes.swap import Memory
from mflno.errors import ArgumentError

FORMAT = 1


def run_arrays(run: Run) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Everything a run is: tensors by name, and facts that go into JSON.

    Example:
        >>> from mflno.bayes import ReplicaExchange
        >>> sampler, start = ReplicaExchange(chains=2, steps=4), torch.ones(2, 3)
        >>> run = sampler.start(start, cases=1, generator=torch.Generator())
        >>> arrays, facts = run_arrays(run)
        >>> facts
        {'format': 1, 'step': 0, 'kept': []}
        >>> bool((run_from(arrays, facts).state.theta == start).all())
        True
    """
    state, walk = run.state, run.state.walk
    arrays = {f"walk.{name}": getattr(walk, name) for name in Walk._fields if name != "swaps"}
    arrays |= {f"swaps.{name}": entry for name, entry in walk.swaps._asdict().items()}
    arrays |= {f"info.{name}": entry for name, entry in run.info._asdict().items()}
    arrays |= {f"kept.{step}": theta for step, theta in run.kept.items()}
    arrays |= {"order": state.order, "random": state.random}
    facts = {"format": FORMAT, "step": state.step, "kept": list(run.kept)}
    return {name: entry.detach().clone() for name, entry in arrays.items()}, facts


def run_from(
    arrays: dict[str, Tensor], facts: dict[str, Any], *, device: torch.device | str = "cpu"
) -> Run:
    """The run that was written down; it goes on as if it had never stopped.

    Bit-equality holds on the kind of device the run came from: a generator's state is the
    device's own.
    """
    if facts.get("format") != FORMAT:
        rule, remedy = f"must be format {FORMAT}", "read it with the version that wrote it"
        raise ArgumentError("run_from.facts", rule, facts.get("format"), remedy)
    part = lambda kind, name: arrays[f"{kind}.{name}"].clone().to(device)
    swaps = Memory(*(part("swaps", name) for name in Memory._fields))
    names = [name for name in Walk._fields if name != "swaps"]
    walk = Walk(**{name: part("walk", name) for name in names}, swaps=swaps)
    # A generator takes its state from host memory on every device.
    order, random = arrays["order"].to(device), arrays["random"].cpu().clone()
    state = State(walk, int(facts["step"]), order, random)
    info = Info(*(part("info", name) for name in Info._fields))
    return Run(state, info, {step: part("kept", str(step)) for step in facts["kept"]})
