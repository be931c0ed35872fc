"""einsum's parsing, order and errors, beside NumPy's; and the products of matrices at their edges."""

from itertools import combinations

import numpy as np
import pytest
from helpers.errors import call

import flambeau as fb
from flambeau.ops.einsum import contraction_path


def made(*shapes):
    rng = np.random.default_rng(5)
    return [rng.normal(size=s).astype("f4") for s in shapes]


EQUATIONS = [
    ("ij,jk", (2, 3), (3, 4)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iji->ji", (3, 2, 3)),
    ("ijkij->k", (2, 3, 4, 2, 3)),
    ("...ij,jk->...ik", (5, 2, 3), (3, 4)),
    ("...ij,...jk", (5, 1, 2, 3), (4, 3, 2)),
    ("i...,i...->...", (3, 2, 1), (3, 4)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 6)),
    ("a,b,c,d,e,f,g,h,i->i", *[(2,)] * 9),
    ("i,i->", (3,), (3,)),
    ("i,j->ji", (3,), (4,)),
    (" bij , bjk -> bki ", (2, 3, 4), (2, 4, 5)),
    ("ij->", (2, 3)),
    ("abab,bc->ca", (2, 3, 2, 3), (3, 4)),
    ("Ab,bA->A", (2, 3), (3, 2)),
    (",ij->ji", (), (2, 3)),
    ("ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->ik", (0, 2), (2, 3)),
    ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
]


@pytest.mark.parametrize("equation, shapes", [(e, s) for e, *s in EQUATIONS], ids=[e[0] for e in EQUATIONS])
def test_einsum_is_numpys(equation, shapes, device):
    given = made(*shapes)
    y = fb.einsum(equation, *(fb.tensor(a, device=device) for a in given))
    want = np.einsum(equation, *(a.astype("f8") for a in given))
    assert y.shape == want.shape
    np.testing.assert_allclose(y.numpy(), want, atol=1e-5)


def test_einsum_of_lists_ints_and_one_sequence(device):
    a, b = (fb.tensor(np.arange(6).reshape(s), device=device) for s in ((2, 3), (3, 2)))
    want = np.arange(6).reshape(2, 3) @ np.arange(6).reshape(3, 2)
    assert fb.einsum(a, [0, 1], b, [1, 2], [0, 2]).tolist() == want.tolist()
    assert fb.einsum(a, [0, 1], b, [1, 2]).tolist() == want.tolist()
    assert fb.einsum("ij,jk", [a, b]).tolist() == want.tolist()
    assert fb.einsum(a, [..., 1], b, [1, 2], [..., 2]).tolist() == want.tolist()


def cost(path, terms, output, sizes) -> int:
    """Multiplications of a path, by its definition."""
    terms, total = [set(t) for t in terms], 0
    for i, j in path:
        both = terms[i] | terms[j]
        total += int(np.prod([sizes[c] for c in both]))
        terms = [t for k, t in enumerate(terms) if k not in (i, j)]
        terms.append(both & set(output).union(*terms))
    assert len(terms) == 1
    return total


def cheapest(terms, output, sizes) -> int:
    """The least cost of all orders, each tried."""
    if len(terms) == 1:
        return 0
    found = []
    for i, j in combinations(range(len(terms)), 2):
        rest = [t for k, t in enumerate(terms) if k not in (i, j)]
        both = {*terms[i], *terms[j]}
        kept = both & set(output).union(*rest)
        found.append(int(np.prod([sizes[c] for c in both])) + cheapest([*rest, kept], output, sizes))
    return min(found)


CHAIN = ["ab", "bc", "cd", "de"]
SIZES = {"a": 10, "b": 1000, "c": 10, "d": 1000, "e": 1}


def test_the_path_has_the_fewest_multiplications():
    found = cost(contraction_path(CHAIN, "ae", SIZES), CHAIN, "ae", SIZES)
    assert found == 1000 * 10 + 10 * 1000 + 10 * 1000  # from the right: a column at each step
    assert cost([(0, 1), (0, 2), (0, 1)], CHAIN, "ae", SIZES) > found
    star = ["abcd", "a", "b", "c", "d"]
    sizes = dict.fromkeys("abcd", 10)
    assert cost(contraction_path(star, "", sizes), star, "", sizes) == cheapest(star, "", sizes)


def test_a_long_path_is_greedy_and_complete():
    terms = [a + b for a, b in zip("abcdefghijk", "bcdefghijkl")]
    sizes = dict(zip("abcdefghijkl", [2, 9] * 6))
    path = contraction_path(terms, "al", sizes)
    assert len(path) == 10
    cost(path, terms, "al", sizes)


def test_a_chain_plans_one_product_a_pair(gpu):
    a, b, c = (fb.tensor(m, device=gpu).realize() for m in made((4, 8), (8, 8), (8, 1)))
    assert len(fb.einsum("ij,jk,kl->il", a, b, c).plan()) == 2


BAD = [
    (lambda: fb.einsum("ij,jk", fb.ones(2, 3)),
     "ValueError: einsum('ij,jk', f32[2, 3]): 2 terms for 1 operands: pass one for each"),
    (lambda: fb.einsum("ij,jk", fb.ones(2, 3), fb.ones(4, 5)),
     "ValueError: einsum('ij,jk', f32[2, 3], f32[4, 5]): 'j' has sizes 3 and 4"),
    (lambda: fb.einsum("i", fb.ones(2, 3)),
     "ValueError: einsum('i', f32[2, 3]): term 'i' names 1 dims of an operand that has 2"),
    (lambda: fb.einsum("i->ii", fb.ones(2)),
     "ValueError: einsum('i->ii', f32[2]): 'i' is in the output twice"),
    (lambda: fb.einsum("i->j", fb.ones(2)),
     "ValueError: einsum('i->j', f32[2]): 'j' is in the output and in no term"),
    (lambda: fb.einsum("i1", fb.ones(2, 2)),
     "ValueError: einsum('i1', f32[2, 2]): '1' is not a letter: use letters, commas, one -> and ..."),
    (lambda: fb.ones(2, 3).mm(fb.ones(3)),
     "ValueError: mm(f32[2, 3], f32[3]): operands need 2 and 2 dims: use matmul for others"),
    (lambda: fb.bmm(fb.ones(2, 3, 4), fb.ones(3, 4, 5)),
     "ValueError: bmm(f32[2, 3, 4], f32[3, 4, 5]): batches differ: 2 and 3"),
    (lambda: fb.addmm(fb.ones(7), fb.ones(2, 3), fb.ones(3, 4)),
     "ValueError: addmm(f32[7], f32[2, 3], f32[3, 4]): sizes 7 and 4 of dim 1 do not broadcast"),
    (lambda: fb.tensordot(fb.ones(2, 3), fb.ones(3, 2), ([1], [0, 1])),
     "ValueError: tensordot(f32[2, 3], f32[3, 2], ([1], [0, 1])): 1 dims of a and 2 of b: name equally many"),
    (lambda: fb.cross(fb.ones(2), fb.ones(2)),
     "ValueError: cross(f32[2], f32[2]): dim 0 of [2] is not of size 3"),
    (lambda: fb.cdist(fb.ones(2, 3), fb.ones(2, 4)),
     "ValueError: cdist(f32[2, 3], f32[2, 4]): needs two tensors of rows of one length, and p of 0 or more"),
]  # fmt: skip


@pytest.mark.parametrize("bad, text", BAD, ids=[t.split(": ")[1][:24] for _, t in BAD])
def test_errors(bad, text):
    assert call(bad) == text


def test_distances_have_finite_slopes_everywhere(device):
    x = fb.tensor(made((30, 3))[0], device=device, requires_grad=True)
    for p in (1.0, 1.5, 2.0, float("inf")):
        for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
            grad = fb.cdist(x, x, p, mode).sum().backward()[x].numpy()
            assert np.isfinite(grad).all()


def test_beta_0_ignores_the_input(device):
    bad = fb.full((2, 2), float("nan"), device=device)
    one = fb.ones(2, 2, device=device)
    assert bad.addmm(one, one, beta=0).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_gradients_of_nothing(device):
    """No rows: slopes by what all rows share are zeros."""
    x, y, w = (fb.ones(*s, device=device).requires_grad_() for s in ((0, 7), (0, 6), (8, 7, 6)))
    grads = fb.nn.functional.bilinear(x, y, w).sum().backward()
    assert [grads[t].shape for t in (x, y, w)] == [(0, 7), (0, 6), (8, 7, 6)]
    assert not grads[w].numpy().any()
