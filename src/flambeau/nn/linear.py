"""Linear, Bilinear, Embedding and EmbeddingBag: layers that hold one table of weights."""

from math import sqrt
from operator import index
from typing import Any, Self

from ..core import dtype as dt
from ..core.dtype import DTypeLike
from ..core.node import describe
from ..device import DeviceLike
from ..errors import TypeError, ValueError
from ..ops.contract import linear
from ..ops.einsum import bilinear
from ..ops.index.embedding import by_frequency, embedding, embedding_bag, limit_norms
from ..tensor import Tensor
from . import init
from .module import Module, cast_layer
from .parameter import Parameter


def new_parameter(*shape: int, value: float = 0.0, device: DeviceLike | None = None) -> Parameter:
    """A parameter filled with one value, for an initialiser to overwrite. -> shape"""
    return Parameter(Tensor.full(shape, value, device=device))


def default_init(weight: Parameter, bias: Parameter | None) -> None:
    """PyTorch's values for linear and convolution layers: uniform within 1 / sqrt(fan_in)."""
    # The gain of a = sqrt(5) is sqrt(1 / 3), so the bound is 1 / sqrt(fan_in).
    init.kaiming_uniform_(weight, a=sqrt(5))
    if bias is not None:
        fan_in = init.fans(weight)[0]
        bound = 1 / sqrt(fan_in) if fan_in else 0.0
        init.uniform_(bias, -bound, bound)


def positive(layer: str, **sizes: int) -> None:
    """ValueError for a size below 1, TypeError for one that is not an integer."""
    _check_sizes(layer, sizes, 1, "must be positive integers")


def not_negative(layer: str, **sizes: int) -> None:
    """ValueError for a size below 0, TypeError for one that is not an integer."""
    _check_sizes(layer, sizes, 0, "must not be negative")


def _check_sizes(layer: str, sizes: dict[str, int], least: int, rule: str) -> None:
    for name, n in sizes.items():
        is_integer = hasattr(n, "__index__") and not isinstance(n, bool)
        if not is_integer:
            raise TypeError(f"{layer}({name}={n!r}): sizes must be integers: pass another value")
        if index(n) < least:
            raise ValueError(f"{layer}({name}={n!r}): sizes {rule}: pass another value")


class Linear(Module):
    """x @ weight.T + bias. [..., in_features] -> [..., out_features]

    Raises ValueError if a size is negative.
    """

    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        not_negative("Linear", in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = new_parameter(out_features, in_features, device=device)
        self.bias = new_parameter(out_features, device=device) if bias else None
        self.reset_parameters()
        cast_layer(self, dtype)

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        default_init(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 @ weight[o] @ x2 + bias[o]. [..., in1_features], [..., in2_features] -> [..., out_features]

    Raises ValueError if a size is negative, or in1_features is 0.
    """

    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        sizes = {"in1_features": in1_features, "in2_features": in2_features, "out_features": out_features}
        positive("Bilinear", in1_features=in1_features)
        not_negative("Bilinear", **sizes)
        self.in1_features, self.in2_features, self.out_features = sizes.values()
        self.weight = new_parameter(out_features, in1_features, in2_features, device=device)
        self.bias = new_parameter(out_features, device=device) if bias else None
        self.reset_parameters()
        cast_layer(self, dtype)

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        bound = 1 / sqrt(self.in1_features)  # PyTorch's bound, from in1_features alone
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"


def two_dims(embeddings: Tensor) -> tuple[int, int]:
    """Return the shape of a table. ValueError for other than 2 dims."""
    if embeddings.ndim != 2:
        rule = "takes 2 dims, a row for each vector: reshape it"
        raise ValueError(f"from_pretrained({describe(embeddings)}): {rule}")
    n, dim = embeddings.shape
    return n, dim


class _Table(Module):
    """Base of lookup layers: a table of vectors, whose row padding_idx stays 0."""

    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse = False  # all gradients are dense

    def _setup(
        self,
        sizes: tuple[int, int],
        padding_idx: int | None,
        weight: Tensor | None,
        device: DeviceLike | None,
    ) -> None:
        num_embeddings, embedding_dim = sizes
        name = type(self).__name__
        not_negative(name, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            rule = f"the table has {num_embeddings} rows: pass the index of one"
            raise ValueError(f"{name}(padding_idx={padding_idx}): {rule}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        # a negative row counts from the end
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        if weight is not None:  # the layer shares its values
            if weight.shape != sizes:
                rule = f"it must be {list(sizes)}: pass another tensor"
                raise ValueError(f"{name}(_weight={describe(weight)}): {rule}")
            self.weight = Parameter(weight)
            return
        self.weight = new_parameter(num_embeddings, embedding_dim, device=device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            device = self.weight.device
            # A comparison instead of a write to a row: one kernel draws the table with its row of zeros.
            rows = Tensor.arange(self.num_embeddings, dtype=dt.int32, device=device).unsqueeze(1)
            self.weight.assign_((rows == self.padding_idx).where(0.0, self.weight.detach()))

    def _set_options(self, max_norm: Any, norm_type: float, scale_grad_by_freq: bool) -> None:
        name = type(self).__name__
        if max_norm is not None and not (isinstance(max_norm, int | float) and max_norm > 0):
            raise ValueError(f"{name}(max_norm={max_norm!r}): must be above 0: pass another value")
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq

    def _weight_for(self, x: Tensor) -> Tensor:
        """The table for these indices, with max_norm and scale_grad_by_freq applied."""
        if self.max_norm is not None:
            # the rows in the table itself are shortened, as in PyTorch, outside of the gradient
            limit_norms(x, self.weight, self.max_norm, self.norm_type)
        # the gradient of a row that is looked up k times is divided by k
        return by_frequency(self.weight, x) if self.scale_grad_by_freq else self.weight

    def _share(self, embeddings: Tensor, freeze: bool) -> Self:
        """Take these vectors as the weight, which shares their values."""
        self.weight = Parameter(embeddings.detach(), requires_grad=not freeze)
        return self

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class Embedding(_Table):
    """A table of vectors, looked up by integers; no gradient flows to row padding_idx. [...] -> [..., dim]

    num_embeddings: the number of vectors
    embedding_dim: the length of each vector
    padding_idx: the row that begins as 0 and gets no gradient
    max_norm: a vector that is looked up and is longer, by norm_type, is first shortened to it in the table
    norm_type: the p of that norm
    scale_grad_by_freq: divide a row's gradient by how often one call looks it up
    sparse: accepted and ignored: all gradients are dense
    _weight: the table, whose values the layer shares; _freeze: do not train it
    Raises ValueError if max_norm is not above 0, or _weight has other sizes.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        self._set_options(max_norm, norm_type, scale_grad_by_freq)
        self._setup((num_embeddings, embedding_dim), padding_idx, _weight, device)
        self.sparse = sparse
        if _freeze:
            self.weight.requires_grad_(False)
        cast_layer(self, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """A layer with these vectors as its weight, which is not trained if freeze. [n, dim]

        The other arguments are those of the layer. ValueError for other than 2 dims.
        """
        n, dim = two_dims(embeddings)
        layer = cls(
            n, dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, device=embeddings.device
        )
        return layer._share(embeddings, freeze)

    def forward(self, input: Tensor) -> Tensor:
        return embedding(input, self._weight_for(input), self.padding_idx)

    def extra_repr(self) -> str:
        longest = "" if self.max_norm is None else f", max_norm={self.max_norm}"
        return f"{super().extra_repr()}{longest}{', scale_grad_by_freq=True' * self.scale_grad_by_freq}"


class EmbeddingBag(_Table):
    """Vectors looked up and pooled bag by bag. [b, n] -> [b, dim]; [n], offsets [b] -> [b, dim]

    num_embeddings: the number of vectors
    embedding_dim: the length of each vector
    max_norm, norm_type, scale_grad_by_freq, sparse, _weight: as in Embedding
    mode: how a bag is pooled: "mean", "sum" or "max"
    include_last_offset: offsets [b + 1] also hold the end of the last bag
    padding_idx: the row that no bag counts and that gets no gradient
    Raises ValueError if max_norm is not above 0; if scale_grad_by_freq is given with mode "max".
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike | None = None,
        dtype: DTypeLike | None = None,
    ):
        if mode == "max" and scale_grad_by_freq:
            rule = "it can't scale a maximum: use mode='sum' or 'mean', or leave it out"
            raise ValueError(f"EmbeddingBag(mode='max', scale_grad_by_freq=True): {rule}")
        self._set_options(max_norm, norm_type, scale_grad_by_freq)
        self._setup((num_embeddings, embedding_dim), padding_idx, _weight, device)
        cast_layer(self, dtype)
        self.sparse = sparse
        self.mode, self.include_last_offset = mode, include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A layer with these vectors as its weight, which is not trained if freeze. [n, dim]

        The other arguments are those of the layer. ValueError for other than 2 dims.
        """
        n, dim = two_dims(embeddings)
        layer = cls(
            n,
            dim,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
            device=embeddings.device,
        )
        return layer._share(embeddings, freeze)

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        return embedding_bag(
            input,
            self._weight_for(input),
            offsets,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, mode={self.mode!r}"
