"""Attention by its kernels: masks, sizes and gradients against the formula with all scores at once."""

import numpy as np
import pytest
from rows.attention import attention
from test_ops import check, values

import flambeau as fb
from flambeau.nn.functional import scaled_dot_product_attention as sdpa

RNG = np.random.default_rng(0)
KEEP = RNG.random((5, 9)) > 0.4
KEEP[2] = False  # a row without any key
CASES = {
    "plain": ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4), {}),
    "longer than a workgroup, causal": ((3, 70, 8), (3, 70, 8), (3, 70, 8), {"is_causal": True}),
    "grouped queries, softcap": (
        (2, 4, 33, 6), (2, 2, 70, 6), (2, 2, 70, 10), {"enable_gqa": True, "softcap": 1.5},
    ),
    "broadcast heads": ((2, 3, 5, 8), (1, 1, 7, 8), (2, 1, 7, 8), {"scale": 0.3}),
    "bool mask of batches": ((2, 3, 5, 64), (2, 3, 100, 64), (2, 3, 100, 64),
                             {"mask": RNG.random((2, 1, 5, 100)) > 0.3}),
    "bias of heads": ((2, 3, 5, 8), (2, 3, 9, 8), (2, 3, 9, 8),
                      {"mask": RNG.normal(size=(3, 1, 9)).astype("f4")}),
    "a row without keys": ((5, 8), (9, 8), (9, 8), {"mask": KEEP}),
    "one query": ((2, 1, 16), (2, 50, 16), (2, 50, 16), {}),
    "wider than registers": ((1, 4, 264), (1, 6, 264), (1, 6, 8), {}),
}  # fmt: skip


def made(case, device):
    *shapes, attrs = CASES[case]
    attrs = dict(attrs)
    arrays = [np.random.default_rng(1).normal(size=s).astype("f4") for s in shapes]
    xs = [fb.tensor(a, device=device, requires_grad=True) for a in arrays]
    mask = attrs.pop("mask", None)
    given = None if mask is None else fb.tensor(mask, device=device)

    def reference(*arrays):
        return attention(*arrays, mask, **attrs)

    return [a.astype("f8") for a in arrays], xs, lambda *t: sdpa(*t, attn_mask=given, **attrs), reference


@pytest.mark.parametrize("case", CASES)
def test_attention_and_its_gradients(case, device):
    arrays, xs, compute, reference = made(case, device)
    y = compute(*xs)
    want = reference(*arrays)
    weights = np.random.default_rng(2).normal(size=want.shape).astype("f4")
    by_kernels = (y * fb.tensor(weights, device=device)).sum().backward()
    by_ops = (compute(*xs) * fb.tensor(weights, device=device)).sum().backward(create_graph=True)
    got, *grads = values(y, *(by_kernels[x] for x in xs), *(by_ops[x] for x in xs))
    check(got, want, 2e-6, case)
    for kernel, op in zip(grads[:3], grads[3:]):
        check(kernel, op, 5e-6, f"{case}: gradient by kernels and by ops")
    steps = [np.random.default_rng(3).normal(size=a.shape) for a in arrays]
    ends = [(reference(*(a + h * s for a, s in zip(arrays, steps))) * weights).sum() for h in (1e-4, -1e-4)]
    slope = sum((g * s).sum() for g, s in zip(grads[:3], steps))
    assert abs(slope - (ends[0] - ends[1]) / 2e-4) <= 2e-5 * max(1, *(np.abs(g).sum() for g in grads[:3]))


def test_no_buffer_holds_the_scores(gpu):
    """4,096 x 4,096 scores would be 64 MB; nothing of the forward or backward pass is above 2 MB."""
    from flambeau.fuse import plan

    q, k, v = (fb.rand(4096, 16, device=gpu).requires_grad_() for _ in range(3))
    grads = sdpa(q, k, v).sum().backward()
    made = plan([grads[t].node for t in (q, k, v)], gpu.limits)
    assert {"attention", "queries", "keys", "values"} <= {k.name for k in made.kernels}
    assert max(size for _, size in made.stored) <= 2 << 20


def test_errors():
    q = fb.zeros(2, 3, 4, device="cpu")
    with pytest.raises(ValueError) as e:
        sdpa(q, fb.zeros(2, 3, 5, device="cpu"), q)
    assert str(e.value) == (
        "scaled_dot_product_attention(f32[2, 3, 4], f32[2, 3, 5], f32[2, 3, 4]):"
        " features of query and key differ: 4 and 5"
    )
    with pytest.raises(ValueError, match="query heads must be a multiple of key heads"):
        sdpa(fb.zeros(3, 5, 4, device="cpu"), q, q, enable_gqa=True)
