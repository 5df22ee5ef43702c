"""Parameter counts as the paper prints them, and with a complex number as two."""

import pytest
import torch

from mflno.operators import (
    Architecture,
    build_operator,
    count_parameters,
    identity,
    paper_deeponet,
)


def counts(inputs, sizes):
    net = build_operator(inputs, 1, sizes, generator=torch.Generator())
    return count_parameters(net), count_parameters(net, complex_as=2)


SMALL = Architecture(hidden=(2,))


@pytest.mark.parametrize(
    ("inputs", "sizes", "paper", "real"),
    [
        (1, Architecture(), 803, 947),
        (2, Architecture(), 806, 950),
        (2, SMALL, 176, 320),
        (3, SMALL, 179, 323),
        (3, Architecture(hidden=(2,), activation=identity), 179, 323),
    ],
)
def test_counts_of_laplace_operators(inputs, sizes, paper, real):
    assert counts(inputs, sizes) == (paper, real)


def test_totals_of_the_paper():
    alpha = 1
    assert counts(1, Architecture())[0] + 2 * counts(2, SMALL)[0] + alpha == 1156
    assert counts(2, Architecture())[0] + 2 * counts(3, SMALL)[0] + alpha == 1165


@pytest.mark.parametrize(
    ("sensors", "width", "count"),
    [
        (2 * 512, 32, 39_201),
        (3 * 2048, 32, 203_041),
        (512, 256, 526_593),
        (2 * 2048, 256, 1_444_097),
        (101 + 1, 32, 9_697),
        (101 + 1 + 101, 32, 12_929),
    ],
)
def test_counts_of_the_papers_deeponets(sensors, width, count):
    net = paper_deeponet(sensors, width, generator=torch.Generator())
    assert count_parameters(net) == count_parameters(net, complex_as=2) == count
