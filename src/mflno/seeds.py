"""One root seed, any number of named streams.

A stream depends on the root seed and on its name alone, so adding a stream never moves the
draws of another, and two processes that name the same stream draw the same numbers.
"""

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def stream_seed(root: int, *names: str | int) -> int:
    """A 63-bit seed from the root seed and a stream's name.

    Example:
        >>> stream_seed(0, "chains") == stream_seed(0, "chains")
        True
        >>> stream_seed(0, "chains") == stream_seed(0, "candidates")
        False
    """
    text = "\x1f".join([str(int(root)), *(str(name) for name in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def numpy_stream(root: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator for one named stream."""
    return np.random.default_rng(stream_seed(root, *names))


def torch_stream(
    root: int, *names: str | int, device: "torch.device | str" = "cpu"
) -> "torch.Generator":
    """A torch generator for one named stream, on the device where it will draw."""
    import torch

    generator = torch.Generator(device=device)
    generator.manual_seed(stream_seed(root, *names))
    return generator
