"""Weights of 8 and 4 bits: what is kept of them, products on both devices, layers, files and errors."""

import numpy as np
import pytest
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.paper import PaperDevice
from rows.quantized import rounded

import flambeau as fb
from flambeau.core.choose import forced
from flambeau.core.limits import Limits
from flambeau.core.op import COMPOSED

SIZES = [(1, 10, 64, 32), (2, 7, 128, 64), (5, 64, 96, 32), (8, 3, 256, 128), (33, 70, 160, 32)]


def made(m, n, k, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype("f4") for s in ((m, k), (n, k), (n,))]


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("m,n,k,block", SIZES)
@pytest.mark.share(2, only=["gpu"])
def test_products(m, n, k, block, bits, device):
    x, w, b = made(m, n, k)
    q = fb.quantize(fb.tensor(w, device=device), bits, block)
    y = fb.quantized_linear(fb.tensor(x, device=device), q, fb.tensor(b, device=device))
    want = x.astype("f8") @ rounded(w.astype("f8"), bits, block).T + b
    error = np.linalg.norm(y.numpy() - want) / np.linalg.norm(want)
    assert y.shape == (m, n) and error < 1e-6, error


@pytest.mark.parametrize("name", in_turn(["words", "shared", "blocks", "tiles"], 2))
@pytest.mark.share(5)
def test_every_variant(name, gpu, monkeypatch):
    """The kernels of GPUs, on any adapter: sizes that fill no tile."""
    monkeypatch.setenv("FLAMBEAU_VARIANT", f"quantized={name}")
    forced.cache_clear()
    try:
        with planned_for(gpu, False):
            # long rows are added up in pieces; of few vectors, part by part
            for m, n, k in ((67, 130, 96), (3, 70, 1056), (1, 35, 2080), (3, 9, 4160)):
                x, w, b = made(m, n, k, seed=1)
                want = x.astype("f8") @ rounded(w.astype("f8"), 4, 32).T + b
                q = fb.quantize(fb.tensor(w, device=gpu))
                y = fb.quantized_linear(fb.tensor(x, device=gpu), q, fb.tensor(b, device=gpu))
                assert len(y.plan()) == (2 if k > {"tiles": 512, "blocks": 4096}.get(name, k) else 1)
                assert np.linalg.norm(y.numpy() - want) < 1e-6 * np.linalg.norm(want)
    finally:
        monkeypatch.undo()
        forced.cache_clear()


@pytest.mark.parametrize(
    "m,memory,want",
    [
        (4, 16384, "shared"),
        (16, 49152, "shared"),
        (16, 16384, "words"),
        (47, 49152, "words"),
        (48, 0, "tiles"),
    ],
)
def test_the_rule(m, memory, want):
    """16 vectors by 4-bit weights take 18 KB."""
    device = PaperDevice(Limits(workgroup_memory=memory))
    q = fb.quantize(fb.zeros(256, 512, device=device).realize())
    y = fb.quantized_linear(fb.zeros(m, 512, device=device).realize(), q)
    assert y.plan()[0].shader.template == f"quantized/{want}.wgsl"


@pytest.mark.parametrize("bits", [8, 4])
def test_the_error_is_half_a_step(bits, device):
    w = np.random.default_rng(2).standard_normal((16, 256)).astype("f4")
    q = fb.quantize(fb.tensor(w, device=device), bits=bits, block=32)
    step = np.abs(w).reshape(16, 8, 32).max(-1, keepdims=True) / (2 ** (bits - 1) - 1)
    away = np.abs(q.dequantize().numpy() - w).reshape(16, 8, 32)
    assert (away <= (0.5 + 2**-8 * (2 ** (bits - 1) - 1)) * step).all()


def test_what_is_kept(device):
    w = fb.zeros(64, 256, device=device)
    four, eight = fb.quantize(w), fb.quantize(w, bits=8, block=128)
    assert (four.nbytes, eight.nbytes) == (64 * 128 + 64 * 8 * 2, 64 * 256 + 64 * 2 * 2)
    assert four.words.dtype is fb.uint32 and four.scales.dtype is fb.bfloat16
    assert repr(four) == f"Quantized([64, 256], bits=4, block=32, {w.device})"
    assert not four.dequantize().numpy().any()


def test_packing_is_low_bits_first(device):
    w = np.zeros((1, 32), "f4")
    w[0, :4] = [7, -7, 1, -2]
    q = fb.quantize(fb.tensor(w, device=device))
    assert q.words.numpy()[0, 0] == 0x8888_69_1F and q.scales.numpy()[0, 0] == 1


def test_nothing_is_unpacked_in_memory(gpu):
    x, w, b = (fb.tensor(a, device=gpu).realize() for a in made(4, 96, 256))
    q = fb.quantize(w)
    fb.realize(q.words, q.scales)
    assert len(fb.quantized_linear(x, q, b).plan()) == 1
    assert len(fb.quantized_linear(x.half().realize(), q, b).plan()) == 2  # and float16 out of float32


def test_gradient_of_the_input(device):
    x, w, b = (fb.tensor(a, device=device) for a in made(3, 16, 64))
    q = fb.quantize(w, bits=8)
    x, b = x.requires_grad_(), b.requires_grad_()
    grads = fb.quantized_linear(x, q, b).sum().backward()
    assert np.allclose(grads[x].numpy(), q.dequantize().numpy().sum(0), atol=1e-5)
    assert np.allclose(grads[b].numpy(), 3)


class Net(fb.nn.Module):
    def __init__(self):
        self.first = fb.nn.Linear(64, 96)
        self.again = self.first
        self.odd = fb.nn.Linear(96, 33)
        self.out = fb.nn.Sequential(fb.nn.ReLU(), fb.nn.Linear(33, 64), fb.nn.Linear(64, 8, bias=False))

    def forward(self, x):
        return self.out(self.odd(self.first(x)))


@pytest.mark.share(2)
def test_a_model_quantised(tmp_path):
    fb.manual_seed(0)
    net, x = Net(), fb.randn(5, 64)
    before = net(x).numpy()
    assert fb.nn.quantize_(net, bits=8) == ["first", "odd", "out.2"]
    assert net.first is net.again and type(net.out[1]) is fb.nn.Linear
    assert np.abs(net(x).numpy() - before).max() < 0.02
    net.save(tmp_path / "net.safetensors")
    other = Net()
    fb.nn.quantize_(other, bits=8)
    other.load(tmp_path / "net.safetensors")
    assert np.array_equal(other(x).numpy(), net(x).numpy())
    told = "QuantizedLinear(in_features=64, out_features=96, bias=True, bits=8, block=32)"
    assert repr(net.first) == told


ERRORS = [
    (
        lambda w: fb.quantize(w, bits=3),
        "quantize(f32[3, 64], bits=3): bits=3: weights have 8 or 4 bits: use one of these",
    ),
    (
        lambda w: fb.quantize(w, block=48),
        "quantize(f32[3, 64], block=48): block=48: must be a multiple of 32: use 32, 64 or 128",
    ),
    (
        lambda w: fb.quantize(w, block=128),
        "quantize(f32[3, 64], block=128): rows of 64 elements do not divide into blocks of"
        " 128: use a block that divides 64",
    ),
    (
        lambda w: fb.quantize(w[0]),
        "quantize(f32[64]): shape [64]: weights have 2 dims: reshape it",
    ),
    (
        lambda w: fb.quantized_linear(w, w),
        "quantized_linear(f32[3, 64], f32[3, 64]): weight must be a Quantized: make one"
        " with quantize(weight), or use linear",
    ),
    (
        lambda w: fb.quantized_linear(w[:, :32], COMPOSED["quantize"](w), None),
        "inner sizes differ: 32 and 64",
    ),
    (
        lambda w: fb.nn.quantize_(Net(), bits=2),
        "quantize_(Net, bits=2, block=32): bits=2: weights have 8 or 4 bits: use one of these",
    ),
]


@pytest.mark.parametrize("call,told", ERRORS)
def test_errors(call, told):
    with pytest.raises((ValueError, TypeError)) as e:
        call(fb.zeros(3, 64))
    assert str(e.value) == told or (told.startswith("inner") and str(e.value).endswith(told))
