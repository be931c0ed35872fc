"""Losses that PyTorch lacks: a norm over some dims, and the distance of Gram matrices."""

from typing import Any

from ..errors import ValueError
from ..tensor import Tensor
from .module import Module


class LpLoss(Module):
    """|input - target|^p over all dims or some, summed or averaged. [...], [...] -> [...]

    p: the power, above 0. dim: the dims to reduce, by default all. reduction: "mean", "sum" or "none".
    ValueError for others, and if shapes differ.
    """

    def __init__(self, p: float = 2.0, reduction: str = "mean", dim: Any = None):
        if not p > 0:
            raise ValueError(f"LpLoss(p={p}): p must be above 0: pass another value")
        _check_reduction("LpLoss", reduction, ("mean", "sum", "none"))
        self.p, self.reduction, self.dim = p, reduction, dim

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        _check_shapes("LpLoss", input, target)
        d = input - target
        # pow is slow, and has no gradient at 0 for p = 1
        loss = d * d if self.p == 2 else d.abs() if self.p == 1 else d.abs() ** self.p
        return loss if self.reduction == "none" else getattr(loss, self.reduction)(self.dim)

    def extra_repr(self) -> str:
        return f"p={self.p}, reduction={self.reduction!r}, dim={self.dim}"


class GramMatrixLoss(Module):
    """Squared distance of the channels' Gram matrices: the style loss of images (Gatys et al., 2016).
    [n, c, *size], [n, c, *size] -> []

    A Gram matrix has the dot products of all pairs of channels, divided by c and the elements of a channel.
    reduction: "mean" or "sum". ValueError for others, for fewer than 3 dims, and if shapes differ.
    """

    def __init__(self, reduction: str = "mean"):
        _check_reduction("GramMatrixLoss", reduction, ("mean", "sum"))
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        _check_shapes("GramMatrixLoss", input, target)
        if input.ndim < 3:
            raise ValueError(f"GramMatrixLoss(): input has {input.ndim} dims: pass [n, c, *size]")
        difference = _gram(input) - _gram(target)
        return getattr(difference * difference, self.reduction)()

    def extra_repr(self) -> str:
        return f"reduction={self.reduction!r}"


def _gram(x: Tensor) -> Tensor:
    """[n, c, *size] -> [n, c, c]"""
    rows = x.flatten(2)
    # [n, c, c]: products of all pairs of channels
    return rows @ rows.transpose(1, 2) / (rows.shape[1] * rows.shape[2])


def _check_reduction(layer: str, reduction: str, known: tuple[str, ...]) -> None:
    if reduction not in known:
        names = ", ".join(map(repr, known))
        raise ValueError(f"{layer}(reduction={reduction!r}): unknown: use one of {names}")


def _check_shapes(layer: str, input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        shapes = f"{list(input.shape)} and {list(target.shape)}"
        raise ValueError(f"{layer}(): input and target are {shapes}: pass tensors of one shape")
