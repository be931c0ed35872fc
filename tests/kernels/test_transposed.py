"""Maps of inputs that lie the other way round: the values of tiles, and when they are chosen."""

import numpy as np
from helpers.compare import values
from helpers.draws import draws, off, one_of, some
from helpers.kernels import planned_for
from helpers.paper import PaperDevice

import flambeau as fb
from flambeau.core.limits import Limits
from flambeau.fusion.planner import plan

DTYPES = ("f4", "f4", "f2", "i4", "u1", "i2", "bool")


def moved(rng, shape):
    """A random order of dims that moves the last one."""
    while True:
        order = rng.permutation(len(shape)).tolist()
        if order[-1] != len(shape) - 1:
            return order


def turned(x, order, cut, flip):
    """An array or tensor from `cut` on, with its dims in another order, the last perhaps reversed."""
    x = x[tuple(slice(c, None) for c in cut)]
    x = x.permute(order) if isinstance(x, fb.Tensor) else x.transpose(order)
    return x if not flip else x.flip([-1]) if isinstance(x, fb.Tensor) else x[..., ::-1]


def padded(x, n):
    pads = [(n, n)] * x.ndim
    if isinstance(x, fb.Tensor):
        return fb.nn.functional.pad(x, [n, n] * x.ndim)
    return np.pad(x, pads)


# what is made of a turned array t, one that lies straight, s, and a row of the inputs, r
FORMS = {
    "t": lambda t, s, r: t,
    "t + t": lambda t, s, r: t + t * t,
    "t + s": lambda t, s, r: t + s,
    "t * s + t": lambda t, s, r: (t + r) * s + t,
    "r": lambda t, s, r: t + r,
    "padded": lambda t, s, r: padded(t, 1),
}


def draw(rng):
    rank = some(rng, 2, 4)
    shape = [some(rng, 1, (0, 0, 75, 17, 9)[rank]) for _ in range(rank)]
    d = rng.integers(rank)
    shape[d] = some(rng, 30, 300 if rank == 2 else 70)
    dtype, form = np.dtype(one_of(rng, DTYPES)), one_of(rng, list(FORMS))
    if dtype.kind == "b" and form != "t":
        dtype = np.dtype("f4")
    x = rng.integers(0, 5, shape).astype(dtype)
    if dtype.kind == "f":
        x.flat[rng.integers(x.size, size=3)] = [np.nan, np.inf, -np.inf]
    order, cut = moved(rng, shape), [min(int(rng.integers(2)), n - 1) for n in shape]
    s = rng.integers(0, 3, [shape[i] - cut[i] for i in order]).astype(dtype)
    r = np.ascontiguousarray(s[..., :1])
    flip = bool(rng.integers(2))
    words = f"{form} of {shape} {dtype} by {order}, cut {cut}, flip {flip}"
    return words, x, s, r, lambda x, s, r: FORMS[form](turned(x, order, cut, flip), s, r)


def test_drawn(gpu, force):
    wrong, kinds = [], []
    force("transposed=tiles")
    for at, rng in draws("transposed", 16):
        words, x, s, r, call = draw(rng)
        with np.errstate(all="ignore"):
            want = call(x, s, r)
        with planned_for(gpu, software=False, groups=one_of(rng, (7, 65535))):
            inputs = [fb.tensor(a, device=gpu).realize() for a in (x, s, r)]
            y = call(*inputs).contiguous()
            kinds += [k.shader.template for k in plan([y.node], gpu.limits).kernels]
            got = values(y)[0]
        error = off(got, want)
        if not error <= (2e-3 if x.dtype.itemsize == 2 else 1e-6):
            wrong.append(f"{at}: {words}: off by {error:.1e}")
    assert not wrong, "\n".join(wrong)
    assert kinds.count("map/transposed.wgsl") >= len(kinds) // 3, kinds


def template(call, *shape, software=False, dtype=fb.float32):
    x = fb.zeros(*shape, device=PaperDevice(), dtype=dtype).realize()
    return [k.shader.template for k in plan([call(x).contiguous().node], Limits(software=software)).kernels]


def test_the_rule():
    tiles, direct = ["map/transposed.wgsl"], ["map/map.wgsl"]
    assert template(lambda x: x.T, 601, 611) == tiles
    assert template(lambda x: x.T * 2 + 1, 601, 611) == tiles
    assert template(lambda x: x.permute(0, 2, 1), 31, 61, 67) == tiles
    assert template(lambda x: x.T, 65537, 3) == tiles
    assert template(lambda x: x.T, 601, 611, software=True) == direct
    assert template(lambda x: x.T, 61, 61) == direct  # caches hold it
    assert template(lambda x: x.T, 3, 65537) == direct  # neighbours are read soon after each other
    assert template(lambda x: x.permute(1, 0, 2), 61, 67, 32) == direct  # rows stay rows
    assert template(lambda x: x + 1, 601, 611) == direct
    # packed elements are written four at a time
    assert template(lambda x: x.T, 604, 611, dtype=fb.float16) == tiles
    assert template(lambda x: x.T, 601, 611, dtype=fb.float16) == direct


def test_sums_of_turned_inputs_pass_through_one_tile():
    x = fb.zeros(600, 512, device=PaperDevice()).realize()
    y = ((x.T + x.T * 3).exp() + 1).contiguous()
    (kernel,) = plan([y.node], Limits()).kernels
    assert [name for name, _ in kernel.shader.functions if name.startswith("read")] == ["read_t6"]


def test_tiles_keep_bools_as_words(gpu, force):
    """NVIDIA's driver loses some of an array of bools in workgroup memory."""
    force("transposed=tiles")
    x = np.random.default_rng(0).random((17, 3, 6)) < 0.5
    with planned_for(gpu, software=False):
        y = fb.tensor(x, device=gpu).realize().permute(1, 2, 0).contiguous()
        assert "array<u32, 1056>" in y.wgsl() and "array<bool" not in y.wgsl()
        np.testing.assert_array_equal(y.numpy(), x.transpose(1, 2, 0))
