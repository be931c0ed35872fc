"""The package einops on our tensors, and our words for it, against einops on NumPy."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.errors import FlambeauError

NAMES = "abcdef"


def drawn(rng):
    """A pattern with its sizes: a permutation of 1 to 5 names, in groups on both sides."""
    n = int(rng.integers(1, 6))
    names, sizes = list(NAMES[:n]), rng.integers(1, 4, n)

    def side(order):
        words, at = [], 0
        while at < len(order):
            size = int(rng.integers(1, 4))
            group = order[at : at + size]
            words.append((f"({' '.join(group)})", group) if len(group) > 1 else (group[0], group))
            at += size
        return words

    left = side(names)
    known = dict(zip(names, map(int, sizes), strict=True))
    shape = [int(np.prod([known[c] for c in group])) for _, group in left]
    given = {c: known[c] for _, group in left for c in group[1:]}
    return left, side, known, shape, given


@pytest.mark.parametrize("seed", range(4))
def test_words_equal_einops(seed, torch):
    einops = pytest.importorskip("einops")
    fb.named.use_einops()
    rng = np.random.default_rng(seed)
    for _ in range(25):
        left, side, _, shape, given = drawn(rng)
        x = rng.normal(size=shape).astype("f4")
        names = [c for _, group in left for c in group]
        text = " ".join(word for word, _ in left)
        whole = f"{text} -> {' '.join(word for word, _ in side([*rng.permutation(names)]))}"
        t = fb.tensor(x)
        np.testing.assert_array_equal(
            fb.named.rearrange(t, whole, **given).numpy(), einops.rearrange(x, whole, **given)
        )
        np.testing.assert_array_equal(
            einops.rearrange(t, whole, **given).numpy(), einops.rearrange(x, whole, **given)
        )
        kept = [*rng.permutation(names)][: int(rng.integers(0, len(names) + 1))]
        part = f"{text} -> {' '.join(word for word, _ in side(kept))}"
        for reduction in ("sum", "max", "min", "mean", "prod"):
            expected = einops.reduce(x, part, reduction, **given)
            for found in (
                fb.named.reduce(t, part, reduction, **given),
                einops.reduce(t, part, reduction, **given),
            ):
                np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-5)
        more = f"{text} -> {' '.join([*(word for word, _ in side(names)), 'new'])}"
        expected = einops.repeat(x, more, new=2, **given)
        for found in (fb.named.repeat(t, more, new=2, **given), einops.repeat(t, more, new=2, **given)):
            np.testing.assert_array_equal(found.numpy(), expected)


def test_packs_and_sums_equal_einops(torch):
    einops = pytest.importorskip("einops")
    fb.named.use_einops()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 3, 4, 5)).astype("f4"), rng.normal(size=(2, 5)).astype("f4")
    expected, shapes = einops.pack([x, y], "b * c")
    for words in (einops, fb.named):
        found, found_shapes = words.pack([fb.tensor(x), fb.tensor(y)], "b * c")
        np.testing.assert_array_equal(found.numpy(), expected)
        assert [tuple(s) for s in found_shapes] == [tuple(s) for s in shapes]
        back = words.unpack(found, found_shapes, "b * c")
        np.testing.assert_array_equal(back[0].numpy(), x)
        total = words.einsum(fb.tensor(x), fb.tensor(y), "b h w c, b c -> b w h")
        np.testing.assert_allclose(total.numpy(), np.einsum("bhwc,bc->bwh", x, y), atol=1e-5)


def test_arrays_keep_float64_where_the_device_has_it(torch):
    """A product of many float64 numbers is beyond float32, as in einops' own test."""
    pytest.importorskip("einops")
    fb.named.use_einops()
    backend = fb.named.einops_backend._registered[0]()
    x = np.full(8, 1e30)
    for device, dtype in (("cpu", fb.float64), ("gpu", fb.float32)):
        fb.set_default_device(device)
        try:
            t = backend.from_numpy(x)
            assert t.dtype is dtype and backend.from_numpy(np.arange(3)).dtype is fb.int64
        finally:
            fb.set_default_device(None)
        product = backend.reduce(t, "prod", (0,)).item()
        assert product == (pytest.approx(1e240) if device == "cpu" else float("inf"))


def test_without_einops(monkeypatch):
    """A clear error where the package is not installed."""
    backend = fb.named.einops_backend

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(backend, "import_module", missing)
    monkeypatch.setattr(backend, "_registered", [])
    with pytest.raises(FlambeauError) as told:
        fb.named.use_einops()
    assert str(told.value) == "use_einops(): einops is not installed: run pip install einops"
