"""Layers: names and layouts as in torch, values against NumPy formulas, errors in full."""

from inspect import signature

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.nn import init


@pytest.fixture
def x2(device):
    return fb.tensor(np.random.default_rng(0).normal(size=(6, 4)).astype("f4"), device=device)


class Net(nn.Module):
    def __init__(self):  # without super().__init__(): nothing needs it
        self.conv = nn.Conv2d(1, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(fb.ones(1))

    def forward(self, x):
        return self.head(self.norm(self.conv(x)).mean((2, 3))) * self.scale


NET_KEYS = [
    "scale", "conv.weight", "conv.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
    "norm.num_batches_tracked", "head.weight",
]  # fmt: skip


def test_state_dict_has_torchs_names_and_layouts():
    state = Net().state_dict()
    assert list(state) == NET_KEYS
    assert state["conv.weight"].shape == (4, 1, 3, 3) and state["head.weight"].shape == (2, 4)
    assert not any(t.requires_grad for t in state.values())


def test_walks_name_everything_once():
    net = Net()
    net.tied = net.head
    assert [n for n, _ in net.named_parameters()] == [
        n for n in NET_KEYS if "running" not in n and "num_" not in n
    ]
    assert [n for n, _ in net.named_buffers()] == [n for n in NET_KEYS if "running" in n or "num_" in n]
    assert [n for n, _ in net.named_modules()] == ["", "conv", "norm", "head"]
    assert [type(m).__name__ for m in net.children()] == ["Conv2d", "BatchNorm2d", "Linear"]
    assert net.num_parameters() == 36 + 4 + 8 + 8 + 1
    assert "tied.weight" in net.state_dict()
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Net"


def test_state_goes_round():
    fb.manual_seed(1)
    a, b = Net(), Net()
    b.load_state_dict(a.state_dict())
    x = fb.randn(2, 1, 5, 5)
    np.testing.assert_array_equal(a.eval()(x).numpy(), b.eval()(x).numpy())
    assert all(p.requires_grad for p in b.parameters())


def test_load_lists_all_problems_and_loads_nothing():
    net = Net()
    before = net.conv.bias.numpy()
    state = net.state_dict()
    state["head.wieght"] = state.pop("head.weight")
    state["norm.bias"] = fb.zeros(5)
    state["conv.bias"] = fb.ones(4) * 7
    with pytest.raises(ValueError) as e:
        net.load_state_dict(state)
    assert str(e.value) == (
        "load_state_dict(9 tensors): 1 missing: 'head.weight'; 1 unexpected: 'head.wieght' (did you mean"
        " 'head.weight'?); 1 of another shape: 'norm.bias' is f32[4], got [5]: use a"
        " state_dict of the same model"
    )
    np.testing.assert_array_equal(net.conv.bias.numpy(), before)
    state["norm.bias"] = fb.zeros(4)
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["head.weight"] and keys.unexpected_keys == ["head.wieght"]
    assert net.conv.bias.tolist() == [7.0] * 4


def test_names_of_another_library_are_renamed():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)).to("cpu")
    state = {f"model.layers.{n}": fb.ones(*t.shape, device="cpu") for n, t in net.state_dict().items()}
    state["model.layers.1.weights"] = state.pop("model.layers.1.weight")
    rename = [(r"^model\.layers\.(\d+)", r"\1"), ("weights$", "weight")]
    assert net.load_state_dict(state, rename=rename) == ([], [])
    assert net[0].weight.tolist() == [[1, 1]] * 3 and net[1].weight.tolist() == [[1, 1, 1]]
    given = {n: fb.zeros(*t.shape, device="cpu", dtype=fb.float16) for n, t in net.state_dict().items()}
    net.load_state_dict(given, assign=True, rename=iter([("x", "y")]))
    assert net[0].weight.dtype is fb.float16 and net[0].weight.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    "state, rename, text",
    [
        (
            {"a.weight": 1, "b.weight": 2},
            [("^.", "x")],
            "load_state_dict(rename=...): 'b.weight' and another name both become 'x.weight'",
        ),
        (
            {"a": 1},
            [("(", "x")],
            "load_state_dict(rename=[('(', 'x')]): missing ), unterminated subpattern at position 0",
        ),
        (
            {"weight": [1.0], "bias": None},
            (),
            "load_state_dict(2 tensors): 2 no tensor: 'weight' is [1.0], 'bias' is None: use"
            " a state_dict of the same model",
        ),
        (
            {"model": {"weight": 0}, "epoch": 3},
            (),
            "load_state_dict(2 tensors): 2 missing: 'weight', 'bias'; 2 unexpected: 'model',"
            " 'epoch': pass the object at 'model'",
        ),
    ],
)
def test_states_that_can_not_be_loaded(state, rename, text):
    with pytest.raises(ValueError) as told:
        nn.Linear(2, 1).load_state_dict(state, rename=rename)
    assert str(told.value) == text


def test_long_lists_of_names_are_cut():
    state = {f"layer{i}.weight": fb.zeros(1, device="cpu") for i in range(3000)}
    with pytest.raises(ValueError) as told:
        nn.Linear(2, 1).load_state_dict(state)
    assert "3000 unexpected: 'layer0.weight' (did you mean 'weight'?), " in str(told.value)
    assert "and 2980 more: use a" in str(told.value)
    assert len(str(told.value)) < 2000


def test_repr_reads_as_torchs():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(True), nn.Softmax(1)), nn.Dropout(0.2))
    assert repr(model) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Sequential(\n"
        "    (0): ReLU(inplace=True)\n    (1): Softmax(dim=1)\n  )\n  (2): Dropout(p=0.2, inplace=False)\n)"
    )
    assert len(model) == 3 and isinstance(model[1][0], nn.ReLU) and len(model[:2]) == 2
    assert repr(nn.Flatten()) == "Flatten(start_dim=1, end_dim=-1)"
    assert repr(nn.LeakyReLU(inplace=True)) == "LeakyReLU(negative_slope=0.01, inplace=True)"
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.GELU(), nn.ReLU()])) == (
        "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): GELU(approximate='none')\n  (3): ReLU()\n)"
    )
    assert repr(nn.TransformerDecoderLayer(4, 2)).startswith("TransformerDecoderLayer(\n  (self_attn): ")


def test_what_a_module_says_of_itself_comes_before_its_own():
    class Net(nn.Module):
        def __init__(self):
            self.act = nn.ReLU()

        def extra_repr(self):
            return "width=3"

    assert repr(Net()) == "Net(\n  width=3\n  (act): ReLU()\n)"


def test_train_and_eval_reach_all_modules():
    model = nn.Sequential(nn.Sequential(nn.Dropout(0.5)), nn.BatchNorm1d(2))
    assert not any(m.training for m in model.eval().modules())
    assert all(m.training for m in model.train().modules())


def test_to_moves_values_and_keeps_objects():
    model = nn.Sequential(nn.Linear(3, 2, device="cpu"), nn.BatchNorm1d(2, device="cpu"))
    params, values = list(model.parameters()), [t.numpy() for t in model.state_dict().values()]
    model.to(fb.zeros(1).device)
    assert all(a is b for a, b in zip(params, model.parameters(), strict=True))
    for t, v in zip(model.state_dict().values(), values, strict=True):
        assert t.device is fb.zeros(1).device
        np.testing.assert_array_equal(t.numpy(), v)
    assert len(model(fb.randn(4, 3)).sum().backward()) == 4


def test_freezing():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    model[0].requires_grad_(False)
    grads = model(fb.randn(2, 3)).sum().backward()
    assert len(grads) == 2 and model[0].weight not in grads and model[1].weight in grads


def test_seed_makes_models_equal_on_every_device():
    def weights(device):
        fb.manual_seed(3)
        return nn.Linear(30, 20, device=device).weight.numpy()

    np.testing.assert_allclose(weights(None), weights("cpu"), rtol=0, atol=1e-7)


def test_default_initialisation_is_torchs(device):
    fb.manual_seed(0)
    for layer, fan_in in ((nn.Linear(64, 200, device=device), 64), (nn.Conv2d(8, 50, 3, device=device), 72)):
        for t in (layer.weight.numpy(), layer.bias.numpy()):
            bound = 1 / fan_in**0.5
            assert np.abs(t).max() <= bound and np.abs(t).max() > 0.9 * bound
            assert abs(t.mean()) < 0.15 * bound
    table = nn.Embedding(100, 100, padding_idx=-1, device=device).weight.numpy()
    assert abs(table[:-1].std() - 1) < 0.03 and not table[-1].any()


@pytest.mark.parametrize(
    "fill, std",
    [
        (lambda w: init.xavier_uniform_(w), (2 / 300) ** 0.5),
        (lambda w: init.xavier_normal_(w, 2.0), 2 * (2 / 300) ** 0.5),
        (lambda w: init.kaiming_uniform_(w, nonlinearity="relu"), (2 / 200) ** 0.5),
        (lambda w: init.kaiming_normal_(w, mode="fan_out"), (2 / 100) ** 0.5),
        (lambda w: init.uniform_(w, -1, 1), (1 / 3) ** 0.5),
        (lambda w: init.normal_(w, 0, 3), 3.0),
        (init.zeros_, 0.0),
        (init.ones_, 0.0),
    ],
)
def test_initialisers_have_their_spread(fill, std):
    fb.manual_seed(0)
    w = nn.Parameter(fb.zeros(100, 200))
    assert fill(w) is w and w.requires_grad
    assert abs(w.numpy().std() - std) <= 0.02 * std + 1e-6


def test_linear(x2, device):
    layer = nn.Linear(4, 3, device=device)
    expected = x2.numpy() @ layer.weight.numpy().T + layer.bias.numpy()
    np.testing.assert_allclose(layer(x2).numpy(), expected, atol=1e-5)


def test_conv_takes_same_and_valid():
    x = fb.randn(1, 4, 9, 7)
    assert nn.Conv2d(4, 6, 3, padding="same", dilation=2, groups=2)(x).shape == (1, 6, 9, 7)
    assert nn.Conv2d(4, 6, (3, 5), padding="valid", stride=2)(x).shape == (1, 6, 4, 2)
    assert nn.Conv1d(4, 6, 3, padding=1, bias=False)(x[:, :, 0]).shape == (1, 6, 7)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("shape", [(8, 3), (8, 3, 5), (4, 3, 5, 6)])
def test_batch_norm(device, shape, momentum):
    make = nn.BatchNorm2d if len(shape) == 4 else nn.BatchNorm1d
    layer = make(3, momentum=momentum, device=device)
    mean, var = np.zeros(3), np.ones(3)
    axes, by_channel = (0, *range(2, len(shape))), (1, 3, *(1,) * (len(shape) - 2))
    n = np.prod(shape) // 3
    for i in range(3):
        a = np.random.default_rng(i).normal(2, 3, shape).astype("f4")
        y = layer(fb.tensor(a, device=device)).numpy()
        m, v = a.mean(axes), a.var(axes)
        np.testing.assert_allclose(
            y, (a - m.reshape(by_channel)) / np.sqrt(v + 1e-5).reshape(by_channel), atol=2e-5
        )
        share = momentum or 1 / (i + 1)
        mean, var = mean + (m - mean) * share, var + (v * n / (n - 1) - var) * share
    np.testing.assert_allclose(layer.running_mean.numpy(), mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), var, rtol=1e-5)
    assert layer.num_batches_tracked.item() == 3
    expected = (a - mean.reshape(by_channel)) / np.sqrt(var + 1e-5).reshape(by_channel)
    np.testing.assert_allclose(layer.eval()(fb.tensor(a, device=device)).numpy(), expected, atol=2e-5)
    assert layer.num_batches_tracked.item() == 3


def test_layer_norm(x2, device):
    a = x2.numpy()
    expected = (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.LayerNorm(4, device=device)(x2).numpy(), expected, atol=1e-5)


def test_dropout_scales_what_it_keeps(device):
    fb.manual_seed(0)
    y = nn.Dropout(0.25)(fb.ones(4000, device=device)).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)} and abs((y == 0).mean() - 0.25) < 0.03
    assert (nn.Dropout(0.25).eval()(fb.ones(9, device=device)).numpy() == 1).all()


def test_embedding_leaves_its_padding_row_alone(device):
    table = nn.Embedding(5, 2, padding_idx=1, device=device)
    grads = table(fb.tensor([[0, 1], [1, 4]], device=device)).sum().backward()
    assert grads[table.weight].tolist() == [[1, 1], [0, 0], [0, 0], [0, 0], [1, 1]]


def test_embeddings_from_vectors_take_the_options_of_their_layer():
    """Each by name and in PyTorch's place."""
    vectors = fb.tensor([[3.0, 4.0], [0.0, 2.0]], device="cpu")
    table = nn.Embedding.from_pretrained(vectors, False, 1, 1.0, scale_grad_by_freq=True, sparse=True)
    assert table.weight.requires_grad and table.padding_idx == 1 and table.sparse
    y = table(fb.tensor([0, 0], device="cpu"))
    np.testing.assert_allclose(y.numpy(), [[0.6, 0.8]] * 2, rtol=1e-5)
    assert y.sum().backward()[table.weight].tolist() == [[1, 1], [0, 0]]
    bag = nn.EmbeddingBag.from_pretrained(vectors, mode="sum", include_last_offset=True, padding_idx=1)
    starts = fb.tensor([0, 2, 3], device="cpu")
    assert bag(fb.tensor([0, 1, 0], device="cpu"), starts).tolist() == [[3, 4], [3, 4]]
    assert not bag.weight.requires_grad


def test_upsampling_layers_take_the_arguments_of_pytorch():
    shared = ["size", "scale_factor"]
    for kind in (nn.UpsamplingNearest2d, nn.UpsamplingBilinear2d):
        assert [*signature(kind).parameters] == shared and issubclass(kind, nn.Upsample)
    assert [*signature(nn.Upsample).parameters] == [
        *shared,
        "mode",
        "align_corners",
        "recompute_scale_factor",
    ]
    x = fb.tensor([[[[1.0, 3.0]]]], device="cpu")
    assert nn.UpsamplingNearest2d(scale_factor=2)(x).tolist() == [[[[1, 1, 3, 3]] * 2]]
    assert nn.UpsamplingBilinear2d((1, 3))(x).tolist() == [[[[1, 2, 3]]]]


def test_key_value_cache_takes_the_options_of_attention():
    rng = np.random.default_rng(1)
    q, k, v = (fb.tensor(rng.standard_normal((1, 2, 3, 4)), device="cpu", dtype="float32") for _ in range(3))
    mask = fb.tensor([[0.0, -1.0, 2.0]], device="cpu").expand(3, 3)
    cache = nn.KVCache(1, 2, 3, 4, device="cpu")
    got = cache(q, k, v, mask, scale=0.3, softcap=2.0)
    plain = nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=True, scale=0.3, softcap=2.0)
    np.testing.assert_allclose(got.numpy(), plain.numpy(), rtol=1e-5)


PLAIN = {
    nn.ReLU: lambda x: np.maximum(x, 0),
    nn.ReLU6: lambda x: np.clip(x, 0, 6),
    nn.Sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    nn.SiLU: lambda x: x / (1 + np.exp(-x)),
    nn.Tanh: np.tanh,
    nn.Mish: lambda x: x * np.tanh(np.log1p(np.exp(x))),
    nn.Softplus: lambda x: np.log1p(np.exp(x)),
    nn.Softsign: lambda x: x / (1 + np.abs(x)),
    nn.LogSigmoid: lambda x: -np.log1p(np.exp(-x)),
    nn.Hardswish: lambda x: x * np.clip(x + 3, 0, 6) / 6,
    nn.Hardsigmoid: lambda x: np.clip(x + 3, 0, 6) / 6,
    nn.Hardtanh: lambda x: np.clip(x, -1, 1),
    nn.ELU: lambda x: np.where(x > 0, x, np.expm1(x)),
    nn.LeakyReLU: lambda x: np.where(x > 0, x, 0.01 * x),
    nn.Softmax: lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    nn.LogSoftmax: lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
    nn.Flatten: lambda x: x.reshape(6, -1),
    nn.Identity: lambda x: x,
}


@pytest.mark.parametrize("make", PLAIN, ids=lambda m: m.__name__)
def test_plain_layers(x2, make):
    np.testing.assert_allclose(make()(x2).numpy(), PLAIN[make](x2.numpy()), atol=2e-6)


def test_arguments_of_plain_layers(x2):
    a = x2.numpy()
    np.testing.assert_allclose(nn.LeakyReLU(0.5)(x2).numpy(), np.where(a > 0, a, 0.5 * a), atol=1e-6)
    np.testing.assert_allclose(nn.Softmax(dim=0)(x2).numpy().sum(0), np.ones(4), atol=1e-6)
    assert repr(nn.GELU("tanh")) == "GELU(approximate='tanh')"
    assert nn.MaxPool2d(3, 2, 1)(fb.zeros(1, 1, 9, 9)).shape == (1, 1, 5, 5)
    assert nn.AvgPool2d(2)(fb.zeros(1, 1, 8, 8)).shape == (1, 1, 4, 4)
    assert nn.AdaptiveAvgPool2d(1)(fb.zeros(1, 3, 8, 8)).shape == (1, 3, 1, 1)


LOSSES = {
    nn.MSELoss: lambda x, t: np.mean((x - t) ** 2),
    nn.L1Loss: lambda x, t: np.mean(np.abs(x - t)),
    nn.BCEWithLogitsLoss: lambda x, t: np.mean(np.log1p(np.exp(x)) - x * t),
}


@pytest.mark.parametrize("make", LOSSES, ids=lambda m: m.__name__)
def test_losses(x2, device, make):
    target = np.random.default_rng(1).uniform(size=(6, 4)).astype("f4")
    found = make()(x2, fb.tensor(target, device=device)).item()
    assert abs(found - LOSSES[make](x2.numpy(), target)) < 1e-5


def test_losses_of_classes(x2, device):
    a, target = x2.numpy(), np.array([0, 1, 2, 3, 0, 1])
    log_p = a - np.log(np.exp(a).sum(1, keepdims=True))
    own = -log_p[range(6), target]
    labels = fb.tensor(target, device=device)
    np.testing.assert_allclose(nn.CrossEntropyLoss()(x2, labels).item(), own.mean(), rtol=1e-5)
    np.testing.assert_allclose(
        nn.NLLLoss(reduction="sum")(x2.log_softmax(1), labels).item(), own.sum(), rtol=1e-5
    )
    smooth = 0.9 * own.mean() - 0.1 * log_p.mean()
    np.testing.assert_allclose(nn.CrossEntropyLoss(label_smoothing=0.1)(x2, labels).item(), smooth, rtol=1e-5)


ERRORS = [
    (lambda: nn.Linear(-1, 3), "Linear(in_features=-1): sizes must not be negative: pass another value"),
    (
        lambda: nn.Conv2d(3, 4, 3, groups=2),
        "Conv2d(3, 4, groups=2): groups must divide both numbers of channels: change one of the three",
    ),
    (
        lambda: nn.Conv2d(3, 4, 2, stride=2, padding="same"),
        "Conv2d(padding='same'): padding must be a number, one for each dim, 'valid', or"
        " 'same' (stride 1): pass one of these",
    ),
    (
        lambda: nn.Conv2d(3, 4, 2, padding_mode="mirror"),
        "Conv2d(padding_mode='mirror'): is unknown: use one of zeros, reflect, replicate, circular",
    ),
    (
        lambda: nn.ConvTranspose1d(3, 4, 2, padding_mode="reflect"),
        "ConvTranspose1d(padding_mode='reflect'): only 'zeros' is possible: leave it out",
    ),
    (
        lambda: nn.ConvTranspose1d(3, 4, 2, stride=2)(fb.zeros(1, 3, 5), output_size=(12,)),
        "ConvTranspose1d(output_size=[12]): sizes of [10] to [11] are possible for [5]: pass one of these",
    ),
    (lambda: nn.Dropout(1.5), "Dropout(1.5): p must be from 0 to 1: pass a probability"),
    (lambda: nn.MaxPool2d(), "MaxPool2d.__init__() missing 1 required positional argument: 'kernel_size'"),
    (lambda: nn.ReLU(alpha=1), "ReLU.__init__() got an unexpected keyword argument 'alpha'"),
    (lambda: nn.Sequential(fb.relu), "Sequential({}): takes modules: pass an nn.Module, e.g. nn.ReLU()"),
    (
        lambda: nn.ModuleList([nn.ReLU()])(fb.zeros(2)),
        "ModuleList(f32[2]): it is a list, not a layer: call its modules, or use Sequential",
    ),
    (
        lambda: nn.BatchNorm1d(3)(fb.zeros(2, 4)),
        "BatchNorm1d(f32[2, 4]): the layer expects 3 channels, the input has 4: make them equal",
    ),
    (
        lambda: nn.BatchNorm2d(3)(fb.zeros(2, 3)),
        "BatchNorm2d(f32[2, 3]): takes 4 dims, batch and channels first: reshape it",
    ),
    (
        lambda: nn.BatchNorm1d(3)(fb.zeros(1, 3)),
        "BatchNorm1d(f32[1, 3]): a single value per channel has no variance: train on larger batches, or call"
        " eval()",
    ),
    (lambda: nn.Embedding(3, 2, 3), "Embedding(padding_idx=3): the table has 3 rows: pass the index of one"),
    (
        lambda: init.xavier_normal_(fb.zeros(3)),
        "fans([3]): weights need at least 2 dims: use uniform_ or normal_",
    ),
    (
        lambda: init.calculate_gain("swish"),
        "calculate_gain('swish'): unknown nonlinearity: use one of conv1d, conv2d, conv3d,"
        " conv_transpose1d, conv_transpose2d, conv_transpose3d, leaky_relu, linear, relu, selu, sigmoid,"
        " tanh",
    ),
    (lambda: nn.Module()(1), "Module(...): it has no forward: define forward(self, x)"),
]  # fmt: skip


@pytest.mark.parametrize("call, text", ERRORS, ids=[text.partition("(")[0] for _, text in ERRORS])
def test_errors(call, text):
    with pytest.raises((ValueError, TypeError, NotImplementedError)) as e:
        call()
    from flambeau.core.node import describe

    assert str(e.value) == text.format(describe(fb.relu))


TORCH = [
    ("Linear", (5, 3), (4, 5)),
    ("Conv1d", (4, 6, 3, 2, 1), (2, 4, 9)),
    ("Conv2d", (4, 6, 3, 2, 1, 1, 2), (2, 4, 9, 8)),
    ("BatchNorm2d", (4,), (3, 4, 5, 5)),
    ("LayerNorm", ((4, 5),), (3, 4, 5)),
    ("MaxPool2d", (3, 2, 1), (2, 3, 9, 9)),
    ("AvgPool2d", (3, 2, 1), (2, 3, 9, 9)),
    ("Conv1d", (4, 6, 4, 1, "same", 1, 2, True, "circular"), (2, 4, 9)),
    ("Conv2d", (4, 6, (3, 2), 1, (2, 1), 1, 1, True, "reflect"), (2, 4, 5, 6)),
    ("Conv3d", (2, 3, 2, 1, 1, 1, 1, True, "replicate"), (2, 2, 3, 4, 3)),
    ("ConvTranspose1d", (4, 6, 3, 2, 1, 1, 2), (2, 4, 9)),
    ("ConvTranspose2d", (4, 6, 3, 2, 0, 0, 1, False), (2, 4, 5, 6)),
    ("ConvTranspose3d", (2, 3, 2, 2), (1, 2, 3, 2, 3)),
    ("AvgPool3d", (2, 2, 1, True, False), (2, 3, 4, 5, 4)),
    ("MaxPool3d", (2, 2, 0, 1, False, True), (2, 3, 4, 5, 4)),
    ("LPPool2d", (2, 3, 2), (2, 3, 7, 8)),
    ("AdaptiveAvgPool2d", ((3, 5),), (2, 3, 7, 8)),
    ("AdaptiveMaxPool1d", (4,), (2, 3, 9)),
    ("Unfold", (2, 2, 1, 2), (2, 3, 7, 8)),
    ("Fold", ((5, 4), 2), (2, 12, 12)),
    ("Upsample", (None, 2.0, "bicubic"), (2, 3, 4, 5)),
    ("UpsamplingBilinear2d", ((7, 3),), (2, 3, 4, 5)),
    ("GELU", (), (4, 5)),
    ("Softplus", (2.0, 1.0), (4, 5)),
]


@pytest.mark.parametrize("name, args, shape", TORCH, ids=[row[0] for row in TORCH])
def test_layers_agree_with_torch(torch, device, name, args, shape):
    theirs, mine = getattr(torch.nn, name)(*args), getattr(nn, name)(*args)
    mine.to(device).load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    a = np.random.default_rng(0).normal(size=shape).astype("f4")
    x, tx = fb.tensor(a, device=device, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, ty = mine(x), theirs(tx)
    np.testing.assert_allclose(y.numpy(), ty.detach().numpy(), atol=2e-5)
    grads = (y * y).sum().backward()
    (ty * ty).sum().backward()
    np.testing.assert_allclose(grads[x].numpy(), tx.grad.numpy(), atol=2e-4)
    for p, tp in zip(mine.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(grads[p].numpy(), tp.grad.numpy(), rtol=1e-4, atol=2e-4)
    for t, (key, expected) in zip(mine.state_dict().values(), theirs.state_dict().items(), strict=True):
        np.testing.assert_allclose(t.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6, err_msg=key)


def test_layers_of_two_inputs_agree_with_torch(torch, device):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 4)).astype("f4"), rng.normal(size=(2, 3, 5)).astype("f4")
    theirs, mine = torch.nn.Bilinear(4, 5, 6), nn.Bilinear(4, 5, 6).to(device)
    mine.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    y = mine(fb.tensor(a, device=device), fb.tensor(b, device=device))
    np.testing.assert_allclose(y.numpy(), theirs(*map(torch.tensor, (a, b))).detach().numpy(), atol=1e-5)
    theirs, mine = (m.EmbeddingBag(7, 3, mode="max", padding_idx=1) for m in (torch.nn, nn))
    mine.to(device).load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    rows, offsets = rng.integers(0, 7, 12), np.array([0, 4, 4])
    y = mine(fb.tensor(rows, device=device), fb.tensor(offsets, device=device))
    want = theirs(torch.tensor(rows), torch.tensor(offsets)).detach().numpy()
    np.testing.assert_allclose(y.numpy(), want, atol=1e-6)


def test_new_layers_without_torch(device):
    """What their functions' rows do not cover: shapes, arguments that forward takes, and text."""
    x = fb.rand(2, 4, 6, 6, device=device)
    up = nn.ConvTranspose2d(4, 3, 3, stride=2, padding=1).to(device)
    assert up.weight.shape == (4, 3, 3, 3)
    assert up(x).shape == (2, 3, 11, 11) and up(x, output_size=(12, 11)).shape == (2, 3, 12, 11)
    y, index = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(y, index)
    assert back.shape == x.shape
    assert (nn.MaxPool2d(2)(back) == y).all().item() and (back > 0).sum().item() == 2 * 4 * 9
    y, index = nn.MaxPool2d(2, return_indices=True)(x[..., :5])
    for wide in (
        nn.MaxUnpool2d(2)(y, index, (6, 5)),
        nn.MaxUnpool2d(2)(y, index, output_size=x[..., :5].shape),
    ):
        assert wide.shape == (2, 4, 6, 5) and (nn.MaxPool2d(2)(wide) == y).all().item()
    moved = nn.DeformConv2d(4, 6, 3, padding=1, groups=2).to(device)
    still = fb.nn.functional.conv2d(x, moved.weight, moved.bias, 1, 1, 1, 2)
    offset = fb.zeros(2, 18, 6, 6, device=device)
    np.testing.assert_allclose(moved(x, offset).numpy(), still.numpy(), atol=1e-5)
    loss = nn.CTCLoss(blank=3)(
        x[:, :, 0].log_softmax(2), fb.tensor([[1, 2]] * 4, device=device), [2] * 4, [2] * 4
    )
    assert loss.shape == () and np.isfinite(loss.item())
    settings = "kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=True"
    assert repr(nn.MaxPool2d(3, ceil_mode=True)) == f"MaxPool2d({settings})"
    assert repr(nn.EmbeddingBag(5, 2, mode="sum")) == "EmbeddingBag(5, 2, mode='sum')"
    assert repr(nn.Conv3d(2, 2, 1, padding="same", padding_mode="circular")) == (
        "Conv3d(2, 2, kernel_size=(1, 1, 1), stride=(1, 1, 1), padding='same', padding_mode='circular')"
    )


def test_a_plain_tensor_is_not_taken_for_a_parameter():
    layer = nn.Linear(2, 1)
    with pytest.raises(TypeError) as e:
        layer.weight = layer.weight - 1
    assert str(e.value) == (
        "Linear.weight = f32[1, 2]: weight is a parameter: change it in place inside no_grad"
        " (`weight.copy_(t)`), or assign nn.Parameter(t)"
    )
    layer.weight = nn.Parameter(fb.zeros(1, 2))
    layer.bias = None
    assert [name for name, _ in layer.named_parameters()] == ["weight"] and layer(
        fb.ones(3, 2)
    ).sum().item() == 0
