"""Loops that are longer than an adapter lets a thread turn: work is split or refused, and never cut short."""

import re

import numpy as np
import pytest
from helpers.compare import check
from helpers.draws import in_turn
from helpers.inputs import SIZED, declared, has_whole, main_kind, of_dtype
from helpers.kernels import planned_for
from helpers.paper import PaperDevice
from rows import ROWS

import flambeau as fb
from flambeau import nn
from flambeau.core.files import template_folder
from flambeau.core.limits import SOFTWARE_TURNS, Limits
from flambeau.core.op import OPS
from flambeau.kernels.lower import LOOPS

F = nn.functional
RNG = np.random.default_rng(0)


def uniform(*shape):
    return RNG.uniform(-1, 1, shape).astype("f4")


def integers(*shape):
    return RNG.integers(-50, 50, shape).astype("i4")


def weight_gradient(x, w):
    w = w.requires_grad_()
    return (F.conv2d(x, w, padding=1) ** 2).sum().backward()[w]


def walk(x, labels):
    x = x.log_softmax(2).detach().requires_grad_()
    full = [[n] * x.shape[1] for n in (x.shape[0], labels.shape[1])]
    return F.ctc_loss(x, labels, *full, reduction="sum").backward()[x]


# inputs, what is computed of them on the GPU and on NumPy, and how many turns a thread may take
SPLIT = {
    "matmul": ((uniform(5, 1000), uniform(1000, 7)), lambda a, b: a @ b, 64),
    "matmul of rows": ((uniform(4, 1000), uniform(7, 1000)), lambda a, b: a @ b.T, 300),
    "a sum of prime length": ((uniform(3, 5, 1009), uniform(3, 1009, 6)), lambda a, b: a @ b, 100),
    "a sum over three dims": ((uniform(9, 3, 11, 10), uniform(4, 3, 3, 3)), weight_gradient, 200),
    "columns": ((uniform(1000, 3),), lambda a: a.expand(2, 1000, 3)[0].sum(0), 64),
    "many rows": ((uniform(5000, 300),), lambda a: a.sum(1), 20),
    "rows and columns": ((uniform(30, 40, 20),), lambda a: a.amax((0, 2)), 50),
    "loops in a sum": ((integers(5000, 64), integers(64)), lambda a, b: a.gcd(b).sum(1), 500),
    "loops in a scan": ((integers(300, 64), integers(64) % 3), lambda a, b: a.pow(b).cumsum(1), 40),
    "scan": ((integers(300, 1000),), lambda a: a.cumsum(1), 100),
    "extremes so far": ((integers(1000, 300),), lambda a: a.cummax(0)[0], 100),
    "sort": ((integers(300, 600),), lambda a: a.argsort(1), 100),
    "ctc": ((uniform(40, 3, 4), np.int32([[1, 2, 2], [3, 2, 1], [1, 1, 1]])), walk, 7),
}  # fmt: skip


@pytest.mark.parametrize("name", SPLIT)
def test_work_is_split(name, gpu):
    arrays, f, turns = SPLIT[name]
    want = f(*(fb.tensor(a, device="cpu") for a in arrays)).numpy()
    given = [fb.tensor(a, device=gpu).realize() for a in arrays]
    with planned_for(gpu, True):
        whole = [(k.shader, k.quantities) for k in f(*given).plan()]
    with planned_for(gpu, True, turns=turns):
        got = f(*given)
        assert [(k.shader, k.quantities) for k in got.plan()] != whole
        check(got.numpy(), want, 2e-5, name)


LONG = {  # more turns than llvmpipe gives
    "matmul": lambda d: (fb.ones(8, 400_009, device=d).realize() @ fb.ones(400_009, 8, device=d).realize()),
    "sum": lambda d: (fb.arange(3, device=d)[:, None] + fb.ones(70_000, device=d).expand(4100, 1, -1)).sum(2),
    "sort": lambda d: fb.arange(70_000, 0, -1, device=d).expand(129, -1).sort(1)[0][:, 69_990:],
}  # fmt: skip


@pytest.mark.parametrize("name", in_turn(LONG, 3))
@pytest.mark.share(4)
def test_long_loops_end_where_they_should(name, gpu):
    f = LONG[name]
    want = {"matmul": 400_009, "sum": 70_000 * np.arange(1, 4), "sort": np.arange(69_991, 70_001)}[name]
    got = f(gpu).numpy()
    assert np.array_equal(got, np.broadcast_to(want, got.shape))


REFUSED = {
    "fold: a thread would run 70,001": lambda t: F.conv_transpose1d(
        t(1, 1, 2), t(1, 1, 70_000), stride=2, dilation=2
    ),
    "attention: a thread would run 100,000": lambda t: F.scaled_dot_product_attention(
        t(16, 4), t(400_000, 4), t(400_000, 4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_split_is_refused(what):
    device = PaperDevice(Limits(software=True, turns=SOFTWARE_TURNS))
    with pytest.raises(fb.KernelError) as caught:
        REFUSED[what](lambda *shape: fb.ones(*shape, device=device).realize()).realize()
    cure = "use smaller tensors, or another device"
    rest = f" loop iterations, and this adapter ends loops after 65,535: {cure}"
    assert str(caught.value) == what + rest


def test_ops_with_loops_are_known():
    found = {}
    for name in (n for n, op in OPS.items() if op.kind in ("elementwise", "source")):
        row, device = ROWS[name], PaperDevice()
        for dtype in (d for kind in declared(name) for d in SIZED[kind] if d.is_float or has_whole(row)):
            given = of_dtype(row, dtype, np.random.default_rng(1))
            to = [dtype if i.kind == main_kind(row) else None for i in row.inputs]
            fb.realize(row.compute(name, *(fb.tensor(a, t, device) for a, t in zip(given, to))))
        text = "\n".join(device.shaders)
        turns = [int(n) for n in re.findall(r"for \(var \w+ = [01]; \w+ < (\d+)", text)]
        words = re.findall(r"for \(var \w+ = 0u; \w+ < \d+u", text)  # of 64 bits: see below
        every = re.findall(r"\b(for|while|loop)\b", text)
        assert len(turns) + len(words) == len(every), f"{name}: a loop of another form"
        found |= {name.removesuffix("_bits"): max(turns)} if turns else {}
    loops = r"macro long_(\w+)\(T\) %}\n(?:(?!endmacro).)*?for \(var i = 0u; i < (\d+)u"
    of_words = re.findall(loops, (template_folder() / "lib/words.wgsl").read_text(encoding="utf-8"), re.S)
    named = {"quotient": "divide"}
    words = {f"{named.get(n, n)}_{part}": int(k) for n, k in of_words for part in ("low", "high")}
    assert len(words) == 6 and found | words == LOOPS
