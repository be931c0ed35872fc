"""Tensors whose dims have names, and einops' words for tensors without. See docs/named.md."""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..errors import suggest
from .einops_backend import use_einops
from .layer import Layer
from .patterns import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack
from .rules import REFUSED, RULES, call
from .tensor import NamedTensor, tensor

__all__ = [
    "Layer",
    "NamedTensor",
    "einsum",
    "pack",
    "parse_shape",
    "rearrange",
    "reduce",
    "repeat",
    "tensor",
    "unpack",
    "use_einops",
]


def __getattr__(name: str) -> Callable[..., Any]:
    """An operation of named tensors: fb.named.cat, fb.named.conv2d."""
    if name in RULES or name in REFUSED:
        return partial(call, name)
    raise AttributeError(f"module 'flambeau.named' has no {name!r}{suggest(name, RULES)}")
