"""`reset_parameters` of every layer that has it in PyTorch: the values of a layer that is just made."""

import numpy as np
import pytest
from helpers.compare import values

import flambeau as fb
from flambeau import nn

LAYERS = {  # name: its arguments
    "AdaptiveLogSoftmaxWithLoss": (32, 20, [4, 10]),
    **{f"BatchNorm{n}d": (3,) for n in (1, 2, 3)},
    "Bilinear": (3, 4, 5),
    **{f"Conv{n}d": (4, 6, 3) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": (4, 6, 3) for n in (1, 2, 3)},
    "Embedding": (7, 3, 2),
    "EmbeddingBag": (7, 3),
    "GRU": (3, 4, 2),
    "GRUCell": (3, 4),
    "GroupNorm": (2, 4),
    **{f"InstanceNorm{n}d": (3, 1e-5, 0.1, True, True) for n in (1, 2, 3)},
    "LSTM": (3, 4),
    "LSTMCell": (3, 4),
    "LayerNorm": (4,),
    "Linear": (3, 5),
    "PReLU": (3, 0.1),
    "RMSNorm": (4,),
    "RNN": (3, 4),
    "RNNCell": (3, 4),
}
BASES = {"RNNBase", "RNNCellBase", "SyncBatchNorm"}  # made by their subclasses; a batch norm on one device


@pytest.fixture(autouse=True)
def on_numpy(monkeypatch):
    monkeypatch.setenv("FLAMBEAU_DEVICE", "cpu")


def state_of(layer) -> dict:
    state = layer.state_dict()
    return dict(zip(state, values(*state.values()), strict=True))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_as_one_that_is_just_made(name):
    fb.manual_seed(5)
    layer = getattr(nn, name)(*LAYERS[name])
    first = state_of(layer)
    for t in (*layer.parameters(), *layer.buffers()):
        nn.init.constant_(t, 3)
    assert all((t == 3).all() for t in state_of(layer).values())
    fb.manual_seed(5)
    layer.reset_parameters()
    found = state_of(layer)
    for key, want in first.items():
        np.testing.assert_array_equal(found[key], want, key)
    layer.reset_parameters()
    is_drawn = any(len(np.unique(t)) > 1 for t in first.values())
    assert is_drawn == any((t != first[key]).any() for key, t in state_of(layer).items())


def test_statistics_alone_are_reset():
    norm = nn.BatchNorm1d(3)
    for p in norm.parameters():
        nn.init.constant_(p, 2)
    norm(fb.tensor(np.arange(12, dtype="f4").reshape(4, 3)))
    before = state_of(norm)
    assert before["num_batches_tracked"] == 1 and before["running_mean"][2] > 0
    norm.reset_running_stats()
    found = state_of(norm)
    assert (found["running_mean"] == 0).all() and (found["running_var"] == 1).all()
    assert found["num_batches_tracked"] == 0 and (found["weight"] == 2).all()
    nn.BatchNorm1d(3, affine=False, track_running_stats=False).reset_parameters()  # nothing to give values


def test_a_lazy_layer_has_nothing_to_reset():
    model = nn.Sequential(nn.LazyLinear(4))
    layer = model[0]
    layer.reset_parameters()
    assert layer.has_uninitialized_params()
    model(fb.zeros(2, 3))
    nn.init.constant_(layer.weight, 3)
    layer.reset_parameters()
    assert (layer.weight.numpy() != 3).all()


def test_every_layer_that_has_it_in_pytorch(torch):
    kinds = {n: c for n, c in vars(torch.nn).items() if isinstance(c, type)}
    for what in ("reset_parameters", "reset_running_stats"):
        theirs = {n for n, c in kinds.items() if hasattr(c, what)} - BASES
        assert {n for n in theirs if not hasattr(getattr(nn, n), what)} == set()
        if what == "reset_parameters":
            assert {n for n in theirs if not n.startswith("Lazy")} == set(LAYERS)
