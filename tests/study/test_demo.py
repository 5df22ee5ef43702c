"""The demonstration: its truth is the oscillator's, and it learns."""

import json

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mflno.cli import main
from mflno.study.demo import DAMPING, FREQUENCY, Examples, responses


def test_responses_agree_with_a_time_stepper():
    generator = np.random.default_rng(0)
    amplitudes = generator.normal(size=(2, 3))
    frequencies, phases = generator.uniform(0.2, 4.0, size=(2, 2, 3))
    time = np.linspace(0.0, 20.0, 101)
    forcings, values = responses(amplitudes, frequencies, phases, time)
    for row in range(2):

        def force(t, row=row):
            return amplitudes[row] @ np.sin(frequencies[row] * t + phases[row])

        def rates(t, state, force=force):
            pull = 2 * DAMPING * FREQUENCY * state[1] + FREQUENCY**2 * state[0]
            return [state[1], force(t) - pull]

        found = solve_ivp(rates, (0.0, 20.0), [0.0, 0.0], t_eval=time, rtol=1e-9, atol=1e-10)
        assert np.allclose(forcings[row], [force(t) for t in time], atol=1e-12)
        assert np.allclose(values[row], found.y[0], atol=1e-7)


def test_examples_follow_the_seed():
    first, again, other = (Examples.drawn(seed).inputs for seed in (0, 0, 1))
    assert first.equal(again)
    assert not first.equal(other)


def test_the_command_learns_and_leaves_a_picture(tmp_path, capsys):
    assert main(["demo", "--steps", "40", "--out", str(tmp_path / "new"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    # An operator that answers zero has the relative error 1.
    assert told["mean_error"] < 0.5
    assert told["parameters"] == 947
    with open(told["picture"], "rb") as picture:
        assert picture.read(8) == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("steps", ["0", "-3"])
def test_wrong_steps_are_refused(steps, capsys):
    assert main(["demo", f"--steps={steps}"]) == 2
    assert "--steps" in capsys.readouterr().err
