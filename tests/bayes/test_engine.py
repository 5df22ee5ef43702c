"""Every engine walks the same path; a child process compiles, free of shape checks."""

import os
import subprocess
import sys

import pytest
import torch

from mflno.bayes import (
    Captured,
    Constant,
    Corrected,
    Eager,
    Metropolis,
    Paper,
    Probe,
    ReplicaExchange,
    Window,
)
from mflno.bayes.engine import copy_into, in_place, leaves, mapped
from mflno.bayes.swap import blank_memory

COMPARE = """
import sys, torch, warnings
from dataclasses import replace
from mflno.bayes import *

def wavy(theta, batch):
    chosen = slice(None) if batch is None else batch
    centres = torch.linspace(-1, 1, 7)[chosen]
    return (theta[:, None] - centres[:, None]).square().sum(-1).mean(-1) + theta.sin().sum(-1)

for rule in (Paper(0.5, window=2), Corrected(Probe(every=5))):
    plain = ReplicaExchange(chains=3, steps=60, step_size=(0.01, 0.05), temperature=(0.1, 0.15),
                            swap=rule, batch=3, collect=All(burn=0.0, thin=10))
    found = []
    for engine in (Eager(), Compiled()):
        start = torch.randn(6, 10, generator=torch.Generator().manual_seed(0))
        found.append(replace(plain, engine=engine).sample(
            wavy, start, cases=7, generator=torch.Generator().manual_seed(1), show=False))
    one, two = found
    assert torch.equal(one.trace.swapped, two.trace.swapped)
    assert int(one.trace.swapped.sum()) > 0
    torch.testing.assert_close(one.theta, two.theta, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(one.trace.buffer, two.trace.buffer, rtol=1e-3, atol=1e-5)
print("same")
"""


@pytest.mark.slow
def test_compiled_walks_the_eager_path():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], capture_output=True, text=True, env=environment
    )
    assert done.stdout == "same\n", done.stderr


@pytest.mark.gpu
@pytest.mark.parametrize("rule", [Paper(0.2, window=2), Metropolis(), Corrected()])
def test_captured_graph_walks_the_eager_path(rule):
    if not torch.cuda.is_available():
        pytest.skip("no accelerator")
    found = []
    for engine in (Eager(), Captured()):
        ladder = ReplicaExchange(
            chains=3, steps=200, step_size=(0.01, 0.05), temperature=(1.0, 2.0), swap=rule,
            schedule=Constant(), batch=6, engine=engine,
        )  # fmt: skip
        start = torch.randn(6, 10, generator=torch.Generator().manual_seed(0)).cuda()
        found.append(
            ladder.sample(
                bumpy, start, cases=7, generator=torch.Generator().manual_seed(1), show=False
            )
        )
    assert torch.equal(found[0].theta, found[1].theta)
    one, two = (vars(each.trace) for each in found)
    assert all(same(one[name], two[name]) for name in one)
    assert int(found[0].trace.swapped.sum()) > 0


def same(one, two):
    return torch.equal(one, two) if isinstance(one, torch.Tensor) else one == two


class Rewritten:
    """What a captured graph does, without the graph: every turn in the same memory."""

    def __call__(self, energy, advance):
        take, places = Eager()(energy, advance), []

        def replay(walk, chance):
            if not places:
                places.extend([mapped(torch.clone, walk), mapped(torch.clone, chance)])
            copy_into(places[0], walk)
            copy_into(places[1], chance)
            return places[0], in_place(take, *places)

        return replay


@pytest.mark.parametrize(
    "rule", [Paper(0.2, window=2), Window(0.2, 3), Metropolis(), Corrected(Probe(every=4))]
)
def test_a_walk_kept_in_one_place_gives_the_draws_and_the_trace_of_the_eager_one(rule):
    found = []
    for engine in (Eager(), Rewritten()):
        ladder = ReplicaExchange(
            chains=3, steps=80, step_size=(0.01, 0.05), temperature=(1.0, 2.0), swap=rule,
            batch=6, engine=engine,
        )  # fmt: skip
        start = torch.randn(6, 10, generator=torch.Generator().manual_seed(0))
        draw = torch.Generator().manual_seed(1)
        found.append(ladder.sample(bumpy, start, cases=7, generator=draw, show=False))
    assert torch.equal(found[0].theta, found[1].theta)
    one, two = (vars(each.trace) for each in found)
    assert all(same(one[name], two[name]) for name in one)
    assert int(found[0].trace.swapped.sum()) > 0


def bumpy(theta, batch):
    chosen = slice(None) if batch is None else batch
    centres = torch.linspace(-1, 1, 7, device=theta.device)[chosen]
    return (theta[:, None] - centres[:, None]).square().sum(-1).mean(-1)


def test_trees_keep_their_kind():
    tree = (torch.ones(2), None, blank_memory(1, 2, torch.zeros(1)))
    twice = mapped(lambda entry: entry + 1, tree)
    assert twice[1] is None
    assert type(twice[2]) is type(tree[2])
    assert len(leaves(tree)) == 7
    copy_into(tree, twice)
    assert tree[0].tolist() == [2.0, 2.0]
    assert int(tree[2].gate[0, 0]) == 1
    with pytest.raises(ValueError, match="argument"):
        copy_into(tree, tree[:2])
