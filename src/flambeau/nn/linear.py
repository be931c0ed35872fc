"""Linear and Embedding: layers that hold one matrix."""

from math import sqrt
from typing import Any

from ..ops.composed import linear
from ..ops.index import embedding
from ..tensor import Tensor
from . import init
from .module import Module, Parameter


def new_parameter(*shape: int, value: float = 0.0, device: Any = None) -> Parameter:
    """A parameter of one value, until an initialiser gives it others. -> shape"""
    return Parameter(Tensor.full(shape, value, device=device))


def default_init(weight: Parameter, bias: Parameter | None) -> None:
    """PyTorch's values for linear and convolution layers: uniform within 1 / sqrt(fan_in)."""
    init.kaiming_uniform_(weight, a=sqrt(5))
    if bias is not None:
        fan_in = init.fans(weight)[0]
        bound = 1 / sqrt(fan_in) if fan_in else 0.0
        init.uniform_(bias, -bound, bound)


def positive(layer: str, **sizes: int) -> None:
    """ValueError unless every size is a whole number above 0."""
    for name, n in sizes.items():
        if not isinstance(n, int) or n < 1:
            raise ValueError(f"{layer}({name}={n!r}): sizes are whole numbers above 0: give another")


class Linear(Module):
    """x @ weight.T + bias. [..., in_features] -> [..., out_features]"""

    bias: Parameter | None

    def __init__(self, in_features: int, out_features: int, bias: bool = True, device: Any = None):
        positive("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter(out_features, in_features, device=device)
        self.bias = new_parameter(out_features, device=device) if bias else None
        default_init(self.weight, self.bias)

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Embedding(Module):
    """A table of vectors, looked up by integers; no gradient flows to row padding_idx. [...] -> [..., dim]"""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, device: Any = None
    ):
        positive("Embedding", num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            rule = f"there are {num_embeddings} rows: give one of them"
            raise ValueError(f"Embedding(padding_idx={padding_idx}): {rule}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = new_parameter(num_embeddings, embedding_dim, device=device)
        init.normal_(self.weight)
        if self.padding_idx is not None:
            rows = Tensor.arange(num_embeddings, device=device).unsqueeze(1)
            self.weight.assign_((rows == self.padding_idx).where(0.0, self.weight.detach()))

    def forward(self, x: Tensor) -> Tensor:
        y = embedding(x, self.weight)
        return y if self.padding_idx is None else (x == self.padding_idx).unsqueeze(-1).where(y.detach(), y)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
