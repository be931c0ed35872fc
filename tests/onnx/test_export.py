"""Models out: what is written is checked by onnx, computed by others, and loads back equal at other sizes."""

import numpy as np
import onnx
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.onnx import OnnxError

F = nn.functional
ROWS, BOTH = {0: "N"}, {0: "N", 1: "T"}
IMAGES = np.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype("f4")
STEPS = np.random.default_rng(1).normal(size=(2, 5, 12)).astype("f4")
IDS = np.array([[1, 2, 3], [4, 5, 0]])


class Net(nn.Module):
    def __init__(self):
        self.conv, self.norm = nn.Conv2d(3, 4, 3, padding=1, stride=2), nn.BatchNorm2d(4)
        self.last = nn.Linear(16, 7)

    def forward(self, x):
        return self.last(F.max_pool2d(self.norm(self.conv(x)).relu(), 2).flatten(1))


class Encoder(nn.Module):
    def __init__(self):
        self.words = nn.Embedding(9, 12)
        self.layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True, dropout=0.0)

    def forward(self, ids):
        return self.layer(self.words(ids)).mean(1)


class Decoder(nn.Module):
    def __init__(self):
        self.words, self.qkv = nn.Embedding(9, 12), nn.Linear(12, 36)

    def forward(self, ids):
        parts = self.qkv(self.words(ids)).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (3, 4)).transpose(1, 2) for t in parts)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)


class Recurrent(nn.Module):
    def __init__(self):
        self.cells = nn.LSTM(12, 6, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


CASES = {  # name: (module or function, input, its dynamic dims)
    "net": (Net, IMAGES, ROWS),
    "encoder": (Encoder, IDS, BOTH),
    "decoder": (Decoder, IDS, BOTH),
    "lstm": (Recurrent, STEPS, ROWS),
    "layer_norm": (lambda x: F.layer_norm(x, (12,)), STEPS, BOTH),
    "group_norm": (lambda x: F.group_norm(x, 3), IMAGES, ROWS),
    "softmax": (lambda x: (x.softmax(-1).sum(1), x.log_softmax(-1)), STEPS, ROWS),
    "activations": (lambda x: F.gelu(x) + F.silu(x) + F.softplus(x) + F.elu(x) + x.expm1(), STEPS, ROWS),
    "pools": (lambda x: F.adaptive_avg_pool2d(F.avg_pool2d(x, 2), 1), IMAGES, ROWS),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), IMAGES, ROWS),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGES, ROWS),
    "conv_transpose": (
        lambda x: (
            F.conv_transpose2d(x, fb.ones(3, 4, 2, 2, device="cpu"), stride=2),
            F.conv_transpose2d(x, fb.ones(3, 1, 4, 3, device="cpu"), None, (3, 2), (1, 2), (2, 0), 3, 1),
            F.conv_transpose2d(x, fb.ones(3, 4, 2, 3, device="cpu"), dilation=2),
        ),
        IMAGES,
        ROWS,
    ),
    "variance": (lambda x: x.var(1) + x.std(1), STEPS, ROWS),
    "means": (lambda x: x.mean(1) + x.amax(1) - x.amin(1) * x.prod(1), STEPS, BOTH),
    "places": (lambda x: (x.argmax(1), x.topk(2)[0], x.sort(-1)[0]), STEPS, ROWS),
    "slices": (lambda x: x[:, 1:4:2].flip(1), STEPS, ROWS),
    "scan": (lambda x: x.cumsum(1), STEPS, BOTH),
    "joins": (lambda x: fb.cat([x, x * 2, x, x.abs().sqrt(), -x], 1), STEPS, BOTH),
    "integers": (lambda x: (x % 3 + x // 2) * -x, IDS, BOTH),
    "bools": (lambda x: ((x > 0) & (x < 1) | ~x.isfinite()).logical_xor(x.ne(2)), STEPS, ROWS),
    "einsum": (lambda x: fb.einsum("nij,nkj->nik", x, x), STEPS, BOTH),
    "pads": (lambda x: F.pad(x, (1, 2, -1, 0)), STEPS, ROWS),
    "positions": (lambda x: x + fb.arange(x.shape[1], device="cpu").reshape(-1, 1), STEPS, BOTH),
    "triangle": (lambda x: (x @ x.mT).tril(), STEPS, BOTH),
}


def made(name: str):
    """(model, bytes of its file, inputs of several sizes)."""
    what, x, dims = CASES[name]
    fb.manual_seed(0)
    with fb.device("cpu"):
        model = what().eval() if isinstance(what, type) else what
        key = "ids" if x is IDS and isinstance(what, type) else "x"
        data = fb.onnx.export(model, [x], dynamic={key: dims})
    larger = [np.concatenate([x] * k, 0)[: 2 * k - 1] for k in (1, 2)]
    return model, key, data, [x, *[np.concatenate([v] * (2 if 1 in dims else 1), 1) for v in larger]]


@pytest.mark.parametrize("name", CASES)
def test_it_loads_back_equal(name):
    model, key, data, xs = made(name)
    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    back = fb.onnx.load(data, device="cpu")
    for x in xs:
        with fb.no_grad(), fb.device("cpu"):
            wanted = model(fb.tensor(x))
            found = back({key: x})
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(found, wanted, strict=True):
            assert a.shape == b.shape and a.dtype is b.dtype
            assert np.allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5), name


@pytest.mark.parametrize("name", CASES)
def test_onnxruntime_computes_the_same(name, torch):
    import onnxruntime

    model, key, data, xs = made(name)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    for x in xs:
        with fb.no_grad(), fb.device("cpu"):
            wanted = model(fb.tensor(x))
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        for a, b in zip(session.run(None, {key: x}), wanted, strict=True):
            assert a.shape == b.shape and np.allclose(a, b.numpy(), rtol=1e-4, atol=1e-5), name


def test_names_shapes_and_weights(tmp_path):
    model = nn.Sequential(nn.Linear(3, 4, device="cpu"), nn.ReLU())
    path = tmp_path / "m.onnx"
    data = fb.onnx.export(model, np.ones((2, 3), "f4"), path, dynamic=True, names="scores")
    assert path.read_bytes() == data
    back = fb.onnx.load(path, device="cpu")
    assert str(back).startswith("OnnxModel(\n  input: float32[N, 3] -> scores: float32[N, 4]")
    assert {n: p.shape for n, p in back.named_parameters()} == {"0.weight": (4, 3), "0.bias": (4,)}
    assert [n.op_type for n in onnx.load(path).graph.node].count("MatMul") == 1
    again = fb.onnx.load(fb.onnx.export(back, np.ones((2, 3), "f4"), dynamic=True), device="cpu")
    x = np.arange(15, dtype="f4").reshape(5, 3)
    assert np.array_equal(again(x).numpy(), back(x).numpy())  # out, in, out and in


def test_a_gpu_model_goes_out(gpu):
    model = nn.Linear(3, 2, device=gpu)
    back = fb.onnx.load(fb.onnx.export(model, np.ones((1, 3), "f4")), device="cpu")
    x = np.ones((1, 3), "f4")
    assert np.allclose(back(x).numpy(), model(fb.tensor(x, device=gpu)).numpy())


REFUSED = {
    "export: the model can't be exported: it reads values: return the tensor and read it outside": (
        lambda x: x * x.sum().item()
    ),
    "export: no ONNX operator is known for lgamma, igamma: compute this part outside the model": (
        lambda x: x.lgamma() + fb.special.gammainc(x, x)
    ),
    "export: the model computes differently if 'N' is 4 instead of 2: leave that size out of dynamic=": (
        lambda x: x if x.shape[0] < 3 else -x.exp()
    ),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_can_not_go_out(text):
    with pytest.raises(OnnxError) as e, fb.device("cpu"):
        fb.onnx.export(REFUSED[text], {"x": np.ones((2, 3), "f4")}, dynamic=True)
    assert str(e.value) == text


def test_wrong_arguments(tmp_path):
    x = np.ones((2, 3), "f4")
    cases = {
        "export(dynamic={'z': {0: 'N'}}): no input 'z' exists: the inputs are x": {
            "dynamic": {"z": {0: "N"}}
        },
        "export(dynamic={'x': {2: 'N'}}): 'x' has no dim 2: it has 2": {"dynamic": {"x": {2: "N"}}},
        "export(names=['a', 'b']): the model has 1 outputs": {"names": ["a", "b"]},
    }
    for text, given in cases.items():
        with pytest.raises(ValueError) as e, fb.device("cpu"):
            fb.onnx.export(lambda x: x + 1, {"x": x}, **given)
        assert str(e.value) == text
    with pytest.raises(OnnxError, match=r"none/m.onnx'\): can't be written: No such file or directory"):
        fb.onnx.export(lambda x: x + 1, {"x": fb.tensor(x, device="cpu")}, tmp_path / "none" / "m.onnx")
