"""einops' words: patterns against NumPy, and their errors in full."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.named import einsum, pack, parse_shape, rearrange, reduce, repeat, unpack

X = np.arange(2 * 6 * 4 * 3, dtype="f4").reshape(2, 6, 4, 3)
HALVES = X.reshape(2, 3, 2, 4, 3).transpose(0, 1, 3, 2, 4).reshape(2, 3, 4, 6)
T = fb.tensor(X, device="cpu")


@pytest.mark.parametrize(
    ("pattern", "sizes", "expected"),
    [
        ("b h w c -> b c h w", {}, X.transpose(0, 3, 1, 2)),
        ("b h w c -> b (h w) c", {}, X.reshape(2, 24, 3)),
        ("b h w c -> (c b) (w h)", {}, X.transpose(3, 0, 2, 1).reshape(6, 24)),
        ("b (h two) w c -> b h w (two c)", {"two": 2}, HALVES),
        ("b ... c -> c b ...", {}, X.transpose(3, 0, 1, 2)),
        ("... c -> (... c)", {}, X.reshape(-1)),
        ("b h w c -> b 1 (h w c) ()", {}, X.reshape(2, 1, 72, 1)),
        (" b  h w c->b h w c ", {}, X),
    ],
)  # fmt: skip
def test_rearrange(pattern, sizes, expected):
    np.testing.assert_array_equal(rearrange(T, pattern, **sizes).numpy(), expected)


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "prod"])
def test_reduce(name):
    x = X / 100 + 0.5
    found = reduce(fb.tensor(x), "b (h p) (w q) c -> b c h w", name, p=2, q=2)
    blocks = x.reshape(2, 3, 2, 2, 2, 3).transpose(0, 5, 1, 3, 2, 4)
    expected = getattr(blocks, name)(axis=(-2, -1)) if name != "prod" else blocks.prod((-2, -1))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
    assert reduce(fb.tensor(x), "b h w c -> b () () c", name).shape == (2, 1, 1, 3)
    assert reduce(fb.tensor(x), "b h 4 c -> b h c", name).shape == (2, 6, 3)


def test_reduce_takes_truths_and_functions():
    assert reduce(T > 0, "b h w c -> b", "all").tolist() == [False, True]
    assert reduce(T > 0, "... c -> c", "any").tolist() == [True] * 3
    found = reduce(T, "b h w c -> b h", lambda t, dims: t.amax(dims) - t.amin(dims))
    np.testing.assert_array_equal(found.numpy(), np.ptp(X, axis=(2, 3)))


def test_repeat():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    t = fb.tensor(x)
    np.testing.assert_array_equal(repeat(t, "h w -> h w c", c=2).numpy(), np.stack([x, x], -1))
    np.testing.assert_array_equal(repeat(t, "h w -> (2 h) w").numpy(), np.tile(x, (2, 1)))
    np.testing.assert_array_equal(repeat(t, "h w -> h (w k)", k=3).numpy(), np.repeat(x, 3, 1))


def test_lists_are_stacked():
    found = rearrange([T, T + 1], "k b h w c -> b h w (c k)")
    assert found.shape == (2, 6, 4, 6)
    np.testing.assert_array_equal(found.numpy()[..., 1::2], X + 1)


def test_einsum():
    a, b = np.random.default_rng(0).normal(size=(2, 2, 3, 4)).astype("f4")
    found = einsum(fb.tensor(a), fb.tensor(b), "batch query feature, batch key feature -> batch query key")
    np.testing.assert_allclose(found.numpy(), np.einsum("bqf,bkf->bqk", a, b), atol=1e-5)
    total = einsum(fb.tensor(a), "... feature -> ...")
    np.testing.assert_allclose(total.numpy(), a.sum(-1), atol=1e-5)


def test_pack_and_unpack():
    parts = [T, T[:, 0, 0], T[:, 0]]
    joined, shapes = pack(parts, "b * c")
    assert joined.shape == (2, 24 + 1 + 4, 3) and shapes == [(6, 4), (), (4,)]
    for part, back in zip(parts, unpack(joined, shapes, "b * c"), strict=True):
        np.testing.assert_array_equal(part.numpy(), back.numpy())
    assert [p.shape for p in unpack(joined, [(9,), (-1, 2)], "b * c")] == [(2, 9, 3), (2, 10, 2, 3)]
    assert parse_shape(T, "b _ w _") == {"b": 2, "w": 4}


def test_named_tensors():
    x = fb.named.tensor(X, "batch row column channel", device="cpu")
    pattern = "batch row column channel -> batch (row column) channel"
    y = x.order("channel", "row", "batch", "column").rearrange(pattern)
    assert y.names == ("batch", "row_column", "channel")
    np.testing.assert_array_equal(y.numpy(), X.reshape(2, 24, 3))
    back = y.rearrange("... (row column) -> ... row column", row=6)
    assert back.sizes == {"batch": 2, "channel": 3, "row": 6, "column": 4}
    assert x.reduce("batch ... channel -> channel batch", "mean").names == ("channel", "batch")
    assert x.repeat("... -> new ...", new=2).sizes == {"new": 2, **x.sizes}
    w = fb.named.tensor(np.ones((5, 3), "f4"), "feature channel", device="cpu")
    product = fb.named.einsum(x, w, "batch row column channel, channel feature -> batch feature")
    assert product.names == ("batch", "feature")


T23 = fb.zeros(2, 3, device="cpu")
NAMED = fb.named.tensor(T23, "row column")
REFUSALS = {
    "rearrange(f32[2, 3], 'a b'): a pattern has one ->, between the dims before and after": (
        lambda: rearrange(T23, "a b")
    ),
    "rearrange(f32[2, 3], 'a a -> a'): 'a' occurs twice in 'a a': name each dim once": (
        lambda: rearrange(T23, "a a -> a")
    ),
    "rearrange(f32[2, 3], 'a b c -> a b c'): the left side has 3 dims, the tensor 2: name each": (
        lambda: rearrange(T23, "a b c -> a b c")
    ),
    "rearrange(f32[2, 3], 'a b -> a'): 'b' is only on the left: use reduce to remove a dim": (
        lambda: rearrange(T23, "a b -> a")
    ),
    "rearrange(f32[2, 3], 'a b -> a b c'): 'c' is new on the right: give its size, as c=2": (
        lambda: rearrange(T23, "a b -> a b c")
    ),
    "rearrange(f32[2, 3], 'a b -> a b c'): 'c' is only on the right: use repeat to add a dim": (
        lambda: rearrange(T23, "a b -> a b c", c=2)
    ),
    "rearrange(f32[2, 3], 'a (b c) -> a b c'): the sizes of 'b' and 'c' are unknown: give one of them": (
        lambda: rearrange(T23, "a (b c) -> a b c")
    ),
    "rearrange(f32[2, 3], 'a (b c) -> a b c'): (b c) is a dim of size 3, which 2 does not fit": (
        lambda: rearrange(T23, "a (b c) -> a b c", c=2)
    ),
    "rearrange(f32[2, 3], 'a b -> b a'): 'z' has a size and is not in the pattern: remove it": (
        lambda: rearrange(T23, "a b -> b a", z=2)
    ),
    "rearrange(f32[2, 3], 'a b -> (a b'): parentheses of '(a b' do not match or nest: write (a b)": (
        lambda: rearrange(T23, "a b -> (a b")
    ),
    "rearrange(f32[2, 3], 'a-b -> a'): '-' is not part of a pattern: use names, (), 1, ...": (
        lambda: rearrange(T23, "a-b -> a")
    ),
    "rearrange(f32[2, 3], '(... a) -> a'): ... is inside parentheses on the left: write it outside": (
        lambda: rearrange(T23, "(... a) -> a")
    ),
    "rearrange(f32[2, 3], 'a b -> a b ...'): ... is only on the right: write it on the left too": (
        lambda: rearrange(T23, "a b -> a b ...")
    ),
    "reduce(f32[2, 3], 'a b -> a'): 'med' is not a reduction: use one of 'sum', 'mean', 'max', "
    "'min', 'prod', "
    "'any', 'all', or a function": lambda: reduce(T23, "a b -> a", "med"),
    "rearrange([row 2, column 3], 'row y -> y row'): the tensor has no dim 'y': (a b) on the left is the dim "
    "a_b": lambda: NAMED.rearrange("row y -> y row"),
    "rearrange([row 2, column 3], 'row -> row'): 'column' is not in the pattern: name all dims, or "
    "write ...": (lambda: NAMED.rearrange("row -> row")),
    "rearrange([row 2, column 3], 'row column -> row 1 column'): a dim on the right has no name: "
    "write a name "
    "in place of a number": lambda: NAMED.rearrange("row column -> row 1 column"),
    "einsum(f32[2, 3], f32[3, 2], 'a b, a c -> b c'): 'a' has sizes 2 and 3": (
        lambda: einsum(T23, T23.t(), "a b, a c -> b c")
    ),
    "einsum(f32[2, 3], 'a b, b c -> a c'): 2 terms for 1 tensors: write one for each": (
        lambda: einsum(T23, "a b, b c -> a c")
    ),
    "einsum([row 2, column 3], 'row y -> row'): a term has 'row y' for dims 'row column': name the same": (
        lambda: einsum(NAMED, "row y -> row")
    ),
    "pack([f32[2, 3]], 'a b'): a pattern of pack has one *, as 'b * c'": lambda: pack([T23], "a b"),
    "unpack(f32[2, 3], [(2,)], 'a *'): the shapes have 2 elements along *, the tensor 3": (
        lambda: unpack(T23, [(2,)], "a *")
    ),
    "parse_shape(f32[2, 3], 'a'): 1 names for 2 dims: write one for each, or _": lambda: parse_shape(
        T23, "a"
    ),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text):
    with pytest.raises(ValueError) as told:
        REFUSALS[text]()
    assert str(told.value) == text


def test_a_pattern_is_a_view():
    """A pattern adds movement only: it has no kernel of its own."""
    y = rearrange(fb.tensor(X), "b (h p) w c -> b w c h p", p=2) + 1
    assert str(y.plan()).startswith("1 kernel")
