"""Grids of products of matrices, and attention."""

from itertools import pairwise
from math import sqrt

import numpy as np

from .grid import Table, call

GRIDS = Table()
WITHOUT = {
    "quantize": "not in torch: tests/ops/test_quantized.py compares with the weights unpacked",
    "quantized_linear": "not in torch: tests/ops/test_quantized.py compares with the weights unpacked",
}
# sizes of a product: few, whole multiples of tiles and turns, and beside them
FEW = (1, 2, 3, 4, 5, 7, 8, 9, 16)
MANY = (17, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 129)
DEEP = (130, 256, 257, 384, 500, 512, 513, 768, 1000, 1024, 1280, 2048, 2049, 4096)


def sizes(d, count: int) -> list[int]:
    """Sizes of a product: one of them may be deep, and not all are large."""
    found = [d.one(*FEW) if d.maybe() else d.one(*MANY) for _ in range(count)]
    if d.maybe(0.04):
        found[d.int(0, count - 1)] = 0
    if d.maybe(0.5):
        found = [n if n < 40 else d.one(*FEW) for n in found]
        found[d.int(0, count - 1)] = d.one(*DEEP)
    return found


@GRIDS("matmul", "linalg_matmul", fixed=10)
def matmul(d):
    n, k, m = sizes(d, 3)
    batch = d.one((), (), (2,), (3,), (2, 3))
    a, b = (*batch, n, k), (*d.broadcast(batch), k, m)
    kind = d.rng.random()
    if kind < 0.1:
        a = (k,)
    elif kind < 0.2:
        b = (k,)
    return call(d.array(a), d.array(b))


@GRIDS("linear", fixed=10)
def linear(d):
    n, k, m = sizes(d, 3)
    rows = d.one((n,), (n,), (2, n), ())
    return call(d.array((*rows, k)), d.array((m, k)), *([d.array((m,))] if d.maybe() else []))


@GRIDS("mm")
def mm(d):
    n, k, m = sizes(d, 3)
    return call(d.array((n, k)), d.array((k, m)))


@GRIDS("mv")
def mv(d):
    n, k = sizes(d, 2)
    return call(d.array((n, k)), d.array((k,)))


@GRIDS("bmm")
def bmm(d):
    n, k, m = sizes(d, 3)
    b = d.int(1, 5)
    return call(d.array((b, n, k)), d.array((b, k, m)))


def scaled(d) -> dict:
    return {"beta": d.float(-2, 2), "alpha": d.float(-2, 2)} if d.maybe(0.7) else {}


@GRIDS("addmm", "addmv", "addbmm", "baddbmm", "addr")
def added(d, name):
    n, k, m = sizes(d, 3)
    b = d.int(1, 4)
    shapes = {
        "addmm": [(n, m), (n, k), (k, m)],
        "addmv": [(n,), (n, k), (k,)],
        "addbmm": [(n, m), (b, n, k), (b, k, m)],
        "baddbmm": [(b, n, m), (b, n, k), (b, k, m)],
        "addr": [(n, m), (n,), (m,)],
    }[name]
    shapes[0] = d.one(shapes[0], shapes[0], (1,) * len(shapes[0]))
    return call(*map(d.array, shapes), **scaled(d))


@GRIDS("dot", "vdot")
def dot(d):
    n = d.one(1, 7, 64, 1000, 5000, 70_001)
    return call(d.array((n,)), d.array((n,)))


@GRIDS("inner")
def inner(d):
    n, k, m = sizes(d, 3)
    return call(d.array((n, k)), d.array((m, k)))


@GRIDS("outer")
def outer(d):
    n, m = sizes(d, 2)
    return call(d.array((n,)), d.array((m,)))


@GRIDS("kron")
def kron(d):
    a, b = (d.shape(1, 3, large=False, empty=False) for _ in range(2))
    return call(d.array([min(n, 5) for n in a]), d.array([min(n, 5) for n in b]))


@GRIDS("tensordot", fixed=3)
def tensordot(d):
    own, summed = [d.size(9) for _ in range(d.int(0, 2))], [d.size(13) for _ in range(d.int(1, 2))]
    other = [d.size(9) for _ in range(d.int(0, 2))]
    if d.maybe():
        return call(d.array(own + summed), d.array(summed + other), dims=len(summed))
    left, right = own + summed, other + summed
    p, q = d.rng.permutation(len(left)), d.rng.permutation(len(right))
    dims = [[int(np.argwhere(p == i + len(own))[0, 0]) for i in range(len(summed))],
            [int(np.argwhere(q == i + len(other))[0, 0]) for i in range(len(summed))]]  # fmt: skip
    return call(d.array([left[i] for i in p]), d.array([right[i] for i in q]), dims=dims)


EQUATIONS = (
    "ij,jk->ik", "ij,kj->ik", "ji,jk->ki", "bij,bjk->bik", "bij,bkj->bki", "i,j->ij", "ij,ij->", "ij->ji",
    "ii->i", "ii->", "ij->j", "bij,ij->b", "ab,b", "bhqd,bhkd->bhqk", "bhqk,bhkd->bhqd", "bqhd,bkhd->bhqk",
    "ij,jk,kl->il", "ijk,ilm,njm,nlk->", "abc,cd,ad->bd", "ij,ij,ij->i", "...ij,...jk->...ik",
    "i...,i...->...", "nchw,ocw->nohw",
)  # fmt: skip


@GRIDS("einsum", fixed=len(EQUATIONS) // 2)
def einsum(d):
    equation = d.one(*EQUATIONS)
    given = equation.partition("->")[0].split(",")
    size = {letter: d.size(17) for letter in sorted(set("".join(given)))}
    if len(size) < 4:
        size[d.one(*sorted(size))] = d.one(64, 65, 128, 300)
    dots = (2, 3)
    shapes = [
        tuple(n for c in g.replace("...", ".") for n in (dots if c == "." else (size[c],))) for g in given
    ]
    return call(equation, *map(d.array, shapes))


@GRIDS("chain_matmul", "linalg_multi_dot")
def chain(d, name):
    n = [d.size(33) for _ in range(d.int(3, 5))]
    matrices = [d.array(shape) for shape in pairwise(n)]
    return call(matrices) if name == "linalg_multi_dot" else call(*matrices)


@GRIDS("bilinear", fixed=3)
def bilinear(d):
    i, j, o = d.size(9), d.size(9), d.size(9)
    rows = d.shape(1, 2, large=False)
    return call(d.array((*rows, i)), d.array((*rows, j)), d.array((o, i, j)),
                *([d.array((o,))] if d.maybe() else []))  # fmt: skip


@GRIDS("cross", "linalg_cross")
def cross(d):
    shape = list(d.shape(1))
    dim = d.dim(tuple(shape))
    shape[dim] = 3
    return call(d.array(shape), d.array(shape), dim=dim)


@GRIDS("linalg_vecdot")
def vecdot(d):
    shape = d.shape(1)
    return call(d.array(shape), d.array(shape), dim=d.dim(shape))


@GRIDS("cdist", fixed=6)
def cdist(d):
    """Points apart from each other: a root's slope has no bound at 0."""
    batch, k = d.one((), (2,), (2, 3)), d.size(9)
    n, m = d.one(1, 4, 24, 26, 40), d.one(1, 5, 25, 27, 33)
    far = (d.array((*batch, m, k)) + 5).astype("f4")
    return call(d.array((*batch, n, k)), far, p=d.one(0.0, 1.0, 1.5, 2.0, 2.0, 3.0, float("inf")))


@GRIDS("pdist", fixed=3)
def pdist(d):
    n, k = d.int(2, 30), d.size(9)
    return call(d.array((n, k)), p=d.one(1.0, 1.5, 2.0, 3.0, float("inf")))


@GRIDS("pairwise_distance")
def paired(d):
    shape = d.shape(1, 2, empty=False)
    args = {"p": d.one(1.0, 2.0, 3.0), "eps": d.one(1e-6, 0.01), "keepdim": d.maybe()}
    return call(d.array(shape), (d.array(shape) + 5).astype("f4"), **args)


# over one element its slope is 0, the difference of two terms of 1 / |x|, at most 5
@GRIDS("cosine_similarity", least=5)
def cosine(d):
    shape = d.shape(1, empty=False)
    signed = d.array(shape, 0.2, 2) * np.where(d.bools(shape), 1, -1)
    return call(d.array(shape, 0.2, 2), signed.astype("f4"), dim=d.dim(shape))


# a product, exponentials, a product; slopes by queries are small differences of large numbers
@GRIDS("scaled_dot_product_attention", fixed=14, tol=2e-5, least=1)
def attention(d):
    batch, heads = d.int(1, 3), d.int(1, 4)
    n, m = d.one(1, 2, 5, 16, 31, 32, 33, 64, 100), d.one(1, 3, 8, 16, 33, 64, 65, 130)
    e, v = d.one(1, 4, 8, 12, 16, 32, 40, 64, 80), d.one(4, 8, 16, 17, 32, 64)
    groups = d.one(1, 1, 2)
    arguments: dict = {"enable_gqa": True} if groups > 1 else {}
    kind = d.one("none", "causal", "bool", "float", "none")
    if kind == "causal":
        arguments["is_causal"], n = True, min(n, m)
    elif kind == "bool":
        shape = d.one((n, m), (batch, 1, n, m), (batch, heads * groups, n, m), (1, m))
        mask = d.bools(shape)
        mask[..., d.int(0, m - 1)] = True  # each row sees something
        arguments["attn_mask"] = mask
    elif kind == "float":
        arguments["attn_mask"] = d.array(d.one((n, m), (batch, 1, n, m), (batch, heads * groups, n, m)))
    if d.maybe(0.3):
        arguments["scale"] = d.float(0.1, 1.5) / sqrt(e)
    shapes = (batch, heads * groups, n, e), (batch, heads, m, e), (batch, heads, m, v)
    return call(*map(d.array, shapes), **arguments)
