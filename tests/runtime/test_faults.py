"""Indices and classes outside their dim raise at the next read, whichever kernel met them, and once."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import debug
from flambeau.nn import functional as F
from flambeau.runtime import run

N = 3  # what is indexed has so many along the dim
REFUSES, WRAPS = (-1, -2, -N - 1), (-N - 1, -(2**31))  # negative ones that are outside
BEYOND = (N, N + 1, 2**31 - 1)


def rows(x):
    return x.arange(4 * N, device=x.device).reshape(N, 4).float()


def ones(x, *shape):
    return x.ones(*shape, device=x.device)


# name of the site: (call on a 1-d index, negative ones that are outside)
OPS = {
    "gather": (lambda i: rows(i).gather(0, i.unsqueeze(1).expand(i.shape[0], 4)), REFUSES),
    "index_select": (lambda i: rows(i).index_select(0, i), REFUSES),
    "take": (lambda i: rows(i)[:, 0].take(i), WRAPS),
    "take_along_dim": (lambda i: rows(i).take_along_dim(i.unsqueeze(1), 0), WRAPS),
    "__getitem__": (lambda i: rows(i)[i], WRAPS),
    "gather_nd": (lambda i: rows(i).gather_nd(i.unsqueeze(1)), WRAPS),
    "scatter": (lambda i: rows(i)[:, 0].scatter(0, i, ones(i, i.shape[0])), REFUSES),
    "scatter_add": (lambda i: rows(i)[:, 0].scatter_add(0, i, ones(i, i.shape[0])), REFUSES),
    "scatter_reduce": (lambda i: rows(i)[:, 0].scatter_reduce(0, i, ones(i, i.shape[0]), "amax"), REFUSES),
    "index_add": (lambda i: rows(i).index_add(0, i, ones(i, i.shape[0], 4)), REFUSES),
    "index_copy": (lambda i: rows(i).index_copy(0, i, ones(i, i.shape[0], 4)), REFUSES),
    "index_reduce": (lambda i: rows(i).index_reduce(0, i, ones(i, i.shape[0], 4), "prod"), REFUSES),
    "index_fill": (lambda i: rows(i).index_fill(0, i, 7.0), WRAPS),
    "put": (lambda i: rows(i)[:, 0].put(i, ones(i, i.shape[0])), WRAPS),
    "index_put": (lambda i: rows(i).index_put((i,), ones(i, 4)), WRAPS),
    "scatter_nd": (lambda i: rows(i).scatter_nd(i.unsqueeze(1), ones(i, i.shape[0], 4)), WRAPS),
    "embedding": (lambda i: F.embedding(i, rows(i)), REFUSES),
    "embedding_bag": (lambda i: F.embedding_bag(i.unsqueeze(0), rows(i)), REFUSES),
    "one_hot": (lambda i: F.one_hot(i, N), REFUSES),
    "cross_entropy": (lambda i: F.cross_entropy(ones(i, i.shape[0], N), i), REFUSES),
    "nll_loss": (lambda i: F.nll_loss(ones(i, i.shape[0], N), i), REFUSES),
    "multi_margin_loss": (lambda i: F.multi_margin_loss(ones(i, i.shape[0], N), i), REFUSES),
    "multilabel_margin_loss": (
        lambda i: F.multilabel_margin_loss(ones(i, 3, N), i.unsqueeze(1).expand(3, N)), (-2,)
    ),
    "max_unpool": (lambda i: F.max_unpool1d(ones(i, 1, 1, 1), i[:1].reshape(1, 1, 1), N), REFUSES),
    "searchsorted": (lambda i: fb.searchsorted(rows(i)[:, 0], ones(i, 2), sorter=i), REFUSES),
    "ctc_loss": (
        lambda i: F.ctc_loss(ones(i, 9, 1, N).log_softmax(-1), i.unsqueeze(0), [9], [i.shape[0]]), REFUSES
    ),
    "rnnt_loss": (
        lambda i: F.rnnt_loss(ones(i, 1, 3, i.shape[0] + 1, N), i.unsqueeze(0), [3], [i.shape[0]]), REFUSES
    ),
}  # fmt: skip
SITES = {"index_put": ("__getitem__", 0), "max_unpool": ("max_unpool", 2)}  # where it is not (name, 0)
LOSSES = ["cross_entropy", "nll_loss", "multi_margin_loss", "multilabel_margin_loss"]
ADVICE = "call it inside debug.check_indices() to see the line"


def told(name, index, size=N, dim=0):
    """The whole text of an error."""
    name, dim = SITES.get(name, (name, dim))
    classes = name in LOSSES or name == "one_hot"
    what = f"{size} classes" if classes else f"dim {dim} of size {size}"
    return f"{name}({what}): {'class' if classes else 'index'} {index} is out of range: {ADVICE}"


def given(values, device, dtype="i4"):
    return fb.tensor(np.array(values, dtype), device=device).realize()


def raises(call, text):
    with pytest.raises(IndexError) as e:
        call()
    assert e.value.args[0] == text


@pytest.mark.parametrize("name", OPS)
@pytest.mark.share(5)
def test_outside_raises_once_and_the_edges_do_not(name, kernels):
    call, negative = OPS[name]
    right = call(given([0, N - 1, 1], kernels)).tolist()
    if negative is WRAPS:
        assert call(given([-N, -1, 1 - N], kernels)).tolist() == right
    for bad in (*negative, *BEYOND):
        y = call(given([bad, N - 1, 1], kernels)).realize()
        raises(y.tolist, told(name, bad))
        raises(y.tolist, told(name, bad))  # what it made is no number at the second read either
    assert call(given([0, N - 1, 1], kernels)).tolist() == right


@pytest.mark.parametrize("name", OPS)
@pytest.mark.share(5)
def test_a_replay_raises_too(name, kernels):
    call = fb.jit(OPS[name][0])
    right = call(given([0, N - 1, 1], kernels)).tolist()
    for _ in range(2):
        y = call(given([N, N - 1, 1], kernels))
        raises(y.tolist, told(name, N))
        assert call(given([0, N - 1, 1], kernels)).tolist() == right


def test_what_is_made_of_it_raises_and_nothing_else(kernels):
    table, bad = rows(given([0], kernels)).realize(), given([N, 0, 1], kernels)
    right = table[given([2, 0, 1], kernels)]
    assert right.tolist() == table.numpy()[[2, 0, 1]].tolist()
    y = table[bad].realize()
    z = (y * 0 + 1).realize()  # before anybody knows of the fault
    raises(y.tolist, told("__getitem__", N))
    for made in (z, y + right, (z @ z.T).sum(), y.to("cpu")) if kernels.kind == "cpu" else (z, y + right):
        raises(made.tolist, told("__getitem__", N))
        raises(made.sum().item, told("__getitem__", N))
    assert right.tolist() == table.numpy()[[2, 0, 1]].tolist()
    y.assign_(right)
    assert y.tolist() == right.tolist()


def test_two_faults_between_reads(kernels):
    table = rows(given([0], kernels))
    first, second = (table[given([b, 0], kernels)].realize() for b in (N, N + 1))
    with pytest.raises(IndexError):
        first.tolist()
    for y in (first, second):
        with pytest.raises(IndexError):
            y.tolist()


def test_state_that_a_replay_spoilt_raises_until_it_is_assigned(gpu):
    table, total = rows(given([0], gpu)).realize(), fb.zeros(4, device=gpu).realize()

    def call(i):
        total.assign_(total + table[i].sum(0))
        return total * 2

    call = fb.jit(call)
    good, bad = given([1, 2], gpu), given([1, N], gpu)
    for _ in range(3):
        call(good)
    before = total.numpy()
    doubled = call(bad)
    held = total.detach()
    raises(doubled.tolist, told("__getitem__", N))
    raises(total.tolist, told("__getitem__", N))
    raises(call(good).tolist, told("__getitem__", N))  # of a state that is no number
    raises(held.tolist, told("__getitem__", N))
    total.assign_(fb.tensor(before, device=gpu))
    assert call(good).tolist() == (2 * (before + table.numpy()[[1, 2]].sum(0))).tolist()
    assert total.tolist() == (before + table.numpy()[[1, 2]].sum(0)).tolist()


@pytest.mark.parametrize("dtype", ["i1", "u1", "u4"])
def test_other_integers(dtype, kernels):
    x, top = fb.arange(5, device=kernels), np.iinfo(dtype).max
    assert x.gather(0, given([4, 0, 1, 2, 3, 4], kernels, dtype)).tolist() == [4, 0, 1, 2, 3, 4]
    for bad in (5, top):
        raises(lambda bad=bad: x.gather(0, given([4, bad], kernels, dtype)).tolist(), told("gather", bad, 5))
        if dtype != "u1":  # a mask in PyTorch, and refused in brackets
            raises(lambda bad=bad: x[given([4, bad], kernels, dtype)].tolist(), told("__getitem__", bad, 5))


@pytest.mark.parametrize("dtype, bads", [("i8", (2**31 + 5, -(2**40) - 3)), ("u8", (2**40 + 7, 2**64 - 1))])
def test_an_index_of_64_bits_is_told_as_it_is(dtype, bads, kernels):
    x = fb.arange(5, device=kernels)
    for bad in bads:
        for values in ([bad, 0, 1], [0, 0, bad, 0]):  # by one element, and by four
            index = given(values, kernels, dtype)
            raises(x.gather(0, index).tolist, told("gather", bad, 5))
            raises(x[index].tolist, told("__getitem__", bad, 5))
    ignored = given([1, -100, bads[0]], kernels, dtype) if dtype == "i8" else None
    if ignored is not None:
        raises(F.cross_entropy(ones(x, 3, 5), ignored).tolist, told("cross_entropy", bads[0], 5))


GRADIENTS = {
    "embedding": lambda w, i: F.embedding(i, w).sum(),
    "gather": lambda w, i: w.gather(0, i.unsqueeze(1).expand(i.shape[0], 4)).square().sum(),
    "__getitem__": lambda w, i: w[i].square().sum(),
    "index_add": lambda w, i: (w * 0).index_add(0, i, w[: i.shape[0]]).square().sum(),
    "cross_entropy": lambda w, i: F.cross_entropy(w[: i.shape[0]], i),
    "nll_loss": lambda w, i: F.nll_loss(w[: i.shape[0]], i),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_alone_raises(name, kernels):
    size = 4 if name in LOSSES else 5
    w = fb.ones(5, 4, device=kernels, requires_grad=True)
    for bad in (size, -9):
        grads = GRADIENTS[name](w, given([1, bad], kernels)).backward()
        raises(grads[w].tolist, told(name, bad, size))
    assert np.isfinite(GRADIENTS[name](w, given([1, 0], kernels)).backward()[w].numpy()).all()


def test_what_is_ignored_is_no_fault(kernels):
    x, target = fb.rand(3, 4, device=kernels), given([1, -100, 3], kernels)
    assert np.isfinite(F.cross_entropy(x, target).item()) and np.isfinite(F.nll_loss(x, target).item())
    seven = given([1, 7, 3], kernels)
    loss = F.cross_entropy(x, seven, ignore_index=7, label_smoothing=0.1, weight=fb.ones(4, device=kernels))
    assert np.isfinite(loss.item())
    raises(F.cross_entropy(x, target, ignore_index=7).item, told("cross_entropy", -100, 4))
    assert F.embedding(given([0, 2], kernels), x, padding_idx=0).shape == (2, 4)
    counted = given([0, 9, 1, 1], kernels)
    assert counted.bincount(length=2).tolist() == [1, 2]
    raises(given([0, -9], kernels).bincount(length=2).tolist, told("bincount", -9, 2))
    listed = F.multilabel_margin_loss(x, given([[1, -1, 9, 9]] * 3, kernels).clamp(max=3))
    assert np.isfinite(listed.item())
    behind = given([[1, 2, -7]], kernels)  # labels behind a target's length may be anything
    assert np.isfinite(F.ctc_loss(fb.rand(5, 1, 4, device=kernels).log_softmax(-1), behind, [5], [2]).item())


def bagged(offsets):
    x = fb.arange(3, device=offsets.device)
    return F.embedding_bag(x, rows(offsets), offsets, mode="sum")


def scattered(mask):
    return (mask * 0.0).masked_scatter(mask > 0, ones(mask, 2))


def aligned(lengths, targets):
    x = lengths.ones(5, 2, 4, device=lengths.device).log_softmax(-1)
    return F.ctc_loss(x, fb.ones(2, 3, dtype=fb.int32, device=lengths.device), lengths, targets)


def transduced(lengths, targets):
    x = lengths.ones(2, 5, 4, 3, device=lengths.device)
    return F.rnnt_loss(x, fb.ones(2, 3, dtype=fb.int32, device=lengths.device), lengths, targets)


LENGTHS = "one of {}_lengths is {}: pass lengths below {}"
OTHERS = {  # (call, those that are right, (wrong, what is said of it) ...)
    "embedding_bag": (
        bagged, [[0, 2], [0, 0], [0, 3]],
        *((w, "offsets must start at 0, not decrease, and lie within the indices")
          for w in ([1, 2], [0, 4], [-1, 2], [0, -1], [0, 2, 1])),
    ),
    "masked_scatter": (
        scattered, [[1, 0, 1], [0, 0, 0]],
        ([1, 1, 1, 0], "mask has more true elements than the 2 elements of source"),
    ),
    "ctc_loss": (
        lambda i: aligned(i, [1, 2]) + aligned(given([5, 5], i.device), i.clamp(max=3)), [[5, 3], [4, 5]],
        ([6, 3], LENGTHS.format("input", 6, 6)), ([3, -1], LENGTHS.format("input", -1, 6)),
    ),
    "ctc_loss targets": (
        lambda i: aligned(given([5, 5], i.device), i), [[3, 0], [1, 2]],
        ([4, 3], LENGTHS.format("target", 4, 4)), ([3, -2], LENGTHS.format("target", -2, 4)),
    ),
    "rnnt_loss": (
        lambda i: transduced(i, [1, 2]) + transduced(given([5, 5], i.device), i.clamp(max=3)),
        [[5, 3], [4, 5]],
        ([6, 3], LENGTHS.format("logit", 6, 6)), ([3, -1], LENGTHS.format("logit", -1, 6)),
    ),
    "rnnt_loss targets": (
        lambda i: transduced(given([5, 5], i.device), i), [[3, 0], [1, 2]],
        ([4, 3], LENGTHS.format("target", 4, 4)), ([3, -2], LENGTHS.format("target", -2, 4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.share(5)
def test_what_is_no_index_raises_too(name, kernels):
    call, right, *wrong = OTHERS[name]
    for values in right:
        assert np.isfinite(call(given(values, kernels)).numpy()).all()
    for values, what in wrong:
        y = call(given(values, kernels))
        for _ in range(2):
            raises(y.tolist, f"{name.split()[0]}: {what}: {ADVICE}")


def test_rows_that_are_put_outside_are_left_out(kernels):
    table, new = fb.zeros(3, 2, device=kernels), fb.ones(2, 2, device=kernels)
    for start in (-2, -1, 0, 2, 3, 9):
        want = np.zeros((7 + 9, 2), "f4")
        want[2 + start : 4 + start] = 1
        for begin in (start, given([start], kernels)):
            assert F.put_rows(table, new, begin).tolist() == want[2:5].tolist()
            own = fb.jit(lambda t, begin=begin: F.put_rows(t * 1, new, begin))  # in place
            assert own(table).tolist() == want[2:5].tolist()


def test_each_device_has_its_own(gpu):
    cpu = fb.tensor([1.0, 2.0], device="cpu")
    fb.ones(3, device=gpu).gather(0, given([3], gpu)).realize()
    assert cpu.tolist() == [1.0, 2.0]
    ours = fb.tensor([5.0], device=gpu)
    with pytest.raises(IndexError):
        ours.tolist()  # of anything on that device
    assert ours.tolist() == [5.0]


def test_of_reads_under_way_the_first_tells(gpu):

    y = fb.ones(3, device=gpu).gather(0, given([9], gpu))
    first, second = run.Readback([y]), run.Readback([fb.ones(2, device=gpu)])
    with pytest.raises(IndexError):
        second.wait()
    raises(first.wait, told("gather", 9, 3))
    assert fb.ones(2, device=gpu).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("count", [1, 3, 4, 5, 6, 63, 65, 129])
@pytest.mark.share(5)
def test_only_elements_are_checked(count, kernels):
    """Threads and neighbours behind the last element read what others left there."""
    for _ in range(2):
        full = fb.full((4096,), -77, dtype="i32", device=kernels).realize()
        del full  # its memory, or part of it, comes again
        i = (given(np.arange(count) % N, kernels) + given(np.zeros(count), kernels)).realize()
        table = fb.arange(N, device=kernels).float()
        for dtype in (fb.float32, fb.float16, fb.int8, fb.bool):
            x = table.to(dtype)
            want = (np.arange(count) % N).astype(x.numpy().dtype).tolist()
            assert x[i].tolist() == want
            assert (x[i].float() + 1).sum().item() == np.sum(np.array(want, "f4") + 1)
        assert F.one_hot(i, N).sum().item() == count
        padded = F.pad(i - 5, (2, 3)) + 5  # a computed index, padded
        assert table[F.pad((i * 1), (2, 3))].shape == (count + 5,)
        del padded
        wide = F.pad(table[(fb.arange(count, device=kernels) % N)], (1, 2))
        assert wide.tolist() == [0.0, *(np.arange(count) % N).astype("f4"), 0.0, 0.0]


def test_an_index_of_the_same_kernel(kernels):
    x = fb.arange(8, device=kernels).float()
    i = given([3, 4, 5], kernels)
    assert ((x[(i * 2 - 3).clamp(max=7)] + 1) * 2).tolist() == [8.0, 12.0, 16.0]
    raises(((x[i * 2 - 2] + 1) * 2).tolist, told("__getitem__", 8, 8))
    raises(x[i * 2 - 2].sum().item, told("__getitem__", 8, 8))
    with pytest.raises(IndexError):
        (i >= 4).where(0.0, x[i + 4]).tolist()  # as in PyTorch, where no branch is left out


def test_kernels_that_bind_all_buffers(kernels):
    """With the index and what notes faults there are more than eight buffers."""
    parts = [fb.rand(7, device=kernels).realize() for _ in range(9)]
    i = given([6, 0, 3, 2, 2, 1, 5], kernels)
    total = sum((p[i] * (k + 1) for k, p in enumerate(parts)), start=parts[0] * 0)
    want = sum(p.numpy()[[6, 0, 3, 2, 2, 1, 5]] * (k + 1) for k, p in enumerate(parts))
    assert np.allclose(total.numpy(), want, rtol=1e-5)
    bad = given([6, 0, 7, 2, 2, 1, 5], kernels)
    added = sum((p * (k + 1) for k, p in enumerate(parts[:7])), start=parts[7])[bad]
    raises(added.tolist, told("__getitem__", 7, 7))
    sums = sum((p[bad] for p in parts), start=parts[0] * 0).sum()
    raises(sums.item, told("__getitem__", 7, 7))


def test_the_line_is_found_on_demand(device):
    x, i = fb.ones(2, 3, device=device), given([0, 5], device)
    with debug.check_indices():
        assert x.index_select(0, i[:1]).tolist() == [[1.0, 1.0, 1.0]]
        raises(
            lambda: x.index_select(1, i),
            "index_select(dim 1 of size 3): index 5 is out of range: use indices in range",
        )
        call = fb.jit(lambda x, i: x.gather(1, i))
        call(x, i[:1].reshape(1, 1)), call(x, i[:1].reshape(1, 1))
    y = x.index_select(1, i)  # again at the next read
    raises(y.tolist, told("index_select", 5, 3, 1))


def test_other_errors_are_not_named_after_an_earlier_fault(device):
    """An op that reads meets what an earlier one noted, which keeps its name."""
    fb.ones(3, device=device).gather(0, given([7], device)).realize()
    raises(lambda: fb.ones(3, device=device).nonzero(), told("gather", 7))


def test_a_device_without_indices_reads_nothing_more(gpu):
    from flambeau.device import native

    if native.provider().__name__ == "wgpudawn":
        pytest.skip("Dawn opens an adapter once")
    fresh = native.NativeDevice(gpu.adapter)
    assert (fb.ones(3, device=fresh) + 1).tolist() == [2.0, 2.0, 2.0] and not fresh.faults
    assert fb.arange(3, device=fresh)[given([2], fresh)].tolist() == [2] and fresh.faults


def test_a_saved_program_raises(gpu, tmp_path):
    table = fb.arange(5.0, device=gpu).unsqueeze(1)
    program = fb.load_program(fb.save_program(lambda i: F.embedding(i, table), {"i": "i32[N]"}, tmp_path, 3))
    y = program(given([4, 7], program.device))
    for _ in range(2):
        raises(y.tolist, told("embedding", 7, 5))
    assert program(given([4, 0], program.device)).tolist() == [[4.0], [0.0]]


def test_what_a_saved_program_computes_once_raises_in_each_call(gpu, tmp_path):
    """Values of weights alone are not computed again, and stay no numbers."""
    table, places = fb.arange(10.0, device=gpu).reshape(5, 2), [given([i, 1], gpu) for i in (7, 4)]
    for i, name in zip(places, ("bad", "good")):
        saved = fb.save_program(
            lambda x, i=i: x @ table.index_select(0, i).softmax(0), {"x": "f32[N, 2]"}, tmp_path / name, 3
        )
        program = fb.load_program(saved)
        assert program.plans["plans"][0]["setup"]
        for n in (1, 2, 1):
            y = program(fb.ones(n, 2, device=program.device))
            for _ in range(2):
                if name == "bad":
                    raises(y.tolist, told("index_select", 7, 5))
                else:
                    np.testing.assert_allclose(y.numpy(), 1)
    assert fb.ones(2, device=program.device).tolist() == [1, 1]


def test_against_pytorch(torch):
    x = torch.arange(12.0).reshape(N, 4)
    f, one = torch.nn.functional, torch.ones
    theirs = {
        "gather": lambda i: x.gather(0, i.unsqueeze(1).expand(3, 4)),
        "index_select": lambda i: x.index_select(0, i),
        "take": lambda i: x[:, 0].take(i),
        "__getitem__": lambda i: x[i],
        "scatter": lambda i: x[:, 0].scatter(0, i, one(3)),
        "scatter_add": lambda i: x[:, 0].scatter_add(0, i, one(3)),
        "scatter_reduce": lambda i: x[:, 0].scatter_reduce(0, i, one(3), "amax"),
        "index_add": lambda i: x.index_add(0, i, one(3, 4)),
        "index_copy": lambda i: x.index_copy(0, i, one(3, 4)),
        "index_fill": lambda i: x.index_fill(0, i, 7.0),
        "put": lambda i: x[:, 0].put(i, one(3)),
        "index_put": lambda i: x.index_put((i,), one(4)),
        "embedding": lambda i: f.embedding(i, x),
        "embedding_bag": lambda i: f.embedding_bag(i.unsqueeze(0), x),
        "one_hot": lambda i: f.one_hot(i, N),
        "cross_entropy": lambda i: f.cross_entropy(one(3, N), i),
        "nll_loss": lambda i: f.nll_loss(one(3, N), i),
        "multi_margin_loss": lambda i: f.multi_margin_loss(one(3, N), i),
        "multilabel_margin_loss": lambda i: f.multilabel_margin_loss(one(3, N), i.unsqueeze(1).expand(3, N)),
        "max_unpool": lambda i: f.max_unpool1d(one(1, 1, 1), i[:1].reshape(1, 1, 1), N),
    }

    def read(call, i):
        return call(i).tolist()

    def is_refused(call, *args):
        try:
            call(*args)
        except (IndexError, RuntimeError):
            return True
        return False

    for name, call in theirs.items():
        for first in range(-N - 2, N + 3):
            values = [first, N - 1, 1]
            ours = is_refused(read, OPS[name][0], given(values, "cpu"))
            assert ours == is_refused(call, torch.tensor(values)), (name, first)
