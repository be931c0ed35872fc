"""vmap: vectorises a function of one example over a batch."""

import functools
from collections.abc import Callable
from typing import Any

from ..core.node import describe
from ..core.op import COMPOSED
from ..core.shape import normal_dim
from ..core.tree import Branch, is_dict, is_sequence, is_tuple, leaves, like, tree_map
from ..errors import TypeError, ValueError
from ..tensor import Tensor
from .batching import RANDOMNESS, Batch

__all__ = ["vmap"]


def vmap(
    func: Callable[..., Any],
    in_dims: int | tuple[Any, ...] | None = 0,
    out_dims: int | tuple[Any, ...] | None = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Vectorise `func` over a dim of its arguments.

    in_dims: the dim of each argument, None for shared arguments; a single value, or the containers of the
    arguments. out_dims: the dim of the examples in the results. randomness: "error" raises for random
    numbers, "different" draws separately for each example, "same" shares the draws. chunk_size: the number of
    examples computed at a time. Keyword arguments are mapped over dim 0. The function is traced once with an
    example that has no value, so it can't read values. ValueError if dims or sizes do not match,
    FlambeauError if the function reads values.
    """
    if randomness not in RANDOMNESS:
        choices = ", ".join(map(repr, RANDOMNESS))
        raise ValueError(f"vmap(randomness={randomness!r}): unknown: use one of {choices}")
    if chunk_size is not None and chunk_size < 1:
        raise ValueError(f"vmap(chunk_size={chunk_size}): a chunk has at least one example")

    @functools.wraps(func)
    def call(*args: Any, **kw: Any) -> Any:
        arguments = (args, kw)
        if any(isinstance(a, Branch) for a in (*args, *kw.values())):
            rule = "named tensors have no dims by position: their operations take any other dims along"
            raise TypeError(f"vmap(...): {rule}: call the function itself")
        # keyword arguments: tensors are mapped, other objects shared
        dims = (_dims(in_dims, args), tree_map(lambda x: 0 if isinstance(x, Tensor) else None, kw))
        pairs = [_move_dim(x, d) for x, d in zip(leaves(arguments), _leaves(arguments, dims), strict=True)]
        size = _size(pairs)
        if chunk_size is None or chunk_size >= size:
            # Chunks limit the memory: each is traced, computed and freed by itself.
            return _map_batch(func, arguments, pairs, size, (out_dims, randomness))
        parts: list[Any] = []
        for start in range(0, size, chunk_size):
            n = min(chunk_size, size - start)
            chunk = [(x if d is None else x.narrow(d, start, n), d) for x, d in pairs]
            parts.append(_map_batch(func, arguments, chunk, n, (out_dims, randomness)))
        return _join(parts, out_dims)

    return call


def _dims(in_dims: int | tuple[Any, ...] | None, args: tuple[Any, ...]) -> Any:
    """Return in_dims as one entry per argument."""
    if not is_sequence(in_dims):
        return tuple(in_dims for _ in args)
    if len(in_dims) != len(args):
        raise ValueError(f"vmap(in_dims={in_dims!r}): {len(args)} arguments: pass one for each")
    return tuple(in_dims)


def _leaves(tree: Any, dims: Any) -> list[Any]:
    """Return the dim of each leaf of a tree. The dim of a container applies to all its leaves."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(leaves(tree))
    if is_dict(tree) and is_dict(dims) and tree.keys() == dims.keys():
        return [d for k, v in tree.items() for d in _leaves(v, dims[k])]
    if is_sequence(tree) and is_sequence(dims) and len(tree) == len(dims):
        return [d for v, w in zip(tree, dims, strict=True) for d in _leaves(v, w)]
    raise ValueError(f"vmap(...): dims {dims!r} do not match the structure of {describe(tree)}")


def _move_dim(x: Any, dim: int | None) -> tuple[Any, int | None]:
    """Return (argument, its nonnegative dim); the dim is None for a shared argument or another object."""
    if dim is None:
        return x, None
    if not isinstance(x, Tensor):
        raise ValueError(f"vmap(...): in_dims is {dim} for {describe(x)}, which is not a tensor: pass None")
    if not -x.ndim <= dim < x.ndim:
        raise ValueError(f"vmap(...): in_dims is {dim} for {describe(x)}, which has {x.ndim} dims")
    return x, normal_dim(dim, x.ndim)


def _size(pairs: list[tuple[Any, int | None]]) -> int:
    mapped = [(x, d) for x, d in pairs if d is not None]
    sizes = {x.shape[d] for x, d in mapped}
    if not sizes:
        raise ValueError("vmap(...): no argument is mapped: pass at least one in_dims that is not None")
    if len(sizes) > 1:
        shapes = describe([x for x, _ in mapped])
        raise ValueError(f"vmap(...): sizes of the mapped dims differ: {sorted(sizes)} of {shapes}")
    return sizes.pop()


def _map_batch(
    func: Callable[..., Any], arguments: Any, pairs: list[Any], size: int, options: tuple[Any, str]
) -> Any:
    out_dims, randomness = options
    batch = Batch(size, randomness)
    args, kw = like(arguments, [x if d is None else batch.example(x, d) for x, d in pairs])
    out = func(*args, **kw)
    outputs = leaves(out)
    for y in outputs:
        if not isinstance(y, Tensor):
            raise TypeError(f"vmap(...): the function returned {describe(y)}: return tensors")
    dims = _leaves(out, _repeat_for_each(out_dims, out))
    return like(out, [_put(batch, y, d) for y, d in zip(outputs, dims, strict=True)])


def _repeat_for_each(out_dims: int | tuple[Any, ...] | None, out: Any) -> Any:
    """Return out_dims as one entry per result; a tuple of one also fits a single result."""
    if is_tuple(out_dims) and len(out_dims) == 1 and isinstance(out, Tensor):
        return out_dims[0]
    return out_dims


def _put(batch: Batch, y: Tensor, dim: int | None) -> Tensor:
    if dim is not None:
        return batch.all_of(y).movedim(0, dim)
    if batch.batch_node(y.node) is not None:  # the result depends on an example
        raise ValueError(f"vmap(out_dims=None): the result {describe(y)} is not the same for all examples")
    return y


def _join(parts: list[Any], out_dims: int | tuple[Any, ...] | None) -> Any:
    first = parts[0]
    dims = _leaves(first, _repeat_for_each(out_dims, first))
    columns = zip(*map(leaves, parts), strict=True)
    return like(  # a shared result is the same in each chunk
        first, [c[0] if d is None else COMPOSED["cat"](c, d) for c, d in zip(columns, dims, strict=True)]
    )
