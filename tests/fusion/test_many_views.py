"""Expressions of many padded views: their Params are more than a kernel may have, so they are cut."""

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.device import get_device

ENDS = {
    "a map": (lambda t: t * 2, lambda a: a * 2),
    "a sum": (lambda t: t.sum(-1), lambda a: a.sum(-1)),
    "a sum of rows": (lambda t: t.sum(0), lambda a: a.sum(0)),
    "a softmax": (lambda t: t.softmax(-1), lambda a: np.exp(a) / np.exp(a).sum(-1, keepdims=True)),
    "a product": (lambda t: t @ t.transpose(-1, -2), lambda a: a @ a.swapaxes(-1, -2)),
    "running sums": (lambda t: t.cumsum(-1), lambda a: a.cumsum(-1)),
}


def of_views(x, cut, count: int, tree: str):
    """The same sum of shifted, padded readings of a tensor or an array, in one order of three."""
    terms = [cut(x, i) for i in range(count)]
    while len(terms) > 1:
        at = {"left": 0, "right": len(terms) - 2}.get(tree)
        if at is None:
            terms = [sum(terms[i + 1 : i + 2], terms[i]) for i in range(0, len(terms), 2)]
        else:
            terms[at : at + 2] = [terms[at] + terms[at + 1]]
    return terms[0]


# the views, and how they are summed: from the left they come one by one, else many before the first sum
CASES = [
    *[(end, "read", "left", False) for end in ENDS],
    ("a map", "read", "left", True),
    *[("a sum", "read", tree, False) for tree in ("right", "pairs")],
    ("a map", "computed", "left", False),
]


@pytest.mark.parametrize(("end", "leaf", "tree", "software"), in_turn(CASES, 2))
@pytest.mark.share(5)
def test_of_many_views(end, leaf, tree, software):
    device = get_device("gpu")
    rng = np.random.default_rng([len(end), len(tree)])
    by, right = ENDS[end]
    for rank, count in ((5, 30), (8, 24)) if end == "a map" else ((8, 24),):
        shape = tuple(int(n) for n in rng.integers(2, 4, rank))
        array = rng.normal(size=shape).astype("f4") / 16
        # each is shifted by other amounts along every dim, so that no two are one reading
        shifts = rng.integers(0, 2, (count, rank))
        cuts = [tuple(slice(int(s), None) for s in row) for row in shifts]
        pads = [[(0, int(s)) for s in row] for row in shifts]
        flat = [[n for pair in reversed(pad) for n in pair] for pad in pads]

        def of_tensor(t, i, cuts=cuts, flat=flat):
            if leaf == "read":
                return fb.nn.functional.pad(t[cuts[i]], flat[i])
            return (fb.nn.functional.pad(t[cuts[i]].relu() + 1, flat[i]) * (i + 1)).tanh()

        def of_array(a, i, cuts=cuts, pads=pads):
            if leaf == "read":
                return np.pad(a[cuts[i]], pads[i])
            return np.tanh(np.pad(np.maximum(a[cuts[i]], 0) + 1, pads[i]) * (i + 1))

        with planned_for(device, software=software):
            got = by(of_views(fb.tensor(array, device=device), of_tensor, count, tree)).numpy()
        wanted = right(of_views(array.astype("f8"), of_array, count, tree))
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-4, err_msg=f"{rank} dims, {count} views")
