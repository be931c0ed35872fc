"""einops' words for tensors: rearrange, reduce, repeat, einsum, pack, unpack."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from string import ascii_letters
from typing import Any, NamedTuple

from .. import functions
from ..errors import TypeError, ValueError
from ..tensor import Tensor
from .names import ordered, shown_call
from .tensor import METHODS, named

Group = list[str]  # the names of one dim; none for a dim of size 1


def _product(t: Tensor, dims: Sequence[int]) -> Tensor:
    for d in sorted(dims, reverse=True):
        t = functions.prod(t, d)
    return t


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": functions.sum,
    "mean": functions.mean,
    "max": functions.amax,
    "min": functions.amin,
    "prod": _product,
    "any": functions.any,
    "all": functions.all,
}
TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z]\w*|\d+|[()])")


class _Side(NamedTuple):
    """One side of a pattern: a group for each dim, and the sizes of the groups that are numbers."""

    groups: list[Group]
    sizes: dict[str, int]

    @property
    def names(self) -> list[str]:
        return [name for group in self.groups for name in group]


def _side(text: str, call: str, side: str) -> _Side:
    """Parse one side. Numbers above 1 become names of their own; 1 is a dim without names."""
    groups: list[Group] = []
    sizes: dict[str, int] = {}
    offset, inside = 0, False
    text = text.strip()
    while offset < len(text):
        token = TOKEN.match(text, offset)
        if token is None:
            rule = "is not part of a pattern: use names, (), 1, ..."
            raise ValueError(f"{call}: {text[offset:].strip()[:1]!r} {rule}")
        offset, word = token.end(), token[1]
        if word in "()":
            if inside is (word == "("):
                raise ValueError(f"{call}: parentheses of {text!r} do not match or nest: write (a b)")
            inside = word == "("
            if inside:
                groups.append([])
            continue
        parts = [] if word == "1" else [_token_name(word, sizes, side)]
        if inside:
            groups[-1] += parts
        else:
            groups.append(parts)
    if inside:
        raise ValueError(f"{call}: parentheses of {text!r} do not match or nest: write (a b)")
    parsed = _Side(groups, sizes)
    for name in parsed.names:
        if parsed.names.count(name) > 1:
            raise ValueError(f"{call}: {name!r} occurs twice in {text!r}: name each dim once")
    return parsed


def _token_name(word: str, sizes: dict[str, int], side: str) -> str:
    if not word.isdigit():
        return word
    name = f"{word} of the {side} ({len(sizes)})"  # no name of a user, who can't write spaces
    sizes[name] = int(word)
    return name


def _sides(pattern: str, call: str) -> tuple[_Side, _Side]:
    left, arrow, right = pattern.partition("->")
    if not arrow or "->" in right:
        raise ValueError(f"{call}: a pattern has one ->, between the dims before and after")
    return _side(left, call, "left"), _side(right, call, "right")


def _spread(side: _Side, count: int) -> _Side:
    """The side with names for the dims that its ellipsis stands for; on the left they are dims."""
    extra = [f"dim {i} of ..." for i in range(count)]
    groups: list[Group] = []
    for group in side.groups:
        if group == ["..."]:
            groups += [[name] for name in extra]
        else:
            groups.append([n for name in group for n in (extra if name == "..." else [name])])
    return side._replace(groups=groups)


class _Plan(NamedTuple):
    """What a pattern does: the sizes of all names, those before and after."""

    left: _Side
    right: _Side
    sizes: dict[str, int]


def _plan(shape: Sequence[int], pattern: str, sizes: Mapping[str, int], call: str) -> _Plan:
    left, right = _sides(pattern, call)
    if any("..." in group and len(group) > 1 for group in left.groups):
        raise ValueError(f"{call}: ... is inside parentheses on the left: write it outside")
    if "..." in right.names and "..." not in left.names:
        raise ValueError(f"{call}: ... is only on the right: write it on the left too")
    written = len(left.groups) - ("..." in left.names)
    more = len(shape) - written
    if more < 0 or (more and "..." not in left.names):
        raise ValueError(f"{call}: the left side has {written} dims, the tensor {len(shape)}: name each")
    left, right = _spread(left, more), _spread(right, more)
    known = {**left.sizes, **right.sizes, **sizes}
    unknown = [name for name in sizes if name not in (*left.names, *right.names)]
    if unknown:
        raise ValueError(f"{call}: {unknown[0]!r} has a size and is not in the pattern: remove it")
    for group, n in zip(left.groups, shape, strict=True):
        _solve(group, n, known, call)
    missing = [name for name in right.names if name not in known]
    if missing:
        raise ValueError(f"{call}: {missing[0]!r} is new on the right: give its size, as {missing[0]}=2")
    return _Plan(left, right, known)


def _solve(group: Group, n: int, known: dict[str, int], call: str) -> None:
    """Find the one unknown size of a group of a dim of size n."""
    free = [name for name in group if name not in known]
    rest = prod(known[name] for name in group if name in known)
    word = f"({' '.join(group)})" if len(group) != 1 else repr(group[0])
    if len(free) > 1:
        raise ValueError(f"{call}: the sizes of {free[0]!r} and {free[1]!r} are unknown: give one of them")
    if free and rest and n % rest == 0:
        known[free[0]] = n // rest
    elif free or rest != n:
        raise ValueError(f"{call}: {word} is a dim of size {n}, which {rest} does not fit")


def _transform(t: Tensor, plan: _Plan, reduce: Callable[..., Any] | None) -> Tensor:
    """The steps of every pattern: split dims, reduce, permute, add new dims, join dims."""
    left, right, sizes = plan
    if any(len(group) != 1 for group in left.groups):
        t = t.reshape(*(sizes[name] for name in left.names))
    kept = [name for name in left.names if name in right.names]
    if len(kept) < len(left.names) and reduce is not None:
        t = reduce(t, tuple(i for i, name in enumerate(left.names) if name not in kept))
    order = [name for name in right.names if name in kept]
    if order != kept:
        t = t.permute(*(kept.index(name) for name in order))
    if len(order) < len(right.names):
        t = t.reshape(*(sizes[name] if name in kept else 1 for name in right.names))
        t = t.expand(*(sizes[name] for name in right.names))
    if any(len(group) != 1 for group in right.groups):
        t = t.reshape(*(prod(sizes[name] for name in group) for group in right.groups))
    return t


def _by_pattern(name: str, tensor: Any, pattern: str, sizes: Mapping[str, int], reduction: Any = None) -> Any:
    """One call of rearrange, reduce or repeat, on a plain tensor, a list of them or a named one."""
    if isinstance(tensor, list | tuple):
        tensor = functions.stack(list(tensor))  # pyright: ignore[reportUnknownArgumentType] - any tensors
    call = shown_call(name, [tensor, pattern])
    x, dims = _in_order(tensor, pattern, call)
    plan = _plan(x.shape, pattern, sizes, call)
    _check_sides(name, plan, call)
    y = _transform(x, plan, None if reduction is None else _reduction(reduction, call))
    return y if dims is None else named(y, _group_names(plan, dims, call))


def _check_sides(name: str, plan: _Plan, call: str) -> None:
    """Refuse names that only one side has, where the operation does not add or remove dims."""
    missing = [n for n in plan.left.names if n not in plan.right.names]
    new = [n for n in plan.right.names if n not in plan.left.names]
    if missing and name != "reduce":
        raise ValueError(f"{call}: {missing[0]!r} is only on the left: use reduce to remove a dim")
    if new and name != "repeat":
        raise ValueError(f"{call}: {new[0]!r} is only on the right: use repeat to add a dim")


def _reduction(reduction: Any, call: str) -> Callable[..., Any]:
    if callable(reduction):
        return reduction
    if reduction not in REDUCTIONS:
        rule = f"use one of {', '.join(map(repr, REDUCTIONS))}, or a function"
        raise ValueError(f"{call}: {reduction!r} is not a reduction: {rule}")
    return REDUCTIONS[reduction]


def _in_order(tensor: Any, pattern: str, call: str) -> tuple[Tensor, list[str] | None]:
    """The plain tensor in the order of the pattern's left side, and the names that its ... stands for; None
    for a plain tensor."""
    if isinstance(tensor, Tensor):
        return tensor, None
    if not hasattr(tensor, "names"):
        raise TypeError(f"{call}: takes tensors: use fb.tensor")
    left, _ = _sides(pattern, call)
    words = ["..." if group == ["..."] else "_".join(group) for group in left.groups]
    listed = [word for word in words if word != "..."]
    unknown = [word for word in listed if word not in tensor.names]
    if unknown:
        raise ValueError(f"{call}: the tensor has no dim {unknown[0]!r}: (a b) on the left is the dim a_b")
    rest = [name for name in tensor.names if name not in listed]
    order = [n for word in words for n in (rest if word == "..." else [word])]
    if "..." not in words and rest:
        raise ValueError(f"{call}: {rest[0]!r} is not in the pattern: name all dims, or write ...")
    return ordered(tensor, order), rest


def _group_names(plan: _Plan, rest: list[str], call: str) -> list[str]:
    """The names of a named result: those of its groups, joined by _."""
    places = {f"dim {i} of ...": name for i, name in enumerate(rest)}
    result: list[str] = []
    for group in plan.right.groups:
        if not group or any(name in plan.right.sizes for name in group):
            raise ValueError(f"{call}: a dim on the right has no name: write a name in place of a number")
        result.append("_".join(places.get(name, name) for name in group))
    return result


def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
    """The elements with dims in another order, split or joined: einops' rearrange.

    tensor: a tensor, a named tensor, or a list of tensors, whose place is the first dim
    pattern: such as "b (h w) c -> b c h w"
    sizes: of names, as h=3
    Raises ValueError if the pattern does not fit. [b, h * w, c] -> [b, c, h, w]
    """
    return _by_pattern("rearrange", tensor, pattern, sizes)


def reduce(tensor: Any, pattern: str, reduction: str | Callable[..., Any], **sizes: int) -> Any:
    """The tensor reduced along the names that are only on the left: einops' reduce.

    tensor: a tensor, a named tensor, or a list of tensors, whose place is the first dim
    pattern: such as "b c (h 2) (w 2) -> b c h w"
    reduction: "sum", "mean", "max", "min", "prod", "any", "all", or a function of (tensor, dims)
    sizes: of names, as h=3
    Raises ValueError if the pattern or the reduction does not fit. [b, c, h * 2, w * 2] -> [b, c, h, w]
    """
    return _by_pattern("reduce", tensor, pattern, sizes, reduction)


def repeat(tensor: Any, pattern: str, **sizes: int) -> Any:
    """The tensor repeated along the names that are only on the right: einops' repeat.

    tensor: a tensor, a named tensor, or a list of tensors, whose place is the first dim
    pattern: such as "h w -> h w c"
    sizes: of new names, as c=3
    Raises ValueError if the pattern does not fit. [h, w] -> [h, w, c]
    """
    return _by_pattern("repeat", tensor, pattern, sizes)


def einsum(*arguments: Any) -> Any:
    """The sum of products over the names that the right side lacks: einops' einsum, with names of any length.

    arguments: tensors, plain or named ones, then the pattern, as "batch i k, k j -> batch i j"
    Raises ValueError if the pattern does not fit, TypeError without a pattern. [b, i, k], [k, j] -> [b, i, j]
    """
    *tensors, pattern = arguments
    call = shown_call("einsum", arguments)
    if not isinstance(pattern, str):
        raise TypeError(f"{call}: the last argument is the pattern: write einsum(x, y, 'a b, b c -> a c')")
    left, arrow, right = pattern.partition("->")
    terms = left.split(",")
    if not arrow or "(" in pattern:
        raise ValueError(f"{call}: a pattern of einsum has one -> and no parentheses")
    if len(terms) != len(tensors):
        raise ValueError(f"{call}: {len(terms)} terms for {len(tensors)} tensors: write one for each")
    words = list(dict.fromkeys(word for side in (*terms, right) for word in side.split() if word != "..."))
    letters = dict(zip(words, ascii_letters, strict=False)) | {"...": "..."}
    operands = [_operand(t, term.split(), call) for t, term in zip(tensors, terms, strict=True)]
    coded = [*("".join(letters[w] for w in term.split()) for term in terms)]
    try:
        y = functions.einsum(f"{','.join(coded)}->{''.join(letters[w] for w in right.split())}", *operands)
    except ValueError as e:
        raise ValueError(f"{call}: {_in_words(str(e).partition('): ')[2], letters)}") from None
    return named(y, right.split()) if any(hasattr(t, "names") for t in tensors) else y


def _in_words(reason: str, letters: Mapping[str, str]) -> str:
    """A reason with the names for which letters stand."""
    words = {repr(letter): repr(word) for word, letter in letters.items()}
    return re.sub(r"'\w'", lambda m: words.get(m[0], m[0]), reason)


def _operand(t: Any, words: list[str], call: str) -> Tensor:
    if not hasattr(t, "names"):
        return t
    if sorted(words) != sorted(t.names):
        rule = f"a term has {' '.join(words)!r} for dims {' '.join(t.names)!r}: name the same"
        raise ValueError(f"{call}: {rule}")
    return ordered(t, words)


def parse_shape(tensor: Tensor, pattern: str) -> dict[str, int]:
    """The sizes of a tensor by the names of a pattern; _ skips a dim.

    tensor: a plain tensor
    pattern: a name for each dim, as "batch _ height width"
    Raises ValueError if there are not as many names as dims.
    """
    words = pattern.split()
    if len(words) != tensor.ndim:
        call = shown_call("parse_shape", [tensor, pattern])
        raise ValueError(f"{call}: {len(words)} names for {tensor.ndim} dims: write one for each, or _")
    return {word: n for word, n in zip(words, tensor.shape, strict=True) if word != "_"}


def pack(tensors: Sequence[Tensor], pattern: str) -> tuple[Tensor, list[tuple[int, ...]]]:
    """Tensors joined along the dims where the pattern has *, and the shapes there, for `unpack`.

    tensors: plain tensors, equal in all other dims
    pattern: names and one *, as "b * c"
    Raises ValueError if the pattern has no single *, or a tensor too few dims.
    [b, h, w, c], [b, c] -> [b, n, c]
    """
    call = shown_call("pack", [list(tensors), pattern])
    before, after = _star(pattern, call)
    shapes: list[tuple[int, ...]] = []
    flat: list[Tensor] = []
    for t in tensors:
        end = t.ndim - after
        if end < before:
            raise ValueError(f"{call}: a tensor has {t.ndim} dims: the pattern names {before + after}")
        shapes.append(tuple(t.shape[before:end]))
        flat.append(t.reshape(*t.shape[:before], prod(shapes[-1]), *t.shape[end:]))
    return functions.cat(flat, before), shapes


def unpack(tensor: Tensor, shapes: Sequence[Sequence[int]], pattern: str) -> list[Tensor]:
    """The tensors that `pack` joined. One shape may have one -1.

    tensor: the joined tensor
    shapes: those that `pack` returned
    pattern: the same as for `pack`
    Raises ValueError if the shapes do not add up to the dim. [b, n, c] -> [b, h, w, c], [b, c]
    """
    call = shown_call("unpack", [tensor, [*map(tuple, shapes)], pattern])
    before, _ = _star(pattern, call)
    lengths = [-1 if -1 in shape else prod(shape) for shape in shapes]
    whole = tensor.shape[before]
    if lengths.count(-1) > 1:
        raise ValueError(f"{call}: two shapes have a -1: give the sizes of one of them")
    known = sum(n for n in lengths if n >= 0)
    lengths = [whole - known if n < 0 else n for n in lengths]
    if sum(lengths) != whole or min(lengths, default=0) < 0:
        raise ValueError(f"{call}: the shapes have {known} elements along *, the tensor {whole}")
    parts = functions.split(tensor, lengths, before)
    front, back = tensor.shape[:before], tensor.shape[before + 1 :]
    return [p.reshape(*front, *shape, *back) for p, shape in zip(parts, shapes, strict=True)]


def _star(pattern: str, call: str) -> tuple[int, int]:
    """How many names stand before and after the *."""
    words = pattern.split()
    if words.count("*") != 1:
        raise ValueError(f"{call}: a pattern of pack has one *, as 'b * c'")
    position = words.index("*")
    return position, len(words) - position - 1


METHODS.update(rearrange=rearrange, reduce=reduce, repeat=repeat)
