"""Represents values of two words an element for the rewriting to 32-bit words.

This module holds for all pairs. integers.py and complex_numbers.py define what the words mean.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from ..core import op as _op
from ..core.dtype import DTYPES, DType
from ..core.node import Node
from ..core.op import OPS, Op, apply
from ..core.shape import Shape

Words = tuple[Any, Any]  # tensors


def _pack(xp: Any, low: Any, high: Any) -> Any:
    return xp.stack([low, high], axis=-1)


def _packed_shape(low: Shape, high: Shape) -> Shape:
    return (*low, 2)


PACK = Op(
    "pair",
    xp=_pack,
    shape=_packed_shape,
    doc="two words of an element side by side",
    name="pack",
)


def tensor_of(node: Node) -> Any:
    """A node as a tensor, so that rules are written with tensor ops."""
    return _op.Tensor(node)


def call_op(name: str, *inputs: Any, **attrs: Any) -> Any:
    """Call an op of the table by its name, without the checks and promotions of the public op."""
    return tensor_of(apply(OPS[name], tuple([x.node for x in inputs]), attrs))


class Pair:
    """A value of a dtype of pairs: `words`, two tensors of its shape, or `packed`, one with a last dim of 2,
    as in a buffer. Each is computed from the other when it is first read."""

    def __init__(self, dtype: DType, shape: Shape, words: Words | None = None, packed: Any = None):
        self.dtype, self.shape = dtype, shape
        self.word = DTYPES[dtype.word]
        self._words, self._packed = words, packed

    @property
    def words(self) -> Words:
        """The word at the lower address, then the other."""
        if self._words is None:
            packed = self._packed
            self._words = packed.select(-1, 0), packed.select(-1, 1)
        return self._words

    @property
    def packed(self) -> Any:
        """Both words side by side. [..., 2]"""
        if self._packed is None:
            # A word may be a broadcast constant; PACK interleaves words of equal shapes.
            low, high = (x if x.shape == self.shape else x.expand(*self.shape) for x in self.words)
            self._packed = tensor_of(apply(PACK, (low.node, high.node), {}))
        return self._packed

    @property
    def has_words(self) -> bool:
        """Whether the value has words, apart or side by side; otherwise a subclass derives them."""
        return self._words is not None or self._packed is not None

    @property
    def is_packed(self) -> bool:
        """Whether the words are adjacent already."""
        return self._packed is not None

    def as_root(self) -> Self:
        """The value as a root: packed, and copied if it is a buffer already."""
        packed = self.packed
        return self.with_packed(packed if packed.node.buffer is None else packed.detach())

    @property
    def node(self) -> Node:
        """One node that represents the value, for order and readers; `nodes` gives all of them."""
        return (self._packed if self._words is None else self._words[0]).node  # the low word comes first

    def nodes(self) -> list[Node]:
        """All nodes that hold the value."""
        words = [] if self._words is None else [x.node for x in self._words]
        return words if self._packed is None else [*words, self._packed.node]

    def of(self, words: Words) -> Self:
        """A value of the same class and dtype with other words."""
        return type(self)(self.dtype, words[0].shape, words)

    def map_words(self, f: Callable[[Any], Any]) -> Self:
        """f applied to each word. f may move or select elements and insert zeros, but not compute."""
        low, high = self.words
        return self.of((f(low), f(high)))

    def with_packed(self, packed: Any) -> Self:
        """A value of the same class and dtype with words side by side. [..., 2]"""
        return type(self)(self.dtype, packed.shape[:-1], packed=packed)


AnyPair = TypeVar("AnyPair", bound=Pair)
# Attributes of movement ops for a packed tensor, which has one more dim, of 2, at the end. `_windows` is
# missing: it adds dims at the end, so that the words would no longer be innermost.
BEHIND: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "reshape": lambda attrs: {"shape": (*attrs["shape"], 2)},
    "permute": lambda attrs: {"dims": (*attrs["dims"], len(attrs["dims"]))},
    "expand": lambda attrs: {"shape": (*attrs["shape"], 2)},
    "_slice": lambda attrs: {
        "starts": (*attrs["starts"], 0),
        "steps": (*attrs["steps"], 1),
        "shape": (*attrs["shape"], 2),
    },
    "_pad": lambda attrs: {"before": (*attrs["before"], 0), "after": (*attrs["after"], 0)},
    "detach": dict,
}


def move(x: AnyPair, name: str, **attrs: Any) -> AnyPair:
    """Apply a movement op to a pair, at once if its words are adjacent."""
    if x.is_packed and name in BEHIND:
        lead = len(attrs["shape"]) - len(x.shape) if name == "expand" else 0
        packed = x.packed
        if lead:  # the dims that an expand adds come before all
            packed = packed.reshape(*(1,) * lead, *packed.shape)
        return x.with_packed(call_op(name, packed, **BEHIND[name](attrs)))
    return x.map_words(lambda word: call_op(name, word, **attrs))


def gather(x: AnyPair, index: Any, dim: int) -> AnyPair:
    """Gather elements along a dim. Word by word: the two gathers fuse into one kernel, which reads an index
    once."""
    return x.map_words(lambda word: call_op("_gather", word, index, dim=dim))
