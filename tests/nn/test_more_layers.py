"""Lazy layers, positions and grouped-query attention, answers for several devices, and summaries."""

import numpy as np
import pytest
from helpers.torch_nn import compare, twins

import flambeau as fb
from flambeau import nn

RNG = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    """What is here is made of ops that have tests of their kernels."""
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def drawn(*shape):
    return RNG.normal(size=shape).astype("f4")


LAZY = {
    "Linear": ((5,), (2, 3, 4)),
    "Conv1d": ((4, 3), (2, 6, 7)),
    "Conv2d": ((4, 3, 1, 1, 1, 2), (2, 6, 5, 5)),
    "Conv3d": ((4, 2), (1, 2, 3, 4, 3)),
    "ConvTranspose1d": ((4, 3), (2, 6, 7)),
    "ConvTranspose2d": ((4, 3), (2, 3, 5, 5)),
    "ConvTranspose3d": ((4, 2), (1, 2, 3, 2, 3)),
    "BatchNorm1d": ((), (4, 3)),
    "BatchNorm2d": ((1e-4,), (2, 3, 4, 4)),
    "BatchNorm3d": ((), (2, 3, 2, 2, 2)),
    "InstanceNorm1d": ((1e-5, 0.1, True, True), (2, 3, 4)),
    "InstanceNorm2d": ((1e-5, 0.1, True, True), (2, 3, 4, 4)),
    "InstanceNorm3d": ((1e-5, 0.1, True, True), (2, 3, 2, 2, 2)),
}


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers_beside_torch(torch, name):
    args, shape = LAZY[name]
    x = drawn(*shape)
    pair = twins(torch, lambda f: getattr(f.nn, f"Lazy{name}")(*args), x)
    assert type(pair[0]) is getattr(nn, name)
    compare(torch, pair, x)


@pytest.mark.parametrize("name", LAZY)
def test_lazy_layers_become_what_they_stand_for(name):
    args, shape = LAZY[name]
    layer = getattr(nn, f"Lazy{name}")(*args)
    assert all(isinstance(p, nn.UninitializedParameter) for p in layer.parameters())
    held = list(layer.parameters())
    y = layer(fb.tensor(drawn(*shape)))
    assert type(layer) is getattr(nn, name) and y.shape[0] == shape[0]
    size = shape[-1] if name == "Linear" else shape[1]
    assert {p.shape for p in layer.parameters()} == {
        p.shape for p in getattr(nn, name)(size, *args).parameters()
    }
    assert all(p is q and q.requires_grad for p, q in zip(held, layer.parameters(), strict=True))


def test_lazy_layers_load_before_they_know():
    state = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).state_dict()
    model = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d()).eval()
    model.load_state_dict(state)
    x = fb.tensor(drawn(4, 3))
    y = model(x)
    assert not model[1].training and type(model[0]) is nn.Linear
    want = x.numpy() @ state["0.weight"].numpy().T + state["0.bias"].numpy()
    np.testing.assert_allclose(y.numpy(), want / np.sqrt(1 + 1e-5), atol=1e-5)
    other = nn.LazyLinear(2)
    other.load_state_dict({"weight": fb.ones(2, 3), "bias": fb.ones(2)})
    with pytest.raises(ValueError) as e:
        other(fb.ones(1, 4))
    assert str(e.value) == (
        "LazyLinear(in_features=4): weight was loaded as f32[2, 3], but this input needs"
        " f32[2, 4]: pass another input"
    )


# --- positions ---


def test_rotations_keep_what_is_between_places():
    for interleaved in (False, True):
        turn = nn.RotaryEmbedding(6, interleaved=interleaved)
        q, k = fb.tensor(drawn(1, 6)), fb.tensor(drawn(1, 6))
        near = (turn(q, 5) * turn(k, 3)).sum().item()
        far = (turn(q, 9) * turn(k, 7)).sum().item()
        assert abs(near - far) < 1e-4
        np.testing.assert_allclose(turn(q).numpy(), q.numpy(), atol=1e-6)


def test_rotations_by_numpy():
    x = drawn(2, 4, 6)
    pairs = x.reshape(2, 4, 3, 2)
    angles = np.arange(4)[:, None] * 10000.0 ** (-np.arange(3) / 3)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angles)
    want = np.stack([turned.real, turned.imag], -1).reshape(x.shape)
    found = nn.RotaryEmbedding(6, interleaved=True)(fb.tensor(x))
    np.testing.assert_allclose(found.numpy(), want, atol=1e-5)
    halves = np.concatenate([x[..., ::2], x[..., 1::2]], -1)
    found = nn.RotaryEmbedding(6)(fb.tensor(halves)).numpy()
    np.testing.assert_allclose(found, np.concatenate([want[..., ::2], want[..., 1::2]], -1), atol=1e-5)


def test_sinusoids_and_slopes():
    table = nn.SinusoidalEmbedding(4)(fb.zeros(1, 3, 4), start=2).numpy()[0]
    places = np.arange(2, 5)[:, None] / np.array([1, 100.0])
    want = np.stack([np.sin(places), np.cos(places)], -1).reshape(3, 4)
    np.testing.assert_allclose(table, want, atol=1e-6)
    np.testing.assert_allclose(nn.ALiBi(8).slopes, [2.0**-i for i in range(1, 9)])
    np.testing.assert_allclose(nn.ALiBi(3).slopes, [2.0**-4, 2.0**-8, 2.0**-2])
    bias = nn.ALiBi(2)(2, 3, start=1).numpy()
    np.testing.assert_allclose(bias[0], np.array([[-1, 0, -1], [-2, -1, 0]]) / 16)


@pytest.mark.parametrize(
    "positions", [None, nn.RotaryEmbedding(4), nn.ALiBi(4)], ids=["none", "rotary", "alibi"]
)
def test_a_cache_goes_on_where_it_was(positions):
    layer = nn.GroupedQueryAttention(16, 4, 2, positions)
    assert layer.k_proj.out_features == 8
    x = fb.tensor(drawn(2, 5, 16))
    want = layer(x).numpy()
    cache = layer.new_cache(2, 8)
    made = [layer(x[:, :2], cache), *(layer(x[:, i : i + 1], cache) for i in range(2, 5))]
    np.testing.assert_allclose(fb.cat(made, 1).numpy(), want, atol=1e-5)


def test_grouped_heads_by_numpy(device):
    layer = nn.GroupedQueryAttention(8, 4, 2, device=device)
    x = drawn(1, 3, 8)
    q, k, v = (x @ m.weight.numpy().T for m in (layer.q_proj, layer.k_proj, layer.v_proj))
    q, k, v = (t.reshape(3, -1, 2).transpose(1, 0, 2) for t in (q, k, v))
    s = q @ k.repeat(2, 0).swapaxes(1, 2) / np.sqrt(2) + np.triu(np.full((3, 3), -np.inf), 1)
    p = np.exp(s) / np.exp(s).sum(-1, keepdims=True)
    want = (p @ v.repeat(2, 0)).transpose(1, 0, 2).reshape(1, 3, 8) @ layer.o_proj.weight.numpy().T
    np.testing.assert_allclose(layer(fb.tensor(x, device=device)).numpy(), want, atol=1e-5)


# --- one device; summaries ---


def test_batch_norms_of_one_process():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2))
    before = model[1].weight
    assert nn.SyncBatchNorm.convert_sync_batchnorm(model) is model and type(model[1]) is nn.SyncBatchNorm
    assert model[1].weight is before
    x = fb.tensor(drawn(3, 2, 4, 4))
    np.testing.assert_allclose(nn.SyncBatchNorm(2)(x).numpy(), nn.BatchNorm2d(2)(x).numpy(), atol=1e-6)
    assert list(nn.DataParallel(nn.Linear(1, 1)).state_dict()) == ["module.weight", "module.bias"]


def test_a_summary_counts():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5, bias=False))
    model[0].requires_grad_(False)
    found = nn.summary(model, fb.ones(2, 3, 6, 6))
    assert [(r.name, r.layer, r.shape, r.parameters, r.flops) for r in found.rows] == [
        ("0", "Conv2d", "[2, 4, 4, 4]", 112, 2 * 2 * 4 * 4 * 4 * 27),
        ("1", "ReLU", "[2, 4, 4, 4]", 0, 0),
        ("2", "Flatten", "[2, 64]", 0, 0),
        ("3", "Linear", "[2, 5]", 320, 2 * 2 * 5 * 64),
    ]
    assert (found.parameters, found.trainable, found.parameter_bytes) == (432, 320, 1728)
    assert str(found).splitlines()[1] == "0 (Conv2d)   [2, 4, 4, 4]         112  0.007  0.5"
    assert str(found).splitlines()[-1] == "0.008 MFLOP, 1.5 KiB of outputs"
    tied = nn.Sequential(model[3], nn.Linear(5, 64), model[3])
    assert nn.summary(tied, fb.ones(1, 64)).parameters == 320 + 384


def test_a_summary_leaves_the_model_as_it_is():
    model = nn.Sequential(nn.Embedding(5, 3, max_norm=0.1), nn.BatchNorm1d(3))
    before = {name: t.numpy() for name, t in model.state_dict().items()}
    nn.summary(model, fb.tensor([0, 1, 2]))
    assert all((t.numpy() == before[name]).all() for name, t in model.state_dict().items())
    model(fb.tensor([0, 1, 2]))
    assert model[1].num_batches_tracked.item() == 1


PARALLEL = (
    "a process uses one device, and the optimizer is wrapped: write"
    " `optimizer = flambeau.distributed.wrap(optimizer, model)`, step by"
    " `optimizer.step(loss_function, *batch)`, and start it by `flambeau launch --devices 2 script.py`"
)
ERRORS = {
    "LazyConv1d(f32[3]): takes 2 or 3 dims: reshape it": lambda: nn.LazyConv1d(4, 3)(fb.ones(3)),
    "LazyBatchNorm1d(f32[3]): the size is taken from dim 1, which the input lacks: pass an"
    " input that has it": (lambda: nn.LazyBatchNorm1d()(fb.ones(3))),
    "RotaryEmbedding(5): features come in pairs: pass an even number": lambda: nn.RotaryEmbedding(5),
    "RotaryEmbedding(f32[2, 6]): the layer expects 4 features, the input has 6: make them equal": (
        lambda: nn.RotaryEmbedding(4)(fb.ones(2, 6))
    ),
    "SinusoidalEmbedding(3): features come in pairs: pass an even number": lambda: nn.SinusoidalEmbedding(3),
    "GroupedQueryAttention(8, 4, 3): heads must divide the features, and kv heads the heads: pass divisors": (
        lambda: nn.GroupedQueryAttention(8, 4, 3)
    ),
    f"DataParallel(device_ids=[0, 1]): {PARALLEL}": lambda: nn.DataParallel(nn.ReLU(), [0, 1]),
    f"DistributedDataParallel(ReLU): {PARALLEL}": lambda: nn.parallel.DistributedDataParallel(nn.ReLU()),
}


@pytest.mark.parametrize("text", ERRORS)
def test_errors(text):
    with pytest.raises((ValueError, TypeError)) as e:
        ERRORS[text]()
    assert str(e.value) == text
