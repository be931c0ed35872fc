"""torch.utils.data's default_collate and default_convert: items become batches, by a table of types."""

import copy
from collections.abc import Callable, Iterable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from ..core.dtype import float64
from ..core.tree import is_mapping, is_row, is_tuple
from ..functions import as_tensor, stack
from ..tensor import Tensor, tensor

Collate = Callable[..., Any]


def _is_array(value: Any) -> bool:
    """Whether a value is NumPy's array or scalar of numbers."""
    return value.__class__.__module__ == "numpy" and hasattr(value, "dtype")


def _is_named(value: Any) -> bool:
    return is_tuple(value) and hasattr(value, "_fields")


def _mapping_like(first: Any, pairs: dict[Any, Any]) -> Any:
    """A mapping of the type of `first` with other values; a dict if the type can't be built from them."""
    try:
        if issubclass(first.__class__, MutableMapping):
            clone: Any = copy.copy(first)
            clone.update(pairs)
            return clone
        return type(first)(pairs)
    except TypeError:
        return pairs


def _sequence_like(first: Any, values: list[Any]) -> Any:
    """A sequence of the type of `first` with other values: a list for tuples, as PyTorch has it."""
    if _is_named(first):
        return type(first)(*values)
    if isinstance(first, tuple):
        return values
    try:
        if issubclass(first.__class__, MutableSequence):
            clone: Any = copy.copy(first)
            clone[:] = values
            return clone
        return type(first)(values)
    except TypeError:
        return values


def default_convert(data: Any) -> Any:
    """Convert NumPy's arrays inside sequences and mappings to tensors. Other values do not change."""
    if isinstance(data, Tensor):
        return data
    if _is_array(data):
        return as_tensor(data) if data.dtype.kind in "fiubc" else data
    if is_mapping(data):
        return _mapping_like(data, {key: default_convert(value) for key, value in data.items()})
    if is_row(data) and not isinstance(data, str | bytes):
        return _sequence_like(data, [default_convert(value) for value in data])
    return data


def collate(batch: Any, *, collate_fn_map: Mapping[Any, Collate] | None = None) -> Any:
    """Make a batch of n items: with the entry for their type in `collate_fn_map`, else part by part.

    RuntimeError for sequences of different lengths, TypeError for types without an entry.
    """
    first = batch[0]
    table = collate_fn_map or {}
    kind = first.__class__
    chosen = table.get(kind) or next((f for types, f in table.items() if isinstance(first, types)), None)
    if chosen is not None:
        return chosen(batch, collate_fn_map=collate_fn_map)

    def collate_part(items: Iterable[Any]) -> Any:
        return collate(list(items), collate_fn_map=collate_fn_map)

    if is_mapping(first):
        return _mapping_like(first, {key: collate_part(item[key] for item in batch) for key in first})
    if is_row(first):
        if not _is_named(first) and any(len(item) != len(first) for item in batch):
            rule = "each element in list of batch should be of equal size"
            raise RuntimeError(f"collate({len(batch)} items): {rule}: pass your own collate_fn")
        return _sequence_like(first, [collate_part(part) for part in zip(*batch, strict=False)])
    kinds = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists"
    raise TypeError(f"{kinds}; found {kind}: pass your own collate_fn")


def collate_tensor_fn(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    """Stack tensors [...] to [n, ...]. RuntimeError if shapes differ."""
    if len({tuple(t.shape) for t in batch}) > 1:
        sizes = ", ".join(sorted({str(list(t.shape)) for t in batch}))
        raise RuntimeError(
            f"stack expects each tensor to be equal size, but got {sizes}: pass your own collate_fn"
        )
    return stack(list(batch), 0)


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """Stack arrays to a tensor. TypeError for arrays of strings or objects."""
    if batch[0].dtype.kind in "SUO":
        kinds = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists"
        raise TypeError(f"{kinds}; found {batch[0].dtype}: pass your own collate_fn")
    return collate([as_tensor(b) for b in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    """NumPy's scalars of one dtype become a tensor [n] of that dtype."""
    return stack([as_tensor(b) for b in batch])


def collate_float_fn(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    """Floats become a tensor [n] of float64."""
    return tensor(list(batch), dtype=float64)


def collate_int_fn(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    """Integers become a tensor [n]."""
    return tensor(list(batch))


def collate_str_fn(batch: Any, *, collate_fn_map: Any = None) -> Any:
    """Strings stay a list."""
    return batch


def _default_map() -> dict[Any, Collate]:
    import numpy as np

    return {
        Tensor: collate_tensor_fn,
        np.ndarray: collate_numpy_array_fn,
        (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
        float: collate_float_fn,
        int: collate_int_fn,
        str: collate_str_fn,
        bytes: collate_str_fn,
    }


default_collate_fn_map: dict[Any, Collate] = _default_map()


def default_collate(batch: Any) -> Any:
    """Make a batch of n items: stack tensors and arrays to tensors [n, ...], numbers to tensors [n], list
    strings, and collate sequences and mappings part by part."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
