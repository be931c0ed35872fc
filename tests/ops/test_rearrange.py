"""Rearrangements, joins and splits against NumPy; sizes 0 and 1, rank 0, many inputs, views as inputs."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.views import mixed

import flambeau as fb

A = np.arange(2 * 5 * 6, dtype="f4").reshape(2, 5, 6)
F = fb.nn.functional


def both(a, device):
    """The array as it lies, and as a view of something larger."""
    return fb.tensor(a, device=device), mixed(a, device)


MOVES = {
    "roll all": (lambda x: x.roll(7), lambda x: np.roll(x, 7)),
    "roll far": (lambda x: x.roll(-13, 1), lambda x: np.roll(x, -13, 1)),
    "rot90": (lambda x: x.rot90(1, (1, 2)), lambda x: np.rot90(x, 1, (1, 2))),
    "rot90 twice": (lambda x: x.rot90(-2, (0, -1)), lambda x: np.rot90(x, -2, (0, -1))),
    "movedim": (lambda x: x.movedim((2, 0), (0, 1)), lambda x: np.moveaxis(x, (2, 0), (0, 1))),
    "moveaxis": (lambda x: x.moveaxis(-1, 0), lambda x: np.moveaxis(x, -1, 0)),
    "swapdims": (lambda x: x.swapdims(0, 2), lambda x: x.swapaxes(0, 2)),
    "squeeze": (lambda x: x[:, :1, :1].squeeze((1, 2)), lambda x: x[:, 0, 0]),
    "repeat more": (lambda x: x.repeat(2, 1, 2, 3), lambda x: np.tile(x, (2, 1, 2, 3))),
    "repeat none": (lambda x: x.repeat((1, 0, 2)), lambda x: np.tile(x, (1, 0, 2))),
    "interleave": (lambda x: x.repeat_interleave(3, 1), lambda x: np.repeat(x, 3, 1)),
    "interleave all": (lambda x: x.repeat_interleave(2), lambda x: np.repeat(x, 2)),
    "interleave none": (lambda x: x.repeat_interleave(0, 1), lambda x: np.repeat(x, 0, 1)),
    "expand": (lambda x: fb.broadcast_to(x, (3, 2, 5, 6)), lambda x: np.broadcast_to(x, (3, 2, 5, 6))),
    "kron": (lambda x: x.kron(x[0, :2, :2]), lambda x: np.kron(x, x[0, :2, :2])),
    "ravel": (lambda x: x.T.ravel(), lambda x: x.T.ravel()),
    "windows": (lambda x: x.unfold(1, 2, 2), lambda x: np.stack([x[:, 0:2], x[:, 2:4]], 1).swapaxes(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", MOVES)
def test_moves(name, device):
    ours, theirs = MOVES[name]
    for x in both(A, device):
        check(ours(x).numpy(), theirs(A), 0, name)


NOTHING = {
    "roll": lambda x: x.roll(1, 0),
    "repeat": lambda x: x.repeat(2, 1, 1),
    "flip": lambda x: x.flip((0, 1)),
    "ravel": lambda x: x.ravel(),
    "pad": lambda x: x.pad((1, 1)),
    "reflect": lambda x: x.pad((1, 1, 0, 0), "reflect"),
    "cat": lambda x: fb.cat([x, x, x], 0),
    "stack": lambda x: fb.stack([x] * 5),
    "chunk": lambda x: x.chunk(2, 1)[0],
    "split": lambda x: x.split(3, 0)[0],
    "unbind": lambda x: fb.stack(x.unbind(2)),
    "add": lambda x: x.index_add(2, [0, 1], x[:, :, :2]),
    "scatter": lambda x: x.scatter(2, np.zeros((0, 0, 3), int), x),
}


@pytest.mark.parametrize("name", NOTHING)
def test_no_elements(name, device):
    shapes = {"roll": (0, 0, 3), "repeat": (0, 0, 3), "flip": (0, 0, 3), "ravel": (0,), "pad": (0, 0, 5),
              "reflect": (0, 0, 5), "cat": (0, 0, 3), "stack": (5, 0, 0, 3), "chunk": (0, 0, 3),
              "split": (0, 0, 3), "unbind": (3, 0, 0), "add": (0, 0, 3), "scatter": (0, 0, 3)}  # fmt: skip
    y = NOTHING[name](fb.zeros(0, 0, 3, device=device))
    assert y.shape == shapes[name] and y.numpy().shape == shapes[name]


def test_unflatten_looks_at_its_dim_alone(device):
    x = fb.zeros(62, 0, device=device)
    assert x.unflatten(0, (2, -1)).shape == (2, 31, 0) and x.unflatten(1, (-1, 3)).shape == (62, 0, 3)
    with pytest.raises(ValueError) as caught:
        x.unflatten(0, (3, -1))
    told = "unflatten(f32[62, 0], 0, (3, -1)): sizes [3, -1] do not multiply to the 62 of dim 0"
    assert str(caught.value) == told


def test_gradients_of_one_number(device):
    x = fb.tensor(7.0, device=device, requires_grad=True)
    y = (x * 2).flip(()) * 3
    assert y.item() == 42 and y.backward()[x].item() == 6


def test_one_number(device):
    x = fb.tensor(7.0, device=device)
    zero, one = np.array(0), fb.ones(1, device=device)
    pairs = [
        (x.roll(1), 7), (x.ravel(), [7]), (x.repeat(3), [7] * 3), (x.tile(2, 2), [[7, 7]] * 2),
        (x[None], [7]),
        (x.repeat_interleave(2), [7, 7]), (x.flip(()), 7), (x.take([0, 0]), [7, 7]), (x[...], 7),
        (x.index_select(0, [0]), 7), (x.gather(0, zero), 7), (x.scatter(0, zero, 3.0), 3), (x[True], [7]),
        (x.index_add(0, [0], one), 8), (x.unfold(0, 1, 1), [7]), (x.kron(x), 49), (fb.stack([x, x]), [7, 7]),
        (fb.hstack([x, x]), [7, 7]), (fb.atleast_3d(x), [[[7]]]), (x.scatter_add(0, zero, x), 14),
    ]  # fmt: skip
    for got, (_, want) in zip(values(*(y for y, _ in pairs)), pairs):
        check(got, np.array(want, "f4"), 0)
    x[...] = 2.0
    assert x.item() == 2


PADS = [(2, 1), (0, 3, 1, 0), (1, 0, 0, 2, 1, 1), (-1, 2), (2, -3, 0, 1), (-1, -2)]


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pad", PADS, ids=str)
def test_padding(mode, pad, device):
    pairs = [pad[i : i + 2] for i in range(0, len(pad), 2)][::-1]
    pairs = [(0, 0)] * (3 - len(pairs)) + pairs
    a = A[tuple(slice(max(-b, 0), n - max(-e, 0)) for (b, e), n in zip(pairs, A.shape))]
    modes = {"replicate": "edge", "circular": "wrap"}
    want = np.pad(a, [tuple(max(v, 0) for v in p) for p in pairs], modes.get(mode, mode))
    for x in both(A, device):
        check(F.pad(x, pad, mode).numpy(), want, 0)


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_padding_gradients(mode, device):
    """The gradient of an element is how often it is shown; the second one of a square is twice that."""
    x = fb.tensor(A[0], device=device, requires_grad=True)
    y = x.pad((2, 3, 1, 2), mode)
    (g,) = (y * y).sum().backward(create_graph=True)
    modes = {"replicate": "edge", "circular": "wrap"}
    shown = np.pad(np.arange(30).reshape(5, 6), [(1, 2), (2, 3)], modes.get(mode, mode))
    count = np.bincount(shown.ravel(), minlength=30).reshape(5, 6)
    check(g.numpy(), 2 * A[0] * count, 1e-6)
    check(g.sum().backward()[x].numpy(), 2.0 * count, 1e-6)


def test_splits(device):
    x, t = fb.tensor(A, device=device), A
    pairs = [
        (x.tensor_split(4, 2), np.array_split(t, 4, 2)), (x.hsplit([2, 3]), np.hsplit(t, [2, 3])),
        (x.tensor_split((1, -2, 9), 1), (t[:, :1], t[:, 1:3], t[:, 3:], t[:, :0])), (list(x), t),
        (x.vsplit(2), np.vsplit(t, 2)), (x.dsplit(3), np.dsplit(t, 3)), (x.unbind(1), np.moveaxis(t, 1, 0)),
        (x[0, 0].hsplit(3), np.hsplit(t[0, 0], 3)), (x.chunk(4, 2), np.array_split(t, 3, 2)),
        (x.split((0, 5), 1), (t[:, :0], t)), (fb.split(x, 4, 1), (t[:, :4], t[:, 4:])),
    ]  # fmt: skip
    for ours, theirs in pairs:
        assert len(ours) == len(theirs)
        for got, want in zip(values(*ours), theirs):
            check(got, want, 0)


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 15, 100, 500])
@pytest.mark.parametrize("kind", ["f4", "i4", "?"])
def test_cat_of_any_number(count, kind, device):
    rng = np.random.default_rng(count)
    parts = [rng.integers(0, 2, (3, int(n), 2)).astype(kind) for n in rng.integers(0, 5, count)]
    ours = [fb.tensor(a, device=device) for a in parts]
    ours[1] = mixed(parts[1], device)
    check(fb.cat(ours, 1).numpy(), np.concatenate(parts, 1), 0)


def test_many_are_joined_in_few_kernels(gpu):
    parts = [fb.ones(4, 3, device=gpu).realize() for _ in range(21)]
    assert len(fb.cat(parts, 1).plan()) == 3
    assert len((fb.cat(parts[:3], 1) * 2).plan()) == 1  # a view of each, fused


def test_cat_of_many_has_gradients(device):
    xs = [fb.tensor(np.full((2, i + 1), i, "f4"), device=device, requires_grad=True) for i in range(9)]
    y = fb.cat([x * x for x in xs], 1)
    grads = (y * y).sum().backward()
    for i, x in enumerate(xs):
        check(grads[x].numpy(), np.full((2, i + 1), 4.0 * i**3), 1e-6)


def test_cat_in_a_recorded_function(gpu):
    join = fb.jit(lambda x: fb.cat([x * i for i in range(12)]) + 1)
    for k in range(3):
        x = fb.full((5,), k, device=gpu)
        assert join(x).tolist() == [float(i * k + 1) for i in range(12) for _ in range(5)]


def test_a_tensor_is_a_copy_of_its_array(device):
    a = A.copy()
    x = fb.tensor(a, device=device)
    a[:] = 0
    assert np.array_equal(x.numpy(), A)


def test_counts_of_repeats_on_the_device(device):
    x, counts = fb.tensor(A, device=device, requires_grad=True), fb.tensor([2, 0, 3, 1, 0], device=device)
    want = np.repeat(A, [2, 0, 3, 1, 0], 1)
    y = x.repeat_interleave(counts, 1)
    again = fb.jit(lambda x, c: x.repeat_interleave(c, 1, output_size=6))
    check(y.numpy(), want, 0)
    for _ in range(2):
        check(again(x, counts).numpy(), want, 0)
    g = y.sum().backward()[x].numpy()
    check(g, np.broadcast_to(np.reshape([2, 0, 3, 1, 0], (1, 5, 1)), A.shape), 0)


ERRORS = [
    (lambda x: x.roll((1, 2), 0), "roll(f32[2, 3], (1, 2), 0): 2 shifts for 1 dims: pass one for each"),
    (
        lambda x: x.repeat(2),
        "repeat(f32[2, 3], 2): repeats=[2] must have a count of at least 0 for each of 2 dims, or more",
    ),
    (
        lambda x: x.movedim((0, 0), (0, 1)),
        "movedim(f32[2, 3], (0, 0), (0, 1)): source [0, 0] and destination [0, 1] must name"
        " equally many dims, each once",
    ),
    (
        lambda x: x.pad((3, 0), "reflect"),
        "pad(f32[2, 3], (3, 0), 'reflect'): mode='reflect' can pad dim 1 of size 3 by at most 2",
    ),
    (
        lambda x: x.pad((0, 0, 0, 3), "circular"),
        "pad(f32[2, 3], (0, 0, 0, 3), 'circular'): mode='circular' can pad dim 0 of size 2 by at most 2",
    ),
    (lambda x: x.pad((-2, -2)), "pad(f32[2, 3], (-2, -2)): -2 and -2 crop more than dim 1 of size 3 has"),
    (
        lambda x: x.pad((1, 1), "mirror"),
        "pad(f32[2, 3], (1, 1), 'mirror'): mode='mirror' with value=None: use 'constant' with a value, or"
        " 'reflect', 'replicate' or 'circular'",
    ),
    (
        lambda x: x.unfold(1, 4, 1),
        "tensor_unfold(f32[2, 3], 1, 4, 1): size 4 and step 1 do not fit in dim 1 of size 3",
    ),
    (lambda x: x.hsplit(2), "hsplit(f32[2, 3], 2): 2 sections do not divide size 3 of dim 1"),
    (
        lambda x: x.repeat_interleave([1, 2], 1),
        "repeat_interleave(f32[2, 3], [1, 2], 1): repeats must be 3 counts of at least 0",
    ),
    (
        lambda x: fb.cat([x, x.sum()]),
        "cat([f32[2, 3], f32[]]): 0-d tensors have no dim to be joined along: use stack",
    ),
    (
        lambda x: fb.stack([x, x[:, :1]]),
        "stack([f32[2, 3], f32[2, 1]]): shapes [2, 3] and [2, 1] differ",
    ),
]


@pytest.mark.parametrize("call, text", ERRORS, ids=lambda v: v[:20] if isinstance(v, str) else "")
def test_errors(call, text):
    with pytest.raises((IndexError, ValueError, TypeError)) as e:
        call(fb.ones(2, 3))
    assert e.value.args[0] == text


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_zeros_around_numbers_that_are_counted_or_drawn(dtype, device):
    """What a kernel makes itself goes on outside of its shape: padding ends it there."""
    x = fb.arange(4, dtype=getattr(fb, dtype), device=device)
    padded, last = fb.nn.functional.pad(x, (1, 2)), fb.nn.functional.pad(x, (-1, 1))
    np.testing.assert_array_equal(padded.numpy(), [0, 0, 1, 2, 3, 0, 0])
    np.testing.assert_array_equal((last + 1).numpy(), [2, 3, 4, 1])
    drawn = fb.nn.functional.pad(fb.rand(8, device=device), (2, 3)).numpy()
    assert not drawn[:2].any() and not drawn[10:].any() and drawn[2:10].all()
