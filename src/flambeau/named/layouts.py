"""Rules of operations with a fixed layout: named dims are put where the operation has them, and put back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from ..core.tree import is_dict, rebuild
from ..errors import TypeError, ValueError
from ..tensor import Tensor
from .names import aligned, checked, ordered, place, places, run, union
from .tensor import named

Function = Callable[..., Any]
Args = tuple[Any, ...]
Keywords = Mapping[str, Any]
CHANNEL = "channel"  # the name of the dim of channels, unless the argument `channel` gives another
# operations that need a dim of channels; of those that are not listed, it is a dim as others
WITH_CHANNELS = re.compile(
    "conv|(batch|instance|group)_norm|local_response|shuffle|interpolate|upsample|dropout|unpool"
)


def _first(call: str, args: Args) -> Any:
    if not args or not hasattr(args[0], "names"):
        raise TypeError(f"{call}: the first argument has no names: write fb.named.tensor(x, names)")
    return args[0]


def permute(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """permute: the dims in another order, by names."""
    x, *names = args
    first: Any = names[0] if names else None
    flat: Any = first if len(names) == 1 and not isinstance(first, str) else names
    places(x, flat, call)
    return x.order(*flat)


def transpose(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """transpose: two dims change places."""
    x, a, b = args
    i, j = place(x, a, call), place(x, b, call)
    names = list(x.names)
    names[i], names[j] = names[j], names[i]
    return x.order(*names)


def squeeze(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """squeeze: the tensor without these dims, or without all that have size 1."""
    x, *dims = args
    dims = dims or [n for n, size in x.sizes.items() if size == 1]
    places(x, dims, call)
    wrong = [n for n in dims if x.sizes[n] != 1]
    if wrong:
        raise ValueError(f"{call}: {wrong[0]!r} has size {x.sizes[wrong[0]]}: only dims of size 1 go")
    rest = [n for n in x.names if n not in dims]
    return named(x.tensor.reshape(*(x.sizes[n] for n in rest)), rest)


def unsqueeze(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """unsqueeze: a new dim of size 1 in front."""
    x, new = args
    return named(x.tensor.unsqueeze(0), checked([new, *x.names], x.ndim + 1, call))


def pad(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """pad: x.pad({"row": (1, 1)}), elements before and after a dim."""
    x = _first(call, args)
    amounts = args[1] if len(args) > 1 else None
    if not is_dict(amounts):
        raise TypeError(
            f"{call}: amounts by name are missing: write x.pad({{{(x.names or ('row',))[0]!r}: (1, 1)}})"
        )
    places(x, tuple(amounts), call)
    rest = [n for n in x.names if n not in amounts]
    order = [*rest, *amounts]
    pairs = [n for name in reversed(list(amounts)) for n in amounts[name]]
    t = run(function, call, [ordered(x, order), pairs, *args[2:]], kw)
    return named(t, order).order(*x.names)


def unfold(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """unfold: windows of a dim along a new last dim: x.unfold("time", 4, 2, "window")."""
    x = _first(call, args)
    if len(args) != 5:
        rule = "takes a name, size, step and a new name: write x.unfold('time', 4, 2, 'window')"
        raise TypeError(f"{call}: {rule}")
    _, dim, size, step, new = args
    names = checked([*x.names, new], x.ndim + 1, call)
    return named(run(x.tensor.unfold, call, [place(x, dim, call), size, step], {}), names)


def normalise(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """layer_norm, rms_norm: over one name or several; weight and bias have these names or are plain."""
    x = _first(call, args)
    dims = args[1] if len(args) > 1 else kw.get("normalized_shape")
    if dims is None:
        raise TypeError(f"{call}: the dims are missing: write x.{name}({x.names[-1]!r})")
    dims = (dims,) if isinstance(dims, str) else tuple(dims)
    places(x, dims, call)
    rest = [n for n in x.names if n not in dims]
    shape = tuple(x.sizes[n] for n in dims)
    others = [ordered(v, dims) if hasattr(v, "names") else v for v in args[2:]]
    words = {
        k: ordered(v, dims) if hasattr(v, "names") else v for k, v in kw.items() if k != "normalized_shape"
    }
    t = run(function, call, [ordered(x, [*rest, *dims]), shape, *others], words)
    return named(t, [*rest, *dims]).order(*x.names)


class _Layout(NamedTuple):
    """How a named tensor lies: other dims, joined in front, then the channel, then those of space."""

    others: tuple[str, ...]
    channel: tuple[str, ...]
    space: tuple[str, ...]
    sizes: Mapping[str, int]

    def laid(self, x: Any) -> Tensor:
        """The plain tensor with one dim, or none, for all others."""
        t = ordered(x, [*self.others, *self.channel, *self.space])
        most = 1 if self.channel else 2
        if len(self.others) > most:
            joined = prod(self.sizes[n] for n in self.others[: len(self.others) - most + 1])
            t = t.reshape(joined, *t.shape[len(self.others) - most + 1 :])
        return t if self.channel or self.others else t.unsqueeze(0)

    def named(self, t: Tensor, order: Sequence[str]) -> Any:
        """The result with names, in the order that the tensor had."""
        tail = [*self.channel, *self.space]
        sizes = [self.sizes[n] for n in self.others]
        t = t.reshape(*sizes, *t.shape[t.ndim - len(tail) :])
        return named(t, [*self.others, *tail]).order(*order)


def spatial(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """Convolutions, pooling, resizing, norms of channels: `dims` names those of space, `channel` the
    channels. All other dims are batches."""
    x, words = _first(call, args), dict(kw)
    takes_channel = WITH_CHANNELS.search(name) is not None
    channel = words.pop("channel", CHANNEL)
    space = words.pop("dims", None)
    count = re.search(r"(\d)d$", name)
    if space is None:
        rule = "the dims of space are missing: write dims=('row', 'column')"
        if count or name != "batch_norm":
            raise TypeError(f"{call}: {rule}")
        space = tuple(n for n in x.names[1:] if n != channel)
    space = (space,) if isinstance(space, str) else tuple(space)
    if count and len(space) != int(count[1]):
        raise ValueError(f"{call}: {len(space)} dims of space are given: name {count[1]}")
    places(x, [*([channel] if takes_channel else []), *space], call)
    layout = _Layout(
        tuple(n for n in x.names if n not in space and not (takes_channel and n == channel)),
        (channel,) if takes_channel else (),
        space,
        x.sizes,
    )
    operands = [layout.laid(v) if v is x else _weight(v, x, layout) for v in args]
    words = {k: _weight(v, x, layout) for k, v in words.items()}
    alone = takes_channel and not layout.others and not name.startswith("conv")
    operands[0] = operands[0].unsqueeze(0) if alone else operands[0]
    result = run(function, call, operands, words)
    return _each(result, lambda t: layout.named(t.squeeze(0) if alone else t, x.names))


def _each(result: Any, f: Callable[[Tensor], Any]) -> Any:
    return rebuild(result, [f(t) for t in result]) if isinstance(result, tuple) else f(result)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _weight(value: Any, x: Any, layout: _Layout) -> Any:
    """An argument beside the tensor: indices with its dims lie as it does, others have PyTorch's layout."""
    if not hasattr(value, "names"):
        return value
    return layout.laid(value) if set(value.names) == set(x.names) else value.tensor


def class_loss(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """cross_entropy, nll_loss: `dim` names the classes; the target has the other dims, or all."""
    x, words = _first(call, args), dict(kw)
    dim = words.pop("dim", None)
    if dim is None:
        raise TypeError(f"{call}: the dim of classes is missing: write dim={x.names[-1]!r}")
    place(x, dim, call)
    target = args[1] if len(args) > 1 else words.pop("target", None)
    rest = [n for n in x.names if n != dim]
    order = [*rest[:1], dim, *rest[1:]]
    if not hasattr(target, "names") or set(target.names) not in (set(rest), set(x.names)):
        has = ", ".join(map(repr, rest))
        raise ValueError(f"{call}: the target needs the dims {has or 'of none'}: name them")
    own = order if dim in target.names else rest
    union([x, target], call)
    others = [v.tensor if hasattr(v, "names") else v for v in args[2:]]
    words = {k: v.tensor if hasattr(v, "names") else v for k, v in words.items()}
    t = run(function, call, [ordered(x, order), ordered(target, own), *others], words)
    return named(t, rest if t.ndim else ())


def _prelu(x: Tensor, weight: Tensor) -> Tensor:
    return x.clamp_min(0) + weight * x.clamp_max(0)


def prelu(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """prelu: a weight of one element, or with names of the tensor."""
    x, weight = args
    if hasattr(weight, "names"):
        names = union([x, weight], call)
        return named(run(_prelu, call, [ordered(x, names), aligned(weight, names)], {}), names)
    return named(run(function, call, [x.tensor, weight], kw), x.names)


def embedding(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """embedding: the indices' dims, then the second of the table's."""
    x, table = args[:2]
    if not hasattr(table, "names") or not hasattr(x, "names") or table.ndim != 2:
        rule = "takes named indices and a table of two named dims: write fb.named.tensor(x, names)"
        raise TypeError(f"{call}: {rule}")
    names = checked([*x.names, table.names[1]], x.ndim + 1, call)
    return named(run(function, call, [x.tensor, table.tensor, *args[2:]], kw), names)


def one_hot(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """one_hot: x.one_hot({"class": 10}), a new last dim."""
    x = _first(call, args)
    if len(args) != 2 or not is_dict(args[1]) or len(args[1]) != 1:
        raise TypeError(f"{call}: one size by name is missing: write x.one_hot({{'class': 10}})")
    ((new, count),) = args[1].items()
    return named(run(function, call, [x.tensor, count], {}), checked([*x.names, new], x.ndim + 1, call))


def attention(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """scaled_dot_product_attention: `query` and `key` name the positions, `feature` what is summed; all
    other dims are batches, which query, key and value have. The value may call its last dim `value`."""
    q, k, v = args[:3]
    words = dict(kw)
    at_query, at_key = words.pop("query", "query"), words.pop("key", "key")
    feature, value = words.pop("feature", "feature"), words.pop("value", "feature")
    for t, needed in ((q, (at_query, feature)), (k, (at_key, feature)), (v, (at_key, value))):
        places(t, needed, call)
    batch = [n for n in q.names if n not in (at_query, feature)]
    for t, own in ((k, (at_key, feature)), (v, (at_key, value))):
        if set(t.names) - set(own) != set(batch):
            rule = f"give query, key and value the same dims {', '.join(map(repr, batch))} besides"
            raise ValueError(f"{call}: {', '.join(map(repr, t.names))} are other batches: {rule}")
    union([q, k], call)
    union([k, v if value == "value" else v.rename({value: "value"})], call)
    mask: Any = words.get("attn_mask")
    if hasattr(mask, "names"):
        words["attn_mask"] = aligned(mask, (*batch, at_query, at_key))
    tensors = [ordered(q, [*batch, at_query, feature]), ordered(k, [*batch, at_key, feature])]
    t = run(function, call, [*tensors, ordered(v, [*batch, at_key, value]), *args[3:]], words)
    return named(t, [*batch, at_query, value])


def looked_up(name: str, function: Function, call: str, args: Args, kw: Keywords) -> Any:
    """bucketize, isin: each element is looked up in a 1-d tensor, with names or without."""
    x = _first(call, args)
    other = args[1].tensor if hasattr(args[1], "names") else args[1]
    return named(run(function, call, [x.tensor, other, *args[2:]], kw), x.names)
