"""QuantizedLinear, a layer of 8- or 4-bit weights, and a function that converts a model's linear layers."""

from collections import Counter

from ..ops.quantized import Quantized, check_quantization, quantize, quantized_linear
from ..tensor import Tensor
from .linear import Linear
from .members import Owner, own_members
from .module import Module
from .parameter import Parameter


class QuantizedLinear(Module):
    """x @ weight.T + bias with weights of 8 or 4 bits and a scale for each block of a row, for inference.
    [..., in_features] -> [..., out_features]"""

    words: Tensor
    scales: Tensor
    bias: Tensor | None

    def __init__(self, weight: Quantized, bias: Tensor | None = None):
        self.out_features, self.in_features = weight.shape
        self.bits, self.block = weight.bits, weight.block
        # words and scales are buffers: they are saved, and not trained
        self.register_buffer("words", weight.words)
        self.register_buffer("scales", weight.scales)
        self.register_buffer("bias", bias)

    @property
    def weight(self) -> Quantized:
        """The quantised weights; `weight.dequantize()` converts them to floats."""
        return Quantized(self.words, self.scales, self.bits, self.block)

    def forward(self, x: Tensor) -> Tensor:
        return quantized_linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}, bits={self.bits}, block={self.block}"


def quantize_(model: Module, bits: int = 4, block: int = 32) -> list[str]:
    """Replace every Linear of a model by a QuantizedLinear; returns the replaced layers' names.

    A layer whose in_features is not a multiple of `block`, or whose weight another layer shares, is
    unchanged. The state dict then has `words` and `scales` instead of `weight`: load it into a model that was
    quantised in the same way.

    bits: 4 or 8 for each weight
    Raises ValueError if bits or block are unsupported.
    """
    try:
        check_quantization(bits, block)
    except ValueError as e:
        raise ValueError(f"quantize_({type(model).__name__}, bits={bits}, block={block}): {e}") from None
    # how many modules use a weight
    users = Counter(id(p) for m in model.modules() for _, p in own_members(m, Parameter))
    layers: dict[int, QuantizedLinear] = {}
    names: list[str] = []
    for name, m in list(model.named_modules()):
        for own, child in list(own_members(m, Owner)):
            if isinstance(child, Linear) and id(child) not in layers and _fits(child, block, users):
                layers[id(child)] = _quantize(child, bits, block)
                names.append(f"{name}.{own}" if name else own)
            if id(child) in layers:  # a shared layer is replaced everywhere
                setattr(m, own, layers[id(child)])
    return names


def _fits(m: Linear, block: int, users: Counter[int]) -> bool:
    # subclasses may use their weight otherwise
    return type(m) is Linear and m.in_features % block == 0 and users[id(m.weight)] == 1


def _quantize(m: Linear, bits: int, block: int) -> QuantizedLinear:
    bias = None if m.bias is None else m.bias.detach()
    return QuantizedLinear(quantize(m.weight.detach(), bits, block), bias)
