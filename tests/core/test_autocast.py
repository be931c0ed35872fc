"""Autocast: which dtype every operation is computed in, beside PyTorch's CUDA lists; blocks, decorators,
recordings, gradients; and how far values lie from float32."""

import math

import numpy as np
import pytest
from helpers import autocast as by_torch

import flambeau as fb
from flambeau import nn
from flambeau.core.autocast import RULES
from flambeau.core.limits import Limits, Unit
from flambeau.core.op import COMPOSED, OPS
from flambeau.fusion.planner import plan

F = nn.functional
HALF, FULL = "float16", "float32"


def test_rules_are_of_operations_that_there_are():
    assert [n for n in RULES if n not in OPS and n not in COMPOSED] == ["recurrence"]  # of nn/recurrence.py
    assert callable(nn.recurrence.recurrence)


# expression of x, w [4, 4]; v, u [4]; c [2, 4, 4]: what comes out of float32 and of float16. PyTorch's own
# answers are checked by test_expressions_are_torchs.
EXPRESSIONS = {
    "x @ w": (HALF, HALF),
    "t.mm(x, w)": (HALF, HALF),
    "t.mv(x, v)": (HALF, HALF),
    "t.bmm(c, c)": (HALF, HALF),
    "t.addmm(x, x, w)": (HALF, HALF),
    "t.addmv(v, x, v)": (HALF, HALF),
    "t.addr(x, v, v)": (HALF, HALF),
    "t.baddbmm(c, c, c)": (HALF, HALF),
    "t.addbmm(x, c, c)": (HALF, HALF),
    "t.einsum('ij,jk->ik', x, w)": (HALF, HALF),
    "t.chain_matmul(x, w, x)": (HALF, HALF),
    "t.linalg.multi_dot([x, w, x])": (HALF, HALF),
    "t.nn.functional.linear(x, w, v)": (HALF, HALF),
    "t.nn.functional.linear(input=x, weight=w)": (HALF, HALF),
    "t.nn.functional.conv1d(c, c)": (HALF, HALF),
    "t.nn.functional.prelu(c, v)": (HALF, HALF),
    "t.nn.functional.scaled_dot_product_attention(c, c, c)": (HALF, HALF),
    "x.exp()": (FULL, FULL),
    "x.square()": (FULL, FULL),
    "x ** 2": (FULL, FULL),
    "2 ** x": (FULL, FULL),
    "x.abs().log()": (FULL, FULL),
    "x.sum()": (FULL, FULL),
    "x.sum(0)": (FULL, FULL),
    "x.cumsum(0)": (FULL, FULL),
    "x.norm()": (FULL, FULL),
    "x.softmax(0)": (FULL, FULL),
    "t.nn.functional.log_softmax(x, 0)": (FULL, FULL),
    "t.nn.functional.layer_norm(x, (4,), v, v)": (FULL, FULL),
    "t.nn.functional.group_norm(c, 2)": (FULL, FULL),
    "t.nn.functional.rms_norm(x, (4,))": (FULL, FULL),
    "t.nn.functional.mse_loss(x, w)": (FULL, FULL),
    "t.nn.functional.cross_entropy(x, x.softmax(1))": (FULL, FULL),
    "t.nn.functional.binary_cross_entropy_with_logits(x, w)": (FULL, FULL),
    "t.nn.functional.cosine_similarity(x, w)": (FULL, FULL),
    "t.nn.functional.softplus(x)": (FULL, FULL),
    "t.renorm(x, 2, 0, 1.0)": (FULL, FULL),
    "x + w": (FULL, HALF),
    "x * 2": (FULL, HALF),
    "x.relu()": (FULL, HALF),
    "t.nn.functional.gelu(x)": (FULL, HALF),
    "t.nn.functional.silu(x)": (FULL, HALF),
    "x.sigmoid()": (FULL, HALF),
    "x.sin()": (FULL, HALF),
    "x.abs().sqrt()": (FULL, HALF),
    "x.mean()": (FULL, HALF),
    "x.var()": (FULL, HALF),
    "x.amax()": (FULL, HALF),
    "x.transpose(0, 1)": (FULL, HALF),
    "t.cat([x, w])": (FULL, HALF),
    "t.where(x > 0, x, w)": (FULL, HALF),
    "x.atan2(w)": (FULL, HALF),
    "t.addcmul(x, x, w)": (FULL, HALF),
    "t.dot(v, u)": (FULL, HALF),
    "t.tensordot(x, w, dims=1)": (FULL, HALF),
    "t.cat([x, w.to(t.float32)])": (FULL, FULL),
    "t.addcmul(x, x, w.to(t.float32))": (FULL, FULL),
    "t.dot(v, u.to(t.float32))": (FULL, FULL),
    "x + w.to(t.float32)": (FULL, FULL),
    "x.to(t.float32) @ w": (HALF, HALF),
    "x @ x.to(t.bfloat16)": (HALF, HALF),
}


def inputs(make):
    draw = np.random.default_rng(0)
    shapes = {"x": (4, 4), "w": (4, 4), "v": (4,), "u": (4,), "c": (2, 4, 4)}
    return {name: make(draw.normal(size=shape).astype("f4")) for name, shape in shapes.items()}


def dtypes_of(t, made):
    """What every expression gives of float32 and float16."""
    found = {}
    for text in EXPRESSIONS:
        each = [{k: v.to(d) for k, v in made.items()} for d in (t.float32, t.float16)]
        found[text] = tuple(str(eval(text, {"t": t, **values}).dtype).split(".")[-1] for values in each)
    return found


def test_expressions_have_these_dtypes():
    made = inputs(lambda a: fb.tensor(a, device="cpu"))
    with fb.autocast(dtype=fb.float16):
        assert dtypes_of(fb, made) == EXPRESSIONS


@pytest.fixture
def cuda(torch):
    """PyTorch's CUDA autocast over tensors that have no values: its rules need no GPU."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    torch.set_autocast_enabled("cuda", True)
    torch.set_autocast_dtype("cuda", torch.float16)
    try:
        with FakeTensorMode():
            yield torch
    finally:
        torch.set_autocast_enabled("cuda", False)


def test_expressions_are_torchs(cuda):
    made = inputs(lambda a: cuda.empty(a.shape, device="cuda"))
    assert dtypes_of(cuda, made) == EXPRESSIONS


def test_lists_are_torchs(torch):
    names = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")
    theirs = {n.removeprefix("aten::").split(".")[0] for n in names}
    inside = {n for n in theirs if n.startswith(("_", "cudnn_", "upsample_", "native_"))} | {
        "convolution", "conv_tbc", "frobenius_norm", "nuclear_norm", "grid_sampler", "nll_loss2d",
        "gru_cell", "lstm_cell", "rnn_relu_cell", "rnn_tanh_cell",
    }  # fmt: skip
    assert theirs - inside <= set(RULES)
    made_of_those = {  # PyTorch makes them of others, or names them otherwise
        "cross_entropy", "cumulative_trapezoid", "deform_conv2d", "grid_sample", "gumbel_softmax",
        "interpolate", "linalg_matmul", "linalg_norm", "local_response_norm", "log_softmax", "lp_pool1d",
        "lp_pool2d", "lp_pool3d", "multilabel_soft_margin_loss", "normalize", "pairwise_distance",
        "recurrence", "softmin", "square", "trapezoid", "triplet_margin_with_distance_loss", "upsample",
    }  # fmt: skip
    assert set(RULES) - theirs == made_of_those - theirs


# op: why the dtype is another one under autocast too
FLOAT32_HERE = "of 16-bit matrices, and their powers, results are float32 here"
UNLIKE = {
    **dict.fromkeys(("matrix_power", "linalg_matrix_power", "matrix_exp", "ormqr"), FLOAT32_HERE),
    "float_power": "float64 there, which GPUs lack",
    "nextafter": "the next float32",
    "normal": "draws are float32",
    "diagonal_scatter": "promotes here",
    "adaptive_max_pool1d": "gives places as well there",
}


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_operation_has_torchs_dtype(cuda):
    from rows import ROWS

    compared = 0
    for name in sorted(set(ROWS) - set(UNLIKE)):
        theirs = by_torch.function(cuda, name)
        for pattern in by_torch.PATTERNS if theirs else ():
            want, got = by_torch.both(cuda, theirs, name, pattern)
            if want is None or got is None or by_torch.is_factor(name, want):
                continue
            compared += 1
            assert got == want, (name, pattern)
    assert compared > 750


# --- blocks ---


def product(x):
    return (x @ x).dtype.name


def test_blocks_nest_and_end(device):
    x = fb.ones(2, 2, device=device)
    with fb.autocast(dtype=fb.bfloat16):
        assert product(x) == "bfloat16"
        with fb.autocast(enabled=False):
            assert product(x) == FULL
            with fb.autocast():
                assert product(x) == HALF
        assert product(x) == "bfloat16"
        with pytest.raises(ZeroDivisionError), fb.autocast():
            raise ZeroDivisionError
        assert product(x) == "bfloat16"
    assert product(x) == FULL


def test_a_block_is_for_devices_of_a_kind(device):
    x, other = fb.ones(2, 2, device=device), {"gpu": "cpu", "cpu": "gpu"}[device.kind]
    with fb.autocast(device.kind, dtype=fb.float16):
        assert product(x) == HALF
        with fb.autocast(other, enabled=False):
            assert product(x) == HALF
        assert fb.is_autocast_enabled(device.kind) and not fb.is_autocast_enabled(other)
    with fb.autocast(other):
        assert product(x) == FULL


def test_defaults_are_torchs():
    assert fb.get_autocast_dtype() is fb.get_autocast_dtype("cuda") is fb.float16
    assert fb.get_autocast_dtype("cpu") is fb.bfloat16
    with fb.autocast("cuda"), fb.autocast("cpu"):
        assert (fb.get_autocast_dtype("mps"), fb.get_autocast_dtype("cpu")) == (fb.float16, fb.bfloat16)
    with fb.autocast(dtype=fb.bfloat16):
        assert fb.get_autocast_dtype("cuda") is fb.bfloat16
    assert not fb.is_autocast_enabled()


def test_decorates(device):
    @fb.autocast(dtype=fb.float16)
    def inside(x, depth=1):
        return inside(x, depth - 1) if depth else (product(x), depth)

    x = fb.ones(2, 2, device=device)
    assert inside(x) == (HALF, 0) and product(x) == FULL


def test_goes_by_other_names():
    from flambeau.amp import autocast
    from flambeau.cuda.amp import autocast as older

    x = fb.ones(2, 2, device="cpu")
    with fb.amp.autocast("cpu"), autocast("cuda"):
        assert product(x) == "bfloat16"
    with older():
        assert product(x) == FULL and fb.is_autocast_enabled("cuda")
    with older(False):
        assert not fb.is_autocast_enabled("cuda")
    assert fb.amp.is_autocast_available("cpu")


def test_leaves_other_dtypes_and_out_alone():
    x = fb.ones(2, 2, dtype=fb.float64, device="cpu")
    i = fb.ones(2, 2, dtype=fb.int32, device="cpu")
    out = fb.zeros(2, 2, device="cpu")
    with fb.autocast():
        assert (product(x), product(i)) == ("float64", "int32")
        assert fb.matmul(x.float(), x.float(), out=out).dtype is fb.float32
        assert x.float().softmax(0, dtype=fb.float16).dtype is fb.float16
        assert x.float().half().softmax(0, dtype=fb.float16).dtype is fb.float16


KNOWN = "unknown device type: use one of 'gpu', 'cuda', 'mps', 'cpu'"
ERRORS = {
    "autocast(dtype=float32): the dtype must be float16 or bfloat16: leave autocast out for other dtypes": (
        lambda: fb.autocast(dtype=fb.float32)
    ),
    f"autocast('tpu'): {KNOWN}": lambda: fb.autocast("tpu"),
    f"is_autocast_enabled('tpu'): {KNOWN}": lambda: fb.is_autocast_enabled("tpu"),
    f"get_autocast_dtype('tpu'): {KNOWN}": lambda: fb.get_autocast_dtype("tpu"),
    f"is_autocast_available('tpu'): {KNOWN}": lambda: fb.amp.is_autocast_available("tpu"),
}


@pytest.mark.parametrize("told", ERRORS)
def test_errors(told):
    with pytest.raises(ValueError) as e:
        ERRORS[told]()
    assert str(e.value) == told


def test_a_bad_call_is_told_as_given():
    x = fb.ones(2, 3, device="cpu")
    with fb.autocast(), pytest.raises(ValueError) as e:
        fb.mm(x, x)
    assert str(e.value) == "mm(f16[2, 3], f16[2, 3]): inner sizes differ: 3 and 2"


# --- gradients, layers, recordings ---


def layers(device):
    fb.manual_seed(3)
    with device:
        return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4))


@pytest.mark.parametrize("on, dtype", [("gpu", fb.float16), ("cpu", fb.float16), ("cpu", fb.bfloat16)])
def test_gradients_are_of_float32_weights(on, dtype, gpu):
    device = gpu if on == "gpu" else fb.device("cpu")
    model = layers(device)
    x, y = fb.randn(32, 8, device=device), fb.randint(0, 4, (32,), device=device)

    def gradients(enabled, again=False):
        with fb.autocast(dtype=dtype, enabled=enabled):
            out = fb.checkpoint(model, x) if again else model(x)
            grads = F.cross_entropy(out, y).backward()  # which casts nothing, inside the block
            assert out.dtype is (dtype if enabled else fb.float32)
        assert all(p.dtype is grads[p].dtype is fb.float32 for p in model.parameters())
        return [grads[p].numpy() for p in model.parameters()]

    eps = fb.finfo(dtype).eps
    exact, made, again = gradients(False), gradients(True), gradients(True, again=True)
    for a, b, c in zip(exact, made, again, strict=True):
        # four roundings of eps / 2 on the way there and as many back, of parts that add up like random ones
        assert np.linalg.norm(a - b) <= 8 * eps / 2 * math.sqrt(2) * np.linalg.norm(a)
        assert not np.array_equal(a, b)
        np.testing.assert_allclose(b, c, rtol=eps, atol=eps * np.abs(b).max())


def test_products_are_summed_in_float32(device):
    k = 4096
    x = fb.full((1, k), 1.0, device=device)
    with fb.autocast():
        y = x @ fb.full((k, 1), 1.0, device=device)
        assert y.item() == k  # in float16 the sum would end at 2048
        huge = fb.full((1, 4), 2.0**15, device=device) @ fb.tensor(
            [[1.0], [1.0], [1.0], [-2.0]], device=device
        )
    assert huge.item() == 2.0**15  # past 65504 on the way


def test_values_are_within_the_bound_of_rounded_operands(device):
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=(5, 33)).astype("f4"), draw.normal(size=(33, 7)).astype("f4")
    with fb.autocast():
        made = (fb.tensor(a, device=device) @ fb.tensor(b, device=device)).numpy()
    a, b = a.astype("f8"), b.astype("f8")
    eps = 2.0**-11  # each factor is rounded once, where it is stored, and the result
    bound = abs(a) @ abs(b) * (2 * eps + eps**2) * (1 + eps) + abs(a @ b) * eps + 1e-5
    assert (abs(made - a @ b) <= bound).all() and made.dtype == np.float16


@pytest.mark.parametrize("on, kind", [("gpu", "LSTM"), ("cpu", "LSTM"), ("cpu", "GRU"), ("cpu", "RNN")])
def test_recurrent_layers(on, kind, gpu):
    device = gpu if on == "gpu" else fb.device("cpu")
    fb.manual_seed(0)
    with device:
        model, x = getattr(nn, kind)(4, 8), fb.randn(3, 3, 4)
    exact = model(x)[0]
    with fb.autocast():
        y, state = model(x)
    assert y.dtype is fb.float16 and (state[0] if kind == "LSTM" else state).dtype is fb.float16
    np.testing.assert_allclose(y.float().numpy(), exact.numpy(), atol=5 * 2.0**-10)
    grads = y.float().square().mean().backward()
    assert all(grads[p].dtype is fb.float32 for p in model.parameters())


def test_a_recording_depends_on_it(gpu):
    calls = []
    outside = fb.autocast(dtype=fb.float16)

    @fb.jit
    def inner(x):
        calls.append(0)
        return x @ x

    @fb.jit
    def block(x):
        with outside:
            return x @ x

    x = fb.ones(4, 4, device=gpu)
    for _ in range(3):
        with fb.autocast(dtype=fb.bfloat16):
            assert inner(x).dtype is fb.bfloat16
        assert inner(x).dtype is fb.float32
        assert block(x).dtype is fb.float16
    assert len(block.programs) == 1  # type: ignore[attr-defined]


def test_what_is_recorded_reads_weights_as_they_are_then(gpu):
    w = fb.ones(4, 4, device=gpu).requires_grad_()

    @fb.jit
    def step(x):
        with fb.autocast():
            loss = (x @ w).float().mean()
        w.assign_(w - loss.backward()[w])
        return loss

    x = fb.ones(4, 4, device=gpu)
    assert [step(x).item() for _ in range(4)] == [4.0, 3.0, 2.0, 1.0]


def test_a_weight_that_is_used_often_is_cast_once():
    w, x = fb.Tensor([[1.0] * 64] * 64), fb.Tensor([[1.0] * 64] * 64)
    fb.realize(w, x)
    with fb.autocast():
        y = (x @ w).relu() @ w @ w
    made = plan([y.node], Limits(software=True))  # a GPU's products cast what they read of buffers
    casts = [k for k in made.kernels if k.ends == "contractions read buffers, one for 3 that are equal"]
    assert [k.name for k in casts] == ["cast"]


def test_matrix_units_take_float32_weights_as_they_lie():
    """Which are cast on the way in: one kernel, with the bias, and no copy of the weight."""
    x, w, b = (fb.zeros(*shape, device="cpu").clone() for shape in ((1024, 768), (768, 768), (768,)))
    with fb.autocast():
        y = F.linear(x, w, b)
    room = {"invocations": 1024, "workgroup_memory": 49152}
    units = Limits(software=False, matrix=(Unit("subgroup", 16, 16, 16, 32),), **room)
    fb.realize(x, w, b)
    assert [k.shader.template for k in plan([y.node], units).kernels] == ["contract/subgroup_matrix.wgsl"]


# --- how far it is from float32 ---


@pytest.mark.share(3)
def test_drift_names_the_layer(device):
    model = layers(device)
    x = fb.randn(16, 8, device=device)
    found = fb.debug.drift(lambda x: model(x).float().mean(), x, model=model)
    assert [(r.layer, r.op, r.dtype) for r in found[:4]] == [
        ("0", "linear", HALF), ("1", "gelu", HALF), ("2", "layer_norm", FULL), ("3", "linear", HALF)
    ]  # fmt: skip
    assert [r[:2] for r in found[4:]] == [
        ("", "mean"),
        *((n, "gradient") for n, _ in model.named_parameters()),
    ]
    assert all(2.0**-14 < r.error < 2.0**-7 for r in found[:4])
    assert found.first_overflow is None and str(found).endswith("nothing overflows")


def test_drift_names_the_first_overflow():
    device = fb.device("cpu")
    model = layers(device)
    found = fb.debug.drift(model, fb.full((2, 8), 1e5, device=device))
    bad = found.first_overflow
    assert bad is not None and (bad.layer, bad.op, bad.overflowed, bad.error) == ("0", "linear", 32, math.inf)
    assert str(found).endswith("the first overflow: 0 linear")
    tiny = fb.debug.drift(lambda x: x @ x, fb.full((2, 2), 1e-9, device=device))
    assert [(r.vanished, r.error) for r in tiny] == [(4, 1.0)]


def test_drift_draws_the_same_numbers():
    x = fb.ones(64, 64, device="cpu")
    found = fb.debug.drift(lambda x: F.dropout(x @ x, 0.5), x)
    assert [r.error for r in found] == [0.0, 0.0]


def test_drift_of_what_depends_on_dtypes():
    def odd(x):
        y = x @ x
        return y.exp() if y.dtype is fb.float16 else y

    with pytest.raises(ValueError) as e:
        fb.debug.drift(odd, fb.ones(2, 2, device="cpu"))
    told = "drift(odd): it runs other operations under autocast: make it independent of dtypes"
    assert str(e.value) == told
