"""Layers whose weights stay the quantised blocks of a GGUF file: BlockLinear and BlockEmbedding."""

# Layers call primitives, such as x._decode_blocks, that are not part of the public API.
# pyright: reportPrivateUsage=false

from collections.abc import Mapping
from typing import Any

from ..core import dtype as dt
from ..core.modes import computes_on_host
from ..core.node import describe
from ..device import DeviceLike
from ..io.block_weight import BlockWeight
from ..ops.contract import linear
from ..ops.index.embedding import embedding
from ..ops.join import cat
from ..tensor import Tensor, tensor
from .linear import Embedding, Linear
from .module import Module

SLICE = 1 << 22  # elements of a matrix that a CPU decodes at a time


class BlockTable(Module):
    """A matrix of quantised blocks. It is not trained, and the state dict has the blocks. [n, k]

    weight: the matrix in a file. device: of the blocks.
    """

    blocks: Tensor

    def __init__(self, weight: BlockWeight, device: DeviceLike | None = None):
        self.format, self.shape = weight.format, weight.shape
        self.register_buffer("blocks", weight.to(device))

    @property
    def weight(self) -> Tensor:
        """The numbers that the blocks encode, as a lazy tensor: a kernel that reads them decodes the blocks,
        and none stores them. -> float32 [n, k]"""
        return self._rows(0, self.shape[0])

    def _rows(self, first: int, count: int) -> Tensor:
        """The numbers of some rows. -> float32 [count, k]"""
        k, form = self.shape[1], self.format
        if form.in_kernels:
            return self.blocks._decode_blocks(form.name.lower(), (count, k), first * k)
        each = k // form.elements
        codes = self.blocks[first * each : (first + count) * each]
        return form.decode(codes.to(dt.int32)).reshape(count, k)

    def product(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """x @ weight.T + bias, in the dtype of x; sums are float32. [..., k] -> [..., n]"""
        n, k = self.shape
        if x.shape[-1:] != (k,):
            raise ValueError(f"{type(self).__name__}({describe(x)}): rows have {k} elements: reshape it")
        wide = x.float()
        # A CPU computes node by node: slices keep it from holding the whole matrix as floats.
        step = max(SLICE // k, 1) if computes_on_host(x.device) else n
        parts = [linear(wide, self._rows(start, min(step, n - start))) for start in range(0, n, step)]
        y = parts[0] if len(parts) == 1 else cat(parts, -1)
        return (y if bias is None else y + bias).to(x.dtype)

    def lookup(self, places: Tensor) -> Tensor:
        """The rows at places. int [...] -> float32 [..., k]"""
        (n, k), form = self.shape, self.format
        if form.in_kernels and not computes_on_host(places.device):
            return embedding(places, self.weight)
        # decode only the rows that are looked up
        size = k // form.elements * form.size
        rows = embedding(places.reshape(-1), self._bytes()[: n * size].reshape(n, size))
        count = rows.shape[0]
        codes = rows.reshape(count * k // form.elements, form.size)
        return form.decode(codes.to(dt.int32)).reshape(*places.shape, k)

    def _bytes(self) -> Tensor:
        """The blocks as bytes. -> uint8 [bytes]"""
        return self.blocks.reshape(-1) if self.blocks.dtype is dt.uint8 else self.blocks.view(dtype=dt.uint8)

    def extra_repr(self) -> str:
        return f"{self.shape[0]}, {self.shape[1]}, {self.format.name}"


class BlockLinear(BlockTable):
    """x @ weight.T + bias with the quantised weights of a GGUF file, for inference. Gradients reach x and the
    bias. [..., in_features] -> [..., out_features]

    weight: the matrix in a file. bias: [out_features]. device: of the blocks.
    ValueError if x has rows of another length.
    """

    bias: Tensor | None

    def __init__(self, weight: BlockWeight, bias: Tensor | None = None, device: DeviceLike | None = None):
        super().__init__(weight, device)
        self.out_features, self.in_features = weight.shape
        self.register_buffer("bias", bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.product(x, self.bias)


class BlockEmbedding(BlockTable):
    """A table of vectors that stays the quantised blocks of a GGUF file. int [...] -> float32 [..., dim]

    weight: the matrix in a file. device: of the blocks. `product(x)` has the scores of a head that shares it.
    """

    def __init__(self, weight: BlockWeight, device: DeviceLike | None = None):
        super().__init__(weight, device)
        self.num_embeddings, self.embedding_dim = weight.shape

    def forward(self, input: Tensor) -> Tensor:
        return self.lookup(input)


def keep_blocks(model: Module, state: Mapping[str, Any], device: DeviceLike | None = None) -> dict[str, Any]:
    """Replace the layers of a model whose weights are BlockWeights in a state dict by layers that keep the
    blocks; return the state dict for `load_state_dict`, with these blocks.

    Linear becomes BlockLinear, Embedding BlockEmbedding; the weights of other layers become floats. state: by
    the model's names. device: of the new layers. ValueError if a size differs.
    """
    rest = dict(state)
    for name in [name for name, value in state.items() if isinstance(value, BlockWeight)]:
        path, _, own = name.rpartition(".")
        weight, layer = rest.pop(name), model.get_submodule(path)
        if own != "weight" or not isinstance(layer, Linear | Embedding) or layer.weight.ndim != 2:
            rest[name] = tensor(weight.numpy(), device=device)
            continue
        if layer.weight.shape != weight.shape:
            raise ValueError(f"{name}: is {list(weight.shape)}, the layer has {list(layer.weight.shape)}")
        is_table = isinstance(layer, Embedding)
        new = BlockEmbedding(weight, device) if is_table else _linear(layer, weight, device)
        rest[f"{path}.blocks"] = new.blocks
        parent, _, child = path.rpartition(".")
        setattr(model.get_submodule(parent), child, new)
    return rest


def _linear(layer: Linear, weight: BlockWeight, device: DeviceLike | None) -> BlockLinear:
    bias = None if layer.bias is None else layer.bias.detach()
    return BlockLinear(weight, bias if bias is None or device is None else bias.to(device), device)
