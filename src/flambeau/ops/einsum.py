"""Sums of products named by letters: einsum, and the contractions composed of it."""

# Primitives are tensor methods whose names begin with "_": they are private to the package.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import inf, prod
from string import ascii_letters
from typing import TYPE_CHECKING, Any

from ..core import dtype as dt
from ..core.declare import composed, composite
from ..core.op import only_real
from ..core.shape import broadcast, normal_dim
from .contract import contract, same_rank
from .elementwise import with_zero_gradient
from .index.indices import slices
from .reduce import in_float32

if TYPE_CHECKING:
    from ..core.shape import Shape
    from ..tensor import Tensor

OPTIMAL = 8  # up to this many operands all orders are compared: 3^8 pairs


def _parse(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """Terms and output as plain letters; the dims of an ellipsis get letters that nothing else uses."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"{len(terms)} terms for {len(ranks)} operands: pass one for each")
    named = [term.replace("...", "") for term in terms]
    bad = sorted(set("".join(named) + output.replace("...", "")) - set(ascii_letters))
    if bad:
        raise ValueError(f"{bad[0]!r} is not a letter: use letters, commas, one -> and ...")
    free = [rank - len(n) for rank, n in zip(ranks, named, strict=True)]
    for term, rank, more in zip(terms, ranks, free, strict=True):
        if more < 0 or (more and "..." not in term):
            raise ValueError(f"term {term!r} names {rank - more} dims of an operand that has {rank}")
    # An ellipsis stands for the last dims in common, so letters are dealt from the right: they broadcast.
    widest = max(free, default=0)
    unused = [c for c in ascii_letters if c not in equation][:widest]
    terms = [t.replace("...", "".join(unused[widest - f :])) for t, f in zip(terms, free, strict=True)]
    # Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
    if not arrow:
        all_named = "".join(named)
        output = "..." * any("..." in t for t in inputs.split(",")) + "".join(
            c for c in sorted(set(all_named)) if all_named.count(c) == 1
        )
    output = output.replace("...", "".join(unused))
    return terms, output


def _check_output(terms: list[str], output: str) -> None:
    for c in output:
        if output.count(c) > 1:
            raise ValueError(f"{c!r} is in the output twice")
        if not any(c in t for t in terms):
            raise ValueError(f"{c!r} is in the output and in no term")


def _sizes(terms: list[str], shapes: Iterable[Shape]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for c, n in zip(term, shape, strict=True):
            if n != 1 and sizes.get(c, 1) not in (1, n):  # sizes of 1 broadcast
                raise ValueError(f"{c!r} has sizes {sizes[c]} and {n}")
            sizes[c] = n if sizes.get(c, 1) == 1 else sizes[c]
    return sizes


def _result(a: str, b: str, rest: set[str]) -> str:
    """The letters of a product that later products or the output need, a's first."""
    return "".join(c for c in dict.fromkeys(a + b) if c in rest)


def _cost(letters: Iterable[str], sizes: dict[str, int]) -> int:
    return prod(sizes[c] for c in letters)


def contraction_path(terms: list[str], output: str, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """Pairs to multiply, in order, as indices into the list of operands; each product is appended to it.

    Up to 8 operands it is the order of fewest multiplications; for more, the pair that frees most memory is
    next (both as in opt_einsum).
    """
    terms = list(terms)
    path: list[tuple[int, int]] = []
    if 2 < len(terms) <= OPTIMAL:
        return _optimal(terms, output, sizes)
    # Greedy: the product that is smallest beside its operands.
    while len(terms) > 1:
        best = min(combinations(range(len(terms)), 2), key=lambda p: _memory_change(terms, p, output, sizes))
        a, b = (terms[i] for i in best)
        terms = [t for i, t in enumerate(terms) if i not in best]
        terms.append(_result(a, b, set(output).union(*terms)))
        path.append(best)
    return path


def _memory_change(terms: list[str], pair: tuple[int, int], output: str, sizes: dict[str, int]) -> int:
    """Elements of the product less those of its two operands."""
    a, b = (terms[i] for i in pair)
    rest = set(output).union(*(t for i, t in enumerate(terms) if i not in pair))
    return _cost(_result(a, b, rest), sizes) - _cost(a, sizes) - _cost(b, sizes)


def _optimal(terms: list[str], output: str, sizes: dict[str, int]) -> list[tuple[int, int]]:
    """The best tree over each set of operands, from small sets to all of them. Sets are bits of an
    integer."""
    n = len(terms)
    everything = (1 << n) - 1

    # The letters of a set's product that the output or a term outside of it needs.
    def kept(s: int) -> set[str]:
        inside = set[str]().union(*(terms[i] for i in range(n) if s >> i & 1))
        return inside & set(output).union(*(terms[i] for i in range(n) if not s >> i & 1))

    names = {s: kept(s) for s in range(1, everything + 1)}
    best: dict[int, tuple[float, int]] = {1 << i: (0, 0) for i in range(n)}
    # Dynamic programming: a set is the cheapest product of two of its parts, which are smaller and known.
    for s in sorted(range(1, everything + 1), key=int.bit_count):
        for part, other in _halves(s):
            price = best[part][0] + best[other][0] + _cost(names[part] | names[other], sizes)
            if price < best.get(s, (inf, 0))[0]:
                best[s] = price, part
    return _flatten(best, everything, [1 << i for i in range(n)])


def _halves(s: int) -> Iterator[tuple[int, int]]:
    """The ways to split a set in two, each once."""
    part = (s - 1) & s
    # Counting down through the subsets of s; each split comes twice, once with the larger part first.
    while part:
        if part > s ^ part:
            yield part, s ^ part
        part = (part - 1) & s


def _flatten(best: dict[int, tuple[float, int]], s: int, alive: list[int]) -> list[tuple[int, int]]:
    """A tree of sets as pairs of indices into the shrinking list `alive`."""
    part = best[s][1]
    if not part:
        return []
    # As in contraction_path, a product replaces its operands, at the end of the list.
    path = _flatten(best, part, alive) + _flatten(best, s ^ part, alive)
    i, j = sorted((alive.index(part), alive.index(s ^ part)))
    del alive[j], alive[i]
    alive.append(s)
    return [*path, (i, j)]


def _diagonal(x: Tensor, a: int, b: int) -> Tensor:
    """The diagonal of two dims, as the last dim. [..., n, ..., n, ...] -> [..., n]"""
    n = max(x.shape[a], x.shape[b])
    rest = [d for d in range(x.ndim) if d not in (a, b)]
    shape = tuple(x.shape[d] for d in rest)
    if x.shape[a] != x.shape[b]:  # one of them is 1
        return x.permute(*rest, a, b).reshape(*shape, n)
    flat = x.permute(*rest, a, b).reshape(*shape, n * n)
    lead = len(shape)
    return flat._slice((0,) * (lead + 1), (*(1,) * lead, n + 1), (*shape, n))  # every (n + 1)-th element


def _reduce_term(x: Tensor, term: str, rest: set[str]) -> tuple[Tensor, str]:
    """Takes diagonals of repeated letters and sums over letters not in `rest`. -> (x, its letters)"""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            a, b = term.index(c), term.rindex(c)
            x, term = _diagonal(x, a, b), term[:a] + term[a + 1 : b] + term[b + 1 :] + c
    summed = tuple(d for d, c in enumerate(term) if c not in rest)
    if summed:
        x, term = x.sum(summed), "".join(c for c in term if c in rest)
    return x, term


def _align(x: Tensor, term: str, letters: str) -> Tensor:
    """x with one dim per letter, in that order, of size 1 if x does not have it."""
    order = [term.index(c) for c in letters if c in term]
    shape = (x.shape[term.index(c)] if c in term else 1 for c in letters)
    return x.permute(*order).reshape(*shape)


def _product(a: Tensor, ta: str, b: Tensor, tb: str, output: str) -> Tensor:
    """One contraction (an elementwise product if nothing is summed). -> dims in the order of output"""
    # A summed dim of both is a contraction; a batch dim is in both and in the output.
    summed = "".join(c for c in dict.fromkeys(ta + tb) if c not in output)
    a, b = same_rank(a, b)
    a, b = _align(a, ta, output + summed), _align(b, tb, output + summed)
    return contract(a, b, len(summed), "einsum") if summed else a * b


def _sublists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) as equation and operands."""

    def letters(dims: Sequence[Any]) -> str:
        return "".join("..." if i is Ellipsis else ascii_letters[i] for i in dims)

    output = "->" + letters(args[-1]) if len(args) % 2 else ""
    pairs = args[: len(args) // 2 * 2]
    return ",".join(letters(s) for s in pairs[1::2]) + output, pairs[::2]


@composed
def einsum(equation: str | Tensor, *operands: Any) -> Tensor:
    """Sums of products by Einstein's convention: einsum("...ij,jk->...ik", a, b).

    Repeated letters in a term take the diagonal, letters left out of the output are summed, sizes of 1
    broadcast; three or more operands are multiplied pair by pair in the order of fewest multiplications.
    einsum(a, [0, 1], b, [1, 2], [0, 2]) works too.

    equation: subscripts, such as "ij,jk->ik"
    Raises ValueError if the equation does not fit the operands.
    """
    if not isinstance(equation, str):
        equation, operands = _sublists((equation, *operands))
    is_list = len(operands) == 1 and isinstance(operands[0], list | tuple)
    tensors: list[Tensor] = [*(operands[0] if is_list else operands)]
    terms, output = _parse(equation, [x.ndim for x in tensors])
    _check_output(terms, output)
    sizes = _sizes(terms, [x.shape for x in tensors])
    pending: list[tuple[Tensor, str]] = []  # operands and products that are not multiplied yet
    for i, (x, t) in enumerate(zip(tensors, terms, strict=True)):
        # Letters that no other term and no output has are summed before any product.
        pending.append(_reduce_term(x, t, set(output).union(*(u for j, u in enumerate(terms) if j != i))))
    for i, j in contraction_path([t for _, t in pending], output, sizes):
        (a, ta), (b, tb) = pending[i], pending[j]
        pending = [p for k, p in enumerate(pending) if k not in (i, j)]
        rest = set(output).union(*(t for _, t in pending))
        letters = _result(ta, tb, rest) if pending else output
        pending.append((_product(a, ta, b, tb, letters), letters))
    x, term = pending[0]
    return x.permute(*(term.index(c) for c in output))


@composed
def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Sequence[int]] = 2) -> Tensor:
    """Sum of products over the last dims of a and the first of b, or over the dims listed for each.
    [..., k], [k, ...] -> [..., ...]

    Raises ValueError if dims of a and b differ in number.
    """
    if isinstance(dims, int):
        dims = list(range(a.ndim - dims, a.ndim)), list(range(dims))  # the last dims of a with the first of b
    of_a, of_b = (
        [normal_dim(d, x.ndim) for d in ([named] if isinstance(named, int) else named)]
        for named, x in zip(dims, (a, b), strict=True)
    )
    if len(of_a) != len(of_b):
        raise ValueError(f"{len(of_a)} dims of a and {len(of_b)} of b: name equally many")
    names = ascii_letters[: a.ndim + b.ndim]
    # Summed dims of b get the letter of their partner in a.
    term = list(names[a.ndim :])
    for d, e in zip(of_a, of_b, strict=True):
        term[e] = names[d]
    summed = {names[d] for d in of_a}
    output = "".join(c for c in [*names[: a.ndim], *term] if c not in summed)
    return einsum(f"{names[: a.ndim]},{''.join(term)}->{output}", a, b)


@composed
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x1 @ weight[o] @ x2 for each o. [..., i], [..., j], [o, i, j], [o] -> [..., o]

    input1: the first tensor
    input2: the second tensor
    """
    y = einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def _chain(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices (the outer ones may be vectors) in the order of fewest multiplications."""
    n = len(matrices)
    if n < 1 or any(m.ndim != 2 for m in matrices[1:-1]):
        raise ValueError("takes one or more tensors, all but the first and last of 2 dims")
    # "ab", "bc", "cd": neighbours share a letter. A vector at an end lacks the outer one.
    names = [ascii_letters[i : i + 2] for i in range(n)]
    if matrices[0].ndim == 1:
        names[0] = names[0][1:]
    if n > 1 and matrices[-1].ndim == 1:
        names[-1] = names[-1][:1]
    outer_letters = "".join(c for c in dict.fromkeys("".join(names)) if "".join(names).count(c) == 1)
    return einsum(f"{','.join(names)}->{outer_letters}", *matrices)


@composed
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices in the order of fewest multiplications. [a, b], [b, c], [c, d] -> [a, d]

    Raises ValueError if no tensor is given, or one between the ends does not have 2 dims.
    """
    return _chain(matrices)


@composed
def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of matrices (the outer ones may be vectors) in the order of fewest multiplications.
    [n, k], [k, m], ... -> [n, m]

    Raises ValueError for fewer than two tensors, or if one between the ends does not have 2 dims.
    """
    if len(tensors) < 2:
        raise ValueError(f"takes two or more tensors, not {len(tensors)}: pass more")
    return _chain(list(tensors))


def _euclid_by_matmul(a: Tensor, b: Tensor) -> Tensor:
    """sqrt(|a|^2 + |b|^2 - 2 a.b), which reads each operand once per tile; the gradient at 0 is 0."""
    # Rounding can make squares of near points negative: they count as 0.
    squares = a.square().sum(-1).unsqueeze(-1) + b.square().sum(-1).unsqueeze(-2)
    squares = squares - a.matmul(b.transpose(-1, -2)) * 2
    nonzero = squares > 0
    return nonzero.where(nonzero.where(squares, 1.0).sqrt(), 0.0)


@composed
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """Distances of all pairs of rows in the p-norm; for p = 2 and more than 25 rows by matmul.

    [..., n, d], [..., m, d] -> [..., n, m]

    x1: the first rows
    x2: the second rows
    compute_mode: how the Euclidean distance is computed: by matrix product or directly
    Raises ValueError if compute_mode is unknown, rows differ in length, or p is below 0.
    """
    only_real(x1, x2)
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"compute_mode={compute_mode!r} is unknown: use one of {', '.join(modes)}")
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1] or p < 0:
        raise ValueError("needs two tensors of rows of one length, and p of 0 or more")
    x1, dtype = in_float32(x1)
    x2 = x2.float()
    large = max(x1.shape[-2], x2.shape[-2]) > 25  # PyTorch's threshold
    if p == 2 and (compute_mode == modes[1] or (compute_mode == modes[0] and large)):
        return _euclid_by_matmul(x1, x2).to(dtype)
    # Differences of all pairs, [..., n, m, d], have no cancellation and need more memory.
    away = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return (row_norms(away, p) if away.shape[-1] else away.sum(-1)).to(dtype)


def _farthest_grad(g: Tensor, y: Tensor, x: Tensor) -> list[Tensor | None]:
    return [(x.abs() == y).where(g, 0.0) * x.sign()]


@composite(grad=_farthest_grad)
def _farthest(x: Tensor) -> Tensor:
    return x.abs().amax(-1, keepdim=True)


def row_norms(away: Tensor, p: float) -> Tensor:
    """The p-norm of rows. For infinite p each of several equal maxima gets the full gradient, as in PyTorch's
    distances."""
    if p == inf:
        return _farthest(away).squeeze(-1)
    norms = away.norm(p, -1)
    # the 0-norm counts the elements that are not 0: its gradient is 0
    return norms if p else with_zero_gradient(norms, away)


@composed
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sum of products over the last dims; the product if one is 0-d. [..., n], [..., n] -> [..., ...]

    Raises ValueError if the last dims differ.
    """
    return input * other if not input.ndim or not other.ndim else tensordot(input, other, ([-1], [-1]))


@composed
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The cross product along a dim of size 3, by default the first such dim. [..., 3] -> [..., 3]

    Raises ValueError if no dim has size 3.
    """
    shape = broadcast(input.shape, other.shape)
    if dim is None:
        dim = next((d for d, n in enumerate(shape) if n == 3), 0)
    dim = normal_dim(dim, len(shape))
    a, b = input.expand(*shape), other.expand(*shape)
    if not shape or shape[dim] != 3:
        raise ValueError(f"dim {dim} of {list(shape)} is not of size 3")
    # c[i] = a[i + 1] b[i + 2] - a[i + 2] b[i + 1], indices modulo 3.
    return _rotate(a, dim, 1) * _rotate(b, dim, 2) - _rotate(a, dim, 2) * _rotate(b, dim, 1)


def _rotate(x: Tensor, dim: int, by: int) -> Tensor:
    """Elements i + by modulo 3."""
    index = type(x).arange(3, dtype=dt.int32, device=x.device) + by
    return slices(x, index % 3, dim=dim)
