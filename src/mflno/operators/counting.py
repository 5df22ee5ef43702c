"""How many parameters an operator has, in both conventions."""

from torch import nn

from mflno.operators.laplace import LaplaceLayer


def count_parameters(module: nn.Module, *, complex_as: int = 1) -> int:
    """Numbers to learn; a complex pole or residue counts once, as in the paper, or twice.

    Example:
        >>> import torch
        >>> from mflno.operators import build_operator
        >>> net = build_operator(1, 1, generator=torch.Generator())
        >>> count_parameters(net), count_parameters(net, complex_as=2)
        (803, 947)
    """
    real = sum(p.numel() for p in module.parameters())
    paired = sum(
        p.numel()
        for layer in module.modules()
        if isinstance(layer, LaplaceLayer)
        for p in layer.parameters()
    )
    return real if complex_as == 2 else real - paired // 2
