"""The packed dtypes: floats of 16 bits, integers of 16 and 8: every value, rounding, wrap-around, views."""

import numpy as np
import pytest
from helpers.compare import check, values
from helpers.views import flipped, mixed, sliced, transposed

import flambeau as fb
from flambeau.core.dtype import DTYPES
from flambeau.core.host import from_raw, to_list, to_raw

PACKED = [fb.float16, fb.bfloat16, fb.int8, fb.uint8, fb.int16, fb.uint16]
HALVES = np.arange(65536, dtype="u2")
EPS = {fb.float16: 2.0**-10, fb.bfloat16: 2.0**-7}


def every(dtype) -> np.ndarray:
    """Every value that a packed dtype has, as NumPy holds it."""
    bits = HALVES if dtype.itemsize == 2 else np.arange(256, dtype="u1")
    return from_raw(bits.tobytes(), dtype)


def equal(got, want) -> bool:
    """Bit for bit but for NaN's payload; an adapter may take denormal float32s for 0."""
    want = np.asarray(want)
    if want.dtype.kind == "f":
        flushed = (got == 0) & (np.abs(want) < 2.0**-126)
        return got.shape == want.shape and bool(
            ((got == want) | (np.isnan(got) & np.isnan(want)) | flushed).all()
        )
    return np.array_equal(got, want)


def rounded(x, dtype) -> np.ndarray:
    """Float32s to the nearest value of a dtype, halves to even: for bfloat16 in integers, by hand."""
    x = np.asarray(x, "f4")
    if dtype is fb.float16:
        with np.errstate(over="ignore"):
            return x.astype("f2")
    bits = x.view("u4").astype("u8")
    low, high = bits & 0xFFFF, bits >> 16
    up = (low > 0x8000) | ((low == 0x8000) & (high % 2 == 1))
    found = ((high + up) << 16).astype("u4").view("f4")
    return np.where(np.isnan(x), x, found)


@pytest.fixture(params=PACKED, ids=lambda d: d.name)
def dtype(request):
    return request.param


@pytest.fixture(params=[fb.float16, fb.bfloat16], ids=lambda d: d.name)
def half(request):
    return request.param


# --- every value


def test_every_value_goes_round(dtype, device):
    """Stored and read, copied by a kernel four at a time and one by one, and widened."""
    x = every(dtype)
    t = fb.tensor(x, dtype=dtype, device=device)
    assert t.dtype is dtype and t.numpy().dtype == dtype.numpy
    found = values(t, t + 0, t[1:], t.flip(0), t.to(fb.float32), t.to(dtype.wide))
    wanted = [x, x, x[1:], x[::-1], x.astype("f4"), x.astype(dtype.wide.name)]
    for got, want in zip(found, wanted):
        assert equal(got, want), dtype.name
    assert equal(np.array(t.tolist(), dtype.numpy), x)


def test_every_half_is_told_by_its_bits(half, device):
    x = every(half)
    t = fb.tensor(x, dtype=half, device=device)
    for got, want in zip(
        values(t.isnan(), t.isinf(), -t, t.abs()), (np.isnan(x), np.isinf(x), -x, np.abs(x))
    ):
        assert equal(got, want)


def test_rounding_is_to_nearest_even(half, device):
    """Around every value: just above it, half way to the next, and just below that."""
    x = every(half).astype("f4")
    x = x[np.isfinite(x) & (np.abs(x) >= 2.0**-24)]  # denormal float32s may be taken for zero
    step = np.ldexp(np.float32(EPS[half]), np.frexp(x)[1] - 1)
    step = np.maximum(step, np.float32(2.0**-24)) if half is fb.float16 else step
    near = np.concatenate([x, x + step / 2, x - step / 2, x * np.float32(1.0001), x * np.float32(0.9999)])
    near = np.concatenate(
        [near, np.float32([65504, 65519, 65520, 1e30, 3.4e38, -65520, -3e38, np.inf, np.nan])]
    )
    t = fb.tensor(near, device=device)
    assert equal(t.to(half).numpy(), rounded(near, half))
    assert equal(t.to(half).float().numpy(), rounded(near, half).astype("f4"))  # in one kernel: rounded too


def test_host_rounding_agrees(half):
    """Lists without NumPy's help, and arrays, are rounded as kernels round."""
    x = np.random.default_rng(0).normal(size=500).astype("f4") * np.geomspace(1e-9, 1e9, 500).astype("f4")
    x = np.concatenate([x, np.float32([0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30])])
    want = rounded(x, half)
    assert equal(fb.tensor(x.tolist(), dtype=half, device="cpu").numpy(), want)
    assert equal(fb.tensor(x, dtype=half, device="cpu").numpy(), want)
    assert equal(np.array(to_list(to_raw(x, half), x.shape, half), "f4"), want.astype("f4"))


# --- integers wrap


def test_bytes_wrap_after_every_op(device):
    i, u = every(fb.int8), every(fb.uint8)
    x, y = np.meshgrid(i, i[::7])
    a, b = fb.tensor(x, device=device), fb.tensor(y, device=device)
    u, v = x.view("u1"), y.view("u1")
    c, d = fb.tensor(u, device=device), fb.tensor(v, device=device)
    made = [a + b, a * b, a - b, -a, a * b // 3, a + 300, c + d, c - d, c * d, (c - d) // 2, ~c, ~a, c << 3]
    with np.errstate(over="ignore"):
        wanted = [x + y, x * y, x - y, -x, x * y // 3, x + np.int8(44), u + v, u - v, u * v, (u - v) // 2]
        wanted += [~u, ~x, u << 3]
    for got, want in zip(values(*made), wanted):
        assert got.dtype == want.dtype and equal(got, want)


def test_integers_of_16_bits_wrap_after_every_op(device):
    rng = np.random.default_rng(11)
    x, y = (rng.integers(-(2**15), 2**15, 333).astype("i2") for _ in range(2))
    a, b = fb.tensor(x, device=device), fb.tensor(y, device=device)
    u, v = x.view("u2"), y.view("u2")
    c, d = fb.tensor(u, device=device), fb.tensor(v, device=device)
    made = [a + b, a * b, a - b, -a, a * b // 3, c + d, c - d, c * d, (c - d) // 2, ~c, ~a, c << 5, a >> 3]
    with np.errstate(over="ignore"):
        wanted = [x + y, x * y, x - y, -x, x * y // 3, u + v, u - v, u * v, (u - v) // 2, ~u, ~x, u << 5]
        wanted += [x >> 3]
    for got, want in zip(values(*made), wanted):
        assert got.dtype == want.dtype and equal(got, want)
    wide = fb.tensor([70000, -1, 40000, -40000], device=device)
    assert [t.tolist() for t in (wide.short(), wide.to(fb.uint16), wide.float().short())] == [
        [4464, -1, -25536, 25536], [4464, 65535, 40000, 25536], [4464, -1, -25536, 25536],
    ]  # fmt: skip
    assert wide.float().to(fb.uint16).tolist() == [4464, 65535, 40000, 25536]


def test_fused_bytes_equal_unfused(gpu):
    rng = np.random.default_rng(1)
    for name in ("int8", "uint8", "int16", "uint16"):
        x = rng.integers(0, 256, 999 * np.dtype(name).itemsize).astype("u1").view(name)

        def chain(settle, x=x):
            y = settle(fb.tensor(x, device=gpu) * 7)
            y = settle(settle(y + 100) // 3)
            return settle(settle(y > 20).where(settle(y - 50), y).float() * 0.5)

        lazy, eager = values(chain(lambda t: t), chain(lambda t: t.realize()))
        assert equal(lazy, eager)


# --- layouts


@pytest.mark.parametrize("n", range(10))
@pytest.mark.share(5)
def test_odd_sizes(n, dtype, device):
    x = np.arange(1, n + 1).astype(dtype.numpy)
    t = fb.tensor(x, dtype=dtype, device=device)
    made = [t, t + t, t * 1, t[1:], t[::2], t.flip(0), t.sum(), t.reshape(n, 1).expand(n, 3), t.float()]
    wanted = [x, x + x, x, x[1:], x[::2], x[::-1], x.sum(), np.repeat(x[:, None], 3, 1), x.astype("f4")]
    for got, want in zip(values(*made), wanted):
        assert got.shape == np.shape(want) and equal(got, want)
    assert fb.tensor(x.tolist(), dtype=dtype, device=device).tolist() == x.tolist()


@pytest.mark.parametrize("view", [transposed, sliced, flipped, mixed], ids=lambda f: f.__name__)
@pytest.mark.share(5)
def test_views(view, dtype, gpu):
    x = np.random.default_rng(2).integers(0, 30, (6, 7)).astype(dtype.numpy)
    t = view(x, gpu).to(dtype) if dtype is fb.bfloat16 else view(x, gpu)
    assert t.dtype is dtype
    m = t.float() @ t.float().t()
    made = [t, t + 1, t[1:, 3:5], t.t()[::-2], t.pad((1, 2)), t.reshape(3, 14), t.sum(0), t.amax(1), m]
    wide = x.astype("i8")
    wanted = [x, x + 1, x[1:, 3:5], x.T[::-2], np.pad(x, ((0, 0), (1, 2))), x.reshape(3, 14), wide.sum(0)]
    wanted += [x.max(1), wide @ wide.T]
    for got, want in zip(values(*made), wanted):
        assert equal(got, np.asarray(want))


def test_zero_sizes(dtype, device):
    x = fb.zeros(0, 3, dtype=dtype, device=device)
    assert (x + x).numpy().shape == (0, 3) and x.sum().item() == 0 and x.sum(0).tolist() == [0, 0, 0]
    assert fb.cat([x, fb.ones(2, 3, dtype=dtype, device=device)]).tolist() == [[1] * 3] * 2
    assert (x.t() @ x).tolist() == [[0] * 3] * 3


def test_creation(dtype, device):
    at = {"dtype": dtype, "device": device}
    made = [
        fb.full((5,), 3, **at),
        fb.zeros(3, **at),
        fb.ones(2, 2, **at),
        fb.arange(6, **at),
        fb.tensor(7, **at),
    ]
    assert all(t.dtype is dtype for t in made)
    assert [t.tolist() for t in made] == [[3] * 5, [0] * 3, [[1, 1]] * 2, [0, 1, 2, 3, 4, 5], 7]
    assert fb.zeros_like(made[0]).dtype is dtype
    assert made[4].item() == 7 and isinstance(made[4].item(), float if dtype.is_float else int)


# --- sums, products, joins


def test_sums_are_made_in_float32(half, device):
    """4,096 times 1 + 8 eps: a sum in 16 bits would stop growing long before its end."""
    one = 1 + 8 * EPS[half]
    x = fb.full((4096,), one, dtype=half, device=device)
    m = x.reshape(1, -1) @ fb.ones(4096, 1, dtype=half, device=device)
    for t in (x.sum(), m.reshape(()), x.mean() * 4096, x.reshape(64, 64).sum(1).sum()):
        assert t.dtype is half and t.item() == pytest.approx(4096 * one, rel=EPS[half])
    assert x.sum(dtype=fb.float32).item() == 4096 * one
    big = fb.full((4,), 300.0, dtype=half, device=device)
    assert big.norm().item() == 600 and big.std().item() == 0 and big.softmax(0).tolist() == [0.25] * 4


@pytest.mark.share(5)
def test_reductions(dtype, device):
    x = np.random.default_rng(3).integers(0, 9, (37, 41)).astype(dtype.numpy)
    t = fb.tensor(x, dtype=dtype, device=device)
    wide = fb.int64 if dtype.is_int else dtype
    made = [
        (t.sum(0), wide, x.astype("i8").sum(0)),
        (t[:3, :3].prod(0), wide, x[:3, :3].astype("i8").prod(0)),
        (t.amax(1), dtype, x.max(1)),
        (t.amin(0), dtype, x.min(0)),
        (t.max(1)[0], dtype, x.max(1)),
        (t.argmax(1), fb.int64, x.argmax(1)),
        (t.argmin(), fb.int64, x.argmin()),
        (t.any(0), dtype if dtype is fb.uint8 else fb.bool_, x.any(0)),  # as in PyTorch
    ]
    for got, (y, kind, want) in zip(values(*(m[0] for m in made)), made):
        assert y.dtype is kind and equal(got.astype("f8"), want.astype("f8"))
    assert t.float().mean().item() == pytest.approx(x.astype("f8").mean())


def test_index_of_a_computed_extreme(half, device):
    """The extreme is stored rounded and looked for in the expression: it is found all the same."""
    a, b = (np.random.default_rng(s).uniform(0.5, 1, (8, 300)).astype("f4") for s in (4, 5))
    product = fb.tensor(a, half, device) * fb.tensor(b, half, device)
    index, top = values(product.argmax(1), product.amax(1))
    x = rounded(rounded(a, half).astype("f4") * rounded(b, half).astype("f4"), half)
    assert equal(index, x.argmax(1)) and equal(top, x.max(1))
    grad = fb.tensor(a, half, device, requires_grad=True)
    assert (grad * 3).amax(1).sum().backward()[grad].numpy().sum() == 8 * 3


@pytest.mark.parametrize("shape", [(5, 7, 3), (16, 12, 20), (64, 64, 64), (1, 33, 9), (70, 5, 130)])
@pytest.mark.share(5)
def test_matmul(shape, dtype, device):
    m, k, n = shape
    a, b = (np.random.default_rng(6).integers(-3 * (dtype.kind != "u"), 4, s) for s in ((m, k), (k, n)))
    x, y = fb.tensor(a, dtype, device), fb.tensor(b, dtype, device)
    made = values(x @ y, (x @ y + 1).relu(), x.t() @ x, (y.t() @ x.t()).t())
    wanted = [a @ b, np.maximum((a @ b + 1).astype(dtype.numpy), 0), a.T @ a, a @ b]
    for got, want in zip(made, wanted):
        want = rounded(want, dtype) if dtype.is_float else want.astype(dtype.numpy)
        assert equal(got, want)


@pytest.mark.share(5)
def test_convolution_and_pools(half, device):
    rng = np.random.default_rng(7)
    x, w = (rounded(rng.normal(size=s), half) for s in ((2, 3, 9, 9), (4, 3, 3, 3)))
    F = fb.nn.functional
    t, u = fb.tensor(x, half, device), fb.tensor(w, half, device)
    a, b = t.float(), u.float()
    ops = [
        lambda x, w: F.conv2d(x, w, padding=1),
        lambda x, w: F.max_pool2d(x, 2),
        lambda x, w: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        lambda x, w: F.layer_norm(x, (9,)),
        lambda x, w: F.gelu(x),
        lambda x, w: x.softmax(1),
    ]
    for y, want in ((op(t, u), op(a, b)) for op in ops):
        assert y.dtype is half
        check(y.float().numpy(), want.numpy(), 4 * EPS[half])


@pytest.mark.share(5)
def test_joins_and_gathers(dtype, device):
    x = np.arange(35).reshape(5, 7).astype(dtype.numpy)
    t = fb.tensor(x, dtype, device)
    i = fb.tensor([3, -1, 0], device=device)
    made = [
        fb.cat([t, t[:, 1:3]], 1),
        fb.stack([t[0], t[1]]),
        t[i],
        t[:, i],
        t.gather(0, i.remainder(5).reshape(3, 1)),
        t[i.char()],
    ]
    wanted = [
        np.concatenate([x, x[:, 1:3]], 1),
        x[:2],
        x[[3, -1, 0]],
        x[:, [3, -1, 0]],
        x[[3, -1, 0], :1],
        x[[3, -1, 0]],
    ]
    for y, got, want in zip(made, values(*made), wanted):
        assert y.dtype is dtype and equal(got, want)
    mask = t > 10
    assert equal(mask.where(t, 0).numpy(), np.where(x > 10, x, 0)) and mask.where(t, 0).dtype is dtype


# --- programs, files, models


def test_recorded_calls_replay(dtype, gpu):
    step = fb.jit(lambda x, y: (x * 2 + y, (x + y).sum()))
    for seed in range(3):
        x, y = (np.random.default_rng([seed, i]).integers(0, 9, 13).astype(dtype.numpy) for i in (0, 1))
        a, b = step(fb.tensor(x, dtype, gpu), fb.tensor(y, dtype, gpu))
        assert a.dtype is dtype and equal(a.numpy(), x * 2 + y)
        assert b.item() == (x.astype("i4") + y).sum()
    assert len(step.programs) == 1


def test_files_keep_the_dtype(dtype, device, tmp_path):
    x = every(dtype)[:301]
    fb.save({"x": fb.tensor(x, dtype, device), "y": fb.ones(3, device=device)}, tmp_path / "t.safetensors")
    found = fb.load(tmp_path / "t.safetensors", device)
    assert found["x"].dtype is dtype and equal(found["x"].numpy(), x) and found["y"].tolist() == [1, 1, 1]


def test_numpy_arrays_keep_their_dtype():
    kept = "float16 int8 uint8 int16 uint16 float32 int32 uint32 int64 uint64 bool"
    for name in kept.split():
        t = fb.tensor(np.ones(3, name), device="cpu")
        assert t.dtype.name == name and t.numpy().dtype == name
    for name, kept in (("float64", "float32"),):
        assert fb.tensor(np.ones(3, name), device="cpu").dtype.name == kept


def test_arrays_of_an_extension_type_are_bfloat16():
    import ml_dtypes

    x = np.array([1.5, -2.0, 3.0], ml_dtypes.bfloat16)
    t = fb.tensor(x, device="cpu")
    assert t.dtype is fb.bfloat16 and t.tolist() == [1.5, -2.0, 3.0]
    assert fb.tensor(x, dtype=fb.int8, device="cpu").tolist() == [1, -2, 3]


def test_values_that_do_not_fit_are_refused():
    for data, dtype, said in [
        ([300], fb.uint8, "tensor(...): 300 does not fit u8, which holds 0 to 255"),
        ([-129], "int8", "tensor(...): -129 does not fit i8, which holds -128 to 127"),
        (np.array([200], "u1"), fb.int8,
         "tensor(array of uint8): values 200 to 200 do not fit i8, which holds -128 to 127"),
    ]:  # fmt: skip
        with pytest.raises(ValueError) as e:
            fb.tensor(data, dtype=dtype, device="cpu")
        assert str(e.value) == said


@pytest.mark.share(5)
def test_models_train_in_half_precision(half, device):
    fb.manual_seed(0)
    model = fb.nn.Sequential(
        fb.nn.Linear(8, 32), fb.nn.BatchNorm1d(32), fb.nn.ReLU(), fb.nn.Linear(32, 2)
    ).to(device)
    assert model.to(half) is model and all(p.dtype is half and p.requires_grad for p in model.parameters())
    assert [b.dtype.kind for b in model.buffers()] == ["f", "f", "i"]
    optimizer = fb.optim.Adam(model.parameters(), lr=1e-2)
    x = fb.tensor(np.random.default_rng(8).normal(size=(64, 8)), half, device)
    y = (x.float().sum(1) > 0).int()
    losses = []
    for _ in range(20):
        loss = fb.nn.functional.cross_entropy(model(x), y)
        grads = loss.backward()
        assert loss.dtype is half and all(grads[p].dtype is half for p in model.parameters())
        optimizer.step(grads)
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0] and model.float()(x.float()).dtype is fb.float32
    assert optimizer.state[optimizer.params[0]]["exp_avg"].dtype is fb.float32


def test_gradients_are_of_their_inputs_dtype(half, device):
    a, b = (np.random.default_rng(s).normal(size=(4, 4)).astype("f4") for s in (9, 10))
    x = fb.tensor(a, half, device, requires_grad=True)
    w = fb.tensor(b, device=device, requires_grad=True)
    grads = (x @ w).tanh().mean().backward()
    assert grads[x].dtype is half and grads[w].dtype is fb.float32
    y = fb.tensor(rounded(a, half).astype("f4"), device=device, requires_grad=True)
    check(grads[x].float().numpy(), (y @ w).tanh().mean().backward()[y].numpy(), EPS[half])


def test_casts_between_all(device):
    """As NumPy casts; what leaves the range of 8 bits wraps."""
    raw = {
        d: np.array([0, 1, 2, 100, 127], "f4").astype(d.numpy)
        for d in DTYPES.values()
        if d.on_gpu and not d.is_complex
    }
    pairs = [(a, b) for a in raw for b in raw]
    made = [fb.tensor(raw[a], a, device).to(b) for a, b in pairs]
    for y, got, (a, b) in zip(made, values(*made), pairs):
        want = raw[a].astype(b.numpy)
        assert y.dtype is b and equal(got, want), f"{a.name} to {b.name}"
    x = fb.tensor([300, -1, 1000, -300], device=device)
    assert [t.tolist() for t in (x.byte(), x.char(), x.float().byte(), x.float().char())] == [
        [44, 255, 232, 212], [44, -1, -24, -44], [44, 255, 232, 212], [44, -1, -24, -44],
    ]  # fmt: skip


# --- sizes


def test_memory_is_packed(gpu):
    for d in (fb.float32, *PACKED):
        x = fb.zeros(1000, dtype=d, device=gpu).realize()
        assert x.node.buffer.nbytes == 1000 * d.itemsize
    y = (fb.zeros(1000, dtype=fb.int8, device=gpu) + 1).realize()
    assert y.node.buffer.nbytes == 1000


def test_too_many_elements_are_refused(gpu, monkeypatch):
    monkeypatch.setattr("flambeau.kernels.lower.MAX_ELEMENTS", 1000)
    said = "run([30, 40]): 1,200 elements are more than the 1,000 that a kernel can index: split the tensor"
    x = fb.ones(30, device=gpu).realize()
    for y in (fb.ones(30, 40, device=gpu) * 2, x.outer(fb.ones(40, device=gpu)),
              x.reshape(30, 1) @ fb.ones(1, 40, device=gpu)):  # fmt: skip
        with pytest.raises(ValueError) as e:
            y.realize()
        assert str(e.value) == said


def test_more_than_one_binding_is_refused(gpu, monkeypatch):
    from flambeau.errors import DeviceError

    gpu.pool.trim()
    monkeypatch.setattr(gpu, "max_binding", 4096)
    with pytest.raises(DeviceError) as e:
        fb.zeros(2049, dtype=fb.float16, device=gpu).realize()
    rule = f"alloc(4,098 bytes): {gpu} binds at most 4,096 bytes a tensor: split the tensor"
    assert str(e.value) == rule
