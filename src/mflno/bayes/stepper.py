"""The pure step: draw this iteration's chance, take the turn, count."""

from dataclasses import dataclass, replace

import torch

from mflno.bayes.chance import Dealer
from mflno.bayes.draws import Energy
from mflno.bayes.engine import Turn
from mflno.bayes.state import Info, State
from mflno.bayes.swap import Probe, gaps


@dataclass(frozen=True)
class Stepper:
    """state -> (state, info), with all randomness from the state's own generator.

    Attributes:
        energy: What is measured when the swap rule asks for the energies' noise.
        turn: One iteration, given its random numbers.
        dealer: Where these come from.
        probe: How noise is measured, or `None`.
    """

    energy: Energy
    turn: Turn
    dealer: Dealer
    probe: Probe | None

    def __call__(self, state: State) -> tuple[State, Info]:
        """The state after one iteration, and the iteration's report."""
        if self.probe is not None and state.step % self.probe.every == 0:
            state = self.probed(state, self.probe)
        chance, order, random = self.dealer(state)
        walk, info = self.turn(state.walk, chance)
        return State(walk, state.step + 1, order, random), info

    def probed(self, state: State, probe: Probe) -> State:
        """The same chains with a fresh measurement of the noise in every pair's gap."""
        batches, random = self.dealer.batches(state, count=2)
        shape = state.walk.replica.shape
        with torch.no_grad():
            one, two = (gaps(self.energy(state.theta, b).view(shape)) for b in batches)
        swaps = probe.measured(state.walk.swaps, one, two, state.step)
        return replace(state, walk=state.walk._replace(swaps=swaps), random=random)
