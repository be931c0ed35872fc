"""Layer: a layer of `nn` between named dims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import prod
from typing import Any

from ..errors import ValueError
from ..nn import Module
from ..tensor import Tensor, tensor
from .names import checked, ordered, places, run, shown_call
from .tensor import NamedTensor, named


class Layer(Module):
    """A layer of `nn` whose dims have names: Layer(nn.Linear(784, 10), "pixel", "class").

    The named dims become the last ones, in this order, and the layer is called with the plain tensor. The
    state dict has the layer's tensors under "layer." and the names under "_extra_state", as the bytes of a
    JSON text.

    layer: the layer; it returns one tensor
    takes: the names of its last dims, one or several
    gives: the names of the result's last dims; by default the same
    batch: join all other dims to this many, for layers that need a number of dims, as Conv2d with 1
    Raises ValueError if a name occurs twice, or load_state_dict gets other names.
    """

    def __init__(
        self,
        layer: Module,
        takes: str | Sequence[str],
        gives: str | Sequence[str] = "",
        batch: int | None = None,
    ):
        super().__init__()
        self.layer, self.batch = layer, batch
        self.takes = _names(takes, "takes")
        self.gives = _names(gives, "gives") if gives else self.takes

    def forward(self, x: NamedTensor) -> Any:
        """The layer's result, with the other dims in front.

        x: a tensor that has the dims of `takes`
        """
        call = shown_call(f"{type(self.layer).__name__} of {' '.join(self.takes)}", [x])
        places(x, self.takes, call)
        others = [n for n in x.names if n not in self.takes]
        names = checked([*others, *self.gives], len(others) + len(self.gives), call)
        t = ordered(x, [*others, *self.takes])
        if self.batch is not None:
            t = _joined(t, len(others), self.batch)
        y: Tensor = run(self.layer, call, [t], {})
        sizes = [x.sizes[n] for n in others]
        if self.batch is not None:
            y = y.reshape(*sizes, *y.shape[y.ndim - len(self.gives) :])
        return named(y, names)

    def get_extra_state(self) -> Tensor:
        """The names, as bytes of a text."""
        text = json.dumps({"takes": self.takes, "gives": self.gives})
        return tensor(list(text.encode()), dtype="uint8", device="cpu")

    def set_extra_state(self, state: Any) -> None:
        """Check that a state dict has this layer's names.

        state: what get_extra_state returned
        Raises ValueError for other names.
        """
        saved = json.loads(bytes(tensor(state).tolist()))
        own = {"takes": [*self.takes], "gives": [*self.gives]}
        if saved != own:
            raise ValueError(
                f"load_state_dict: {_arrow(saved)} are the saved names: this layer has {_arrow(own)}"
            )


def _names(names: str | Sequence[str], word: str) -> tuple[str, ...]:
    dims = tuple(names.split()) if isinstance(names, str) else tuple(names)
    return checked(dims, len(dims), f"Layer({word}={names!r})")


def _arrow(names: dict[str, list[str]]) -> str:
    return f"{' '.join(names['takes'])} -> {' '.join(names['gives'])}"


def _joined(t: Tensor, count: int, wanted: int) -> Tensor:
    """The first `count` dims as `wanted` ones."""
    if count == wanted:
        return t
    if count < wanted:
        return t.reshape(*[1] * (wanted - count), *t.shape)
    ends = count - wanted + 1
    return t.reshape(*(() if not wanted else (prod(t.shape[:ends]), *t.shape[ends:count])), *t.shape[count:])
