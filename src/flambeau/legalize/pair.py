"""Values of two words an element, as kernels compute them: each word by itself, or both side by side.

What is said here holds for every pair; integers.py knows what words of 64 bits mean.
"""

from collections.abc import Callable
from typing import Any, Self, TypeVar

from ..core import op as _op
from ..core.dtype import DTYPES, DType
from ..core.node import Node
from ..core.op import OPS, Op, apply
from ..core.shape import Shape

Words = tuple[Any, Any]  # tensors


def _packed(xp: Any, low: Any, high: Any) -> Any:
    return xp.stack([low, high], axis=-1)


def _packed_shape(low: Shape, high: Shape) -> Shape:
    return (*low, 2)


PACK = Op(
    "pair",
    xp=_packed,
    shape=_packed_shape,
    doc="two words of an element side by side",
    name="pack",
)


def tensor_of(node: Node) -> Any:
    """A node as a tensor, on which rules are written."""
    return _op.Tensor(node)


def applied(name: str, *inputs: Any, **attrs: Any) -> Any:
    """An op of the table by its name, of tensors as they are."""
    return tensor_of(apply(OPS[name], tuple([x.node for x in inputs]), attrs))


class Pair:
    """A value of a dtype of pairs: `words`, two tensors of its shape, or `packed`, one with a last dim of 2,
    which is how a buffer holds it. Each is made of the other when it is asked for."""

    def __init__(self, dtype: DType, shape: Shape, words: Words | None = None, packed: Any = None):
        self.dtype, self.shape = dtype, shape
        self.word = DTYPES[dtype.word]
        self._words, self._packed = words, packed

    @property
    def words(self) -> Words:
        """The word of the lower address and the other."""
        if self._words is None:
            packed = self._packed
            self._words = packed.select(-1, 0), packed.select(-1, 1)
        return self._words

    @property
    def packed(self) -> Any:
        """Both words side by side. [..., 2]"""
        if self._packed is None:
            low, high = (x if x.shape == self.shape else x.expand(*self.shape) for x in self.words)
            self._packed = tensor_of(apply(PACK, (low.node, high.node), {}))
        return self._packed

    @property
    def has_words(self) -> bool:
        """Whether the words are there, by themselves or side by side."""
        return self._words is not None or self._packed is not None

    @property
    def is_packed(self) -> bool:
        """Whether the words lie side by side already."""
        return self._packed is not None

    def stored(self) -> Self:
        """The value as a root has it: packed, and a copy where that is there already."""
        packed = self.packed
        return self.repacked(packed if packed.node.buffer is None else packed.detach())

    @property
    def node(self) -> Node:
        """A node that stands for the value where only one can."""
        return (self._packed if self._words is None else self._words[0]).node

    def nodes(self) -> list[Node]:
        """All nodes that the value is."""
        words = [] if self._words is None else [x.node for x in self._words]
        return words if self._packed is None else [*words, self._packed.node]

    def of(self, words: Words) -> Self:
        """A value of the same kind."""
        return type(self)(self.dtype, words[0].shape, words)

    def mapped(self, f: Callable[[Any], Any]) -> Self:
        """f of each word: of what moves elements, or picks them, or puts zeros between."""
        low, high = self.words
        return self.of((f(low), f(high)))

    def repacked(self, packed: Any) -> Self:
        """A value of the same kind, of words that lie side by side."""
        return type(self)(self.dtype, packed.shape[:-1], packed=packed)


AnyPair = TypeVar("AnyPair", bound=Pair)
# Movement ops of what lies in pairs: their attributes with the last dim of 2. Windows would come behind it.
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


def moved(x: AnyPair, name: str, **attrs: Any) -> AnyPair:
    """A movement op of a pair: of both words at once where they lie side by side."""
    if x.is_packed and name in BEHIND:
        lead = len(attrs["shape"]) - len(x.shape) if name == "expand" else 0
        packed = x.packed
        if lead:  # the dims that an expand adds come before all
            packed = packed.reshape(*(1,) * lead, *packed.shape)
        return x.repacked(applied(name, packed, **BEHIND[name](attrs)))
    return x.mapped(lambda word: applied(name, word, **attrs))


def gathered(x: AnyPair, index: Any, dim: int) -> AnyPair:
    """Elements by index along a dim: each word by itself, so that a thread reads an index once for both."""
    return x.mapped(lambda word: applied("_gather", word, index, dim=dim))
