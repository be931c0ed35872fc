"""Batches: turns items into tensors, like default_collate and default_convert of torch.utils.data."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any

from flambeau.functions import stack
from flambeau.tensor import Tensor, tensor

from ..core.tree import is_dict, is_mapping, is_sequence, is_tuple, rebuild
from ..errors import TypeError, ValueError


def default_convert(data: Any) -> Any:
    """Convert arrays inside tuples, lists and dicts (`data`) to tensors; other values stay unchanged."""
    if isinstance(data, Tensor):
        return data
    if hasattr(data, "__array__") and hasattr(data, "dtype"):
        return tensor(data) if data.dtype.kind in "fiub" else data
    return _convert_inside(data, default_convert)


def default_collate(batch: list[Any]) -> Any:
    """Make a batch of n items: stack tensors, arrays and numbers to tensors [n, ...], list strings, and
    collate tuples, lists and dicts part by part. ValueError if shapes or keys differ, TypeError for other
    values."""
    first = batch[0]
    if isinstance(first, Tensor):
        if any(t.shape != first.shape for t in batch):
            shapes = ", ".join(sorted({str(list(t.shape)) for t in batch}))
            advice = "make them equal or pass your own collate_fn"
            raise ValueError(f"collate({len(batch)} items): shapes differ: {shapes}: {advice}")
        return stack(batch)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        _check_keys(batch)
        return {key: default_collate([item[key] for item in batch]) for key in batch[0]}
    if is_sequence(first):
        if any(len(item) != len(first) for item in batch):
            sizes = ", ".join(map(str, sorted({len(item) for item in batch})))
            advice = "make them equal or pass your own collate_fn"
            raise ValueError(f"collate({len(batch)} items): lengths differ: {sizes}: {advice}")
        parts = [default_collate(list(part)) for part in zip(*batch, strict=True)]
        return rebuild(first, parts)
    # before __array__: NumPy's float64 scalars are floats too, and become the default dtype
    if isinstance(first, bool | int | float):
        return tensor(batch)
    if hasattr(first, "__array__"):
        return default_convert(collate(batch))
    rule = "supports tensors, arrays, numbers, strings, tuples, lists and dicts: pass your own collate_fn"
    raise TypeError(f"collate({type(first).__name__}): {rule}")


def collate(items: list[Any]) -> Any:
    """Stack n items to arrays [n, ...]: a tuple of arrays for tuples, a dict for dicts, else one array.

    As a loader's collate_fn it gives NumPy arrays in place of tensors. ValueError if shapes or keys
    differ.
    """
    import numpy as np

    first = items[0]
    if isinstance(first, tuple):
        return tuple(collate(list(part)) for part in zip(*items, strict=True))
    if is_dict(first):
        _check_keys(items)
        return {key: collate([item[key] for item in items]) for key in items[0]}
    try:
        return np.stack([i.numpy() if hasattr(i, "numpy") else np.asarray(i) for i in items])
    except builtins.ValueError:
        shapes = ", ".join(sorted({str(list(np.shape(i))) for i in items}))
        advice = "make them equal or pass your own collate_fn"
        raise ValueError(f"collate({len(items)} items): shapes differ: {shapes}: {advice}") from None


def _check_keys(items: list[Any]) -> None:
    """Raise ValueError if dicts have different keys: an additional key would be dropped silently."""
    if differ := sorted({str(key) for item in items for key in item.keys() ^ items[0].keys()}):
        problem = f"some items lack {', '.join(map(repr, differ))}"
        advice = "use the same keys in each or pass your own collate_fn"
        raise ValueError(f"collate({len(items)} items): {problem}: {advice}")


def _convert_inside(data: Any, change: Callable[[Any], Any]) -> Any:
    if is_mapping(data):
        return {key: change(value) for key, value in data.items()}
    # Subclasses other than named tuples may need constructor arguments, so they do not change.
    is_plain = type(data) in (tuple, list) or (is_tuple(data) and hasattr(data, "_fields"))
    return rebuild(data, map(change, data)) if is_plain else data
