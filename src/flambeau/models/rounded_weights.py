"""Quantisation-aware training: the forward pass has the numbers that a GGUF file will have, and gradients go
straight through to the floats (Bengio et al., 2013)."""

import os
import re
from collections.abc import Callable
from typing import Any

from .. import nn
from ..core import dtype as dt
from ..io import save_gguf
from ..io.gguf_blocks import BLOCKS
from ..nn.utils.parametrize import is_parametrized, register_parametrization
from ..tensor import Tensor
from .quantize import SMALLEST

ORIGINAL = ".parametrizations.weight.original"


def _float16(x: Tensor) -> Tensor:
    return x.to(dt.float16).float()


def _by(d: Tensor) -> Tensor:
    """1 / d, 0 for 0."""
    return (d == 0).where(0.0, 1.0 / d)


def _q8_0(x: Tensor) -> Tensor:
    d = x.abs().amax(-1, keepdim=True) / 127.0
    return _float16(d) * (x * _by(d)).round()


def _about_zero(bits: int) -> Callable[[Tensor], Tensor]:
    middle = float(1 << bits - 1)

    def rounded(x: Tensor) -> Tensor:
        most, least = x.amax(-1, keepdim=True), x.amin(-1, keepdim=True)
        # the number furthest from 0 has the lowest integer
        d = (most > -least).where(most, least) / -middle
        q = (x * _by(d) + (middle + 0.5)).floor().clamp(0, 2 * middle - 1)
        return _float16(d) * (q - middle)

    return rounded


# Formats whose rounded numbers are quantised to themselves: the scale, a float16, comes out of the furthest
# number exactly, whatever the rounding of a device's division. Those with a least value are not among them.
ROUNDED: dict[str, Callable[[Tensor], Tensor]] = {
    "Q4_0": _about_zero(4),
    "Q5_0": _about_zero(5),
    "Q8_0": _q8_0,
}


class RoundedWeight(nn.Module):
    """A parametrization: the numbers that blocks of a format hold; gradients go straight through. [n, k] ->
    [n, k]

    form: "Q4_0", "Q5_0" or "Q8_0".
    """

    def __init__(self, form: str):
        self.form = form

    def forward(self, weight: Tensor) -> Tensor:
        x = weight.float()
        blocks = x.reshape(-1, BLOCKS[self.form].elements).detach()
        rounded = ROUNDED[self.form](blocks).reshape(x.shape)
        # x - x is 0, so that the sum has the rounded numbers exactly
        return rounded.detach() + (x - x.detach())

    def extra_repr(self) -> str:
        return self.form


def quantize_aware(model: nn.Module, form: str = "Q4_0") -> list[str]:
    """Let the linear layers and embeddings of a model compute with the numbers that a quantised file will
    have; returns their names. They train as before, and `save_quantized` writes the file.

    model: any network. form: "Q4_0", "Q5_0" or "Q8_0". Layers whose rows are no multiple of 32 elements, and
    small ones, stay. ValueError for another form, or a model without such layers.
    """
    if form not in ROUNDED:
        raise ValueError(f"quantize_aware({form!r}): unknown: one of {', '.join(ROUNDED)}")
    names: list[str] = []
    for name, m in list(model.named_modules()):
        if not isinstance(m, nn.Linear | nn.Embedding) or is_parametrized(m, "weight"):
            continue
        if m.weight.numel() >= SMALLEST and m.weight.shape[-1] % BLOCKS[form].elements == 0:
            register_parametrization(m, "weight", RoundedWeight(form))
            names.append(name)
    if not names:
        raise ValueError(f"quantize_aware({type(model).__name__}): has no matrices with rows of blocks: "
                         "pass a larger model")  # fmt: skip
    return names


def save_quantized(
    model: nn.Module, out: str | os.PathLike[str], metadata: dict[str, Any] | None = None
) -> None:
    """Write the weights of a model after `quantize_aware` to a GGUF file, under their own names. Its numbers
    are those of the forward pass, bit for bit.

    out: the file's path. metadata: of the file. ValueError for a model without rounded layers.
    """
    forms: dict[str, str] = {}
    tensors: dict[str, Tensor] = {}
    for name, t in model.state_dict().items():
        if not name.endswith(ORIGINAL):
            tensors[name] = t
            continue
        path = name.removesuffix(ORIGINAL)
        layer: Any = model.get_submodule(path)
        tensors[f"{path}.weight"] = layer.weight.detach()
        chain: list[Any] = [*vars(layer)["parametrizations"]["weight"]]
        forms[f"^{re.escape(path)}\\.weight$"] = next(p for p in chain if type(p) is RoundedWeight).form
    if not forms:
        raise ValueError(f"save_quantized({type(model).__name__}): has no rounded layers: "
                         "call quantize_aware first")  # fmt: skip
    save_gguf(tensors, out, metadata or {"general.architecture": "unknown"}, quantize=forms)
