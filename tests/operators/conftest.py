"""Convolutions of damped oscillations with signals, from calculus."""

import sys

import numpy as np
import pytest
import torch

SPAN = 20.0
TURN = 2 * np.pi
DECAY = 0.3


def modes(count=6, channels=(1, 1), seed=0):
    """Random damped poles and residues, (inputs, outputs, modes), complex."""
    generator = np.random.default_rng(seed)
    shape = (*channels, count)
    poles = -generator.uniform(0.1, 2.0, shape) + 1j * generator.uniform(0.0, 9.0, shape)
    residues = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return poles, residues


def pairs(values):
    return torch.view_as_real(torch.from_numpy(np.ascontiguousarray(values)))


def signal(kind, time):
    return np.sin(TURN * time) if kind == "sine" else np.exp(-DECAY * time)


def response(kind, poles, residues, time):
    """Re Σ_k β_k ∫_0^t e^{μ_k (t-s)} v(s) ds for poles and residues of one pair of channels."""
    waves = np.exp(poles[:, None] * time)
    mu = poles[:, None]
    if kind == "sine":
        forced = mu * np.sin(TURN * time) + TURN * np.cos(TURN * time)
        each = (TURN * waves - forced) / (mu**2 + TURN**2)
    else:
        each = (waves - np.exp(-DECAY * time)) / (mu + DECAY)
    return (residues[:, None] * each).sum(0).real


def grid(points):
    time = np.linspace(0.0, SPAN, points)
    return time, torch.tensor(time[1], dtype=torch.float64)


def error(found, truth):
    found = found.double().detach().numpy() if isinstance(found, torch.Tensor) else found
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)


@pytest.fixture
def forms():
    """This module."""
    return sys.modules[__name__]
