"""Every variant of every family of kernels, forced in turn, gives what NumPy gives.

Which families and variants there are is what planning these cases asks `choose.choose` for: a new variant is
tried here as soon as it fits one of them. Of a family of many (tiles and pieces of products) each run takes
a sixteenth.
"""

from functools import cache

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.plans import kernels_of

import flambeau as fb
from flambeau.core import choose
from flambeau.kernels import map as kernels_of_maps

F = fb.nn.functional


class Made:
    """Inputs that are the same on every device."""

    def __init__(self, device, half=False):
        self.device, self.rng, self.half = device, np.random.default_rng(5), half

    def __call__(self, *shape):
        t = fb.tensor(self.rng.uniform(-1, 1, shape).astype("f4"), device=self.device)
        return (t.half() if self.half else t).detach().requires_grad_()

    def steps(self, n, size):
        return fb.tensor(self.rng.integers(0, n, size).astype("i4"), device=self.device)


def with_gradients(f):
    """A case's result, and the gradients of the sum of its squares."""

    def call(t):
        xs, keep = [], t.__class__.__call__

        def make(*shape):
            xs.append(keep(t, *shape))
            return xs[-1]

        y = f(make, t)
        grads = (y.float() * y.float()).mean().backward()
        return [y, *(grads[x] for x in xs)]

    return call


CASES = {
    "products": with_gradients(lambda t, _: (t(130, 72) @ t(72, 200) + t(200)).relu()),
    "wide products": with_gradients(lambda t, _: t(16, 300) @ t(300, 512)),
    "large products": with_gradients(lambda t, _: t(256, 256) @ t(256, 256).T),
    "vectors": with_gradients(lambda t, _: t(1, 2048) @ t(2048, 96)),
    "odd products": with_gradients(lambda t, _: t(3, 37, 61) @ t(3, 61, 45)),
    "convolutions": with_gradients(lambda t, _: F.conv2d(t(4, 8, 14, 14), t(16, 8, 3, 3), t(16), padding=1)),
    "pools": with_gradients(lambda t, _: F.max_pool2d(t(2, 3, 13, 16), 3, 2, 1)),
    "depthwise": with_gradients(
        lambda t, _: F.conv2d(t(2, 6, 9, 13), t(12, 1, 3, 5), t(12), padding=(1, 2), groups=6)
    ),
    "short rows": with_gradients(lambda t, _: t(200, 12).softmax(1)),
    "rows": with_gradients(lambda t, _: F.layer_norm(t(33, 512), (512,), t(512), t(512))),
    "long rows": with_gradients(lambda t, _: t(3, 9000).log_softmax(1)),
    "sums": lambda t: [x for y in (t(300, 700), t(5, 40000)) for x in (y.sum(0), y.amax(1), (y * y).mean())],
    "columns": lambda t: [t(5000, 30).sum(0), t(64, 64, 9).sum((0, 1)), t(4099).prod()],
    "several sums": lambda t: [x for y in (t(300, 64),) for x in (y.sum(0), (y * y).sum(0) + 1, y.amax(0))],
    "large maps": lambda t: (t(515, 513) * 2 + t(513)).relu(),
    "losses": with_gradients(lambda t, d: F.cross_entropy(t(64, 100), d.steps(100, 64))),
    "attention": lambda t: [  # its gradients: test_attention.py, in each tile
        F.scaled_dot_product_attention(*(t(2, 2, 70, 32) for _ in "qkv"), is_causal=True)
    ],
    "one query": lambda t: [
        F.scaled_dot_product_attention(t(2, 4, 1, 64), t(2, 4, 300, 64), t(2, 4, 300, 64))
    ],
}  # fmt: skip
CLASSES = {"software": True, "gpu": False}
MANY = 4  # variants of a family: of more, a 48th
LARGE = 1 << 18  # elements of a map that count as many: 8 million take a software adapter seconds
MOST = 1  # cases that a variant is tried on; test_contract.py and test_variant_grid.py have more
TOLERANCE = {False: 2e-5, True: 2e-2}  # of the largest magnitude; in halves


@cache
def right(name, half):
    return values(*CASES[name](Made("cpu", half)))


def asked(name, gpu, half):
    """The variants that a case may be computed by, by family."""
    with choose.questions() as questions:
        kernels_of(*CASES[name](Made(gpu, half)), limits=gpu.limits)  # plans, and compiles nothing
    found = {}
    for family, _, names, _ in questions:
        found[family] = [*dict.fromkeys((*found.get(family, ()), *names))]
    return found


def turns(order, families):
    """The variants to try of those that a case was asked for; order has a family's, as they came."""
    for family, names in families.items():
        known = order.setdefault(family, {})
        known.update(dict.fromkeys(names))
        wanted = in_turn(known, 48) if len(known) > MANY else known
        yield from ((family, name) for name in names if name in wanted)


def wrong(name, gpu, half):
    """Where a case is not what NumPy gives, in a text; an empty one where it is."""
    for i, (got, want) in enumerate(zip(values(*CASES[name](Made(gpu, half))), right(name, half))):
        top = np.abs(want).max(initial=1e-9)
        error = np.abs(got.astype("f8") - want).max(initial=0.0)
        if not error <= TOLERANCE[half] * top:
            return f"result {i} is off by {error:.1e} where the largest is {top:.1e}"
    return ""


@pytest.mark.parametrize("half", [False, True], ids=["f32", "f16"])
@pytest.mark.parametrize("software", CLASSES)
def test_every_variant_agrees_with_numpy(software, half, gpu, monkeypatch):
    failed, tried, each, order = [], set(), {}, {}
    monkeypatch.setattr(kernels_of_maps, "SEVERAL_FROM", LARGE)
    for case in CASES if not half else ("products", "attention"):
        with planned_for(gpu, CLASSES[software]):
            families = asked(case, gpu, half)
        for family, name in turns(order, families):
            if each.setdefault((family, name), 0) >= MOST:
                continue
            each[family, name] += 1
            tried.add((family, name))
            with monkeypatch.context() as patch, planned_for(gpu, CLASSES[software]):
                patch.setattr(choose, "forced", lambda family=family, name=name: {family: name})
                why = wrong(case, gpu, half)
            if why:
                failed.append(f"{family}={name} on {case}: {why}")
    assert not failed, f"{len(failed)} of {len(tried)} variants:\n" + "\n".join(failed)
    assert order  # a turn may have no variant of half floats
