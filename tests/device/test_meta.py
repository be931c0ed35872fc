"""The meta device: shapes and dtypes through all operations, and no values."""

import copy
import pickle
import warnings

import pytest

import flambeau as fb
from flambeau import nn
from flambeau.device.meta import NoValue

NO_DATA = "Cannot copy out of meta tensor; no data!"


@pytest.fixture(autouse=True)
def on_the_cpu():
    with fb.device("cpu"):
        yield


def test_shapes_and_dtypes_without_values():
    x = fb.empty(2, 3, device="meta")
    assert x.is_meta and not x.is_cpu and not x.is_cuda and x.device.type == "meta"
    y = (x @ x.mT + 1).softmax(-1)
    assert y.shape == (2, 2) and y.dtype is fb.float32 and y.is_meta
    assert (y > 0).dtype is fb.bool_ and y.double().sum().dtype is fb.float64
    assert fb.arange(5, device="meta").dtype is fb.int64
    x += 1
    x[0] = 3
    assert x.fill_(2).shape == (2, 3) and repr(x) == "tensor(..., device='meta', size=(2, 3))"
    z = fb.tensor([1, 2], device="meta", dtype=fb.int32)
    assert repr(z) == "tensor(..., device='meta', size=(2,), dtype=flambeau.int32)"
    assert fb.ones(2).to("meta").is_meta and fb.zeros_like(x, device="cpu").tolist() == [[0] * 3] * 2


READS = {
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(),
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum() > 0),
    "cpu": lambda x: x.cpu(),
    "nonzero": lambda x: x.nonzero(),
    "dlpack": lambda x: x.__dlpack__(),
    "mask": lambda x: x[x > 0],
}


@pytest.mark.parametrize("name", READS)
def test_a_read_raises(name):
    with pytest.raises(NoValue, match=NO_DATA) as raised:
        READS[name](fb.ones(2, device="meta"))
    assert isinstance(raised.value, NotImplementedError)


def test_devices_do_not_mix():
    with pytest.raises(ValueError, match="devices differ: cpu and meta"):
        fb.ones(2) + fb.ones(2, device="meta")


def test_long_chains_are_not_kept():
    x = fb.zeros(2, device="meta")
    for _ in range(5000):
        x = x + 1
    assert x.shape == (2,)


def test_draws_take_no_numbers():
    before = fb.get_rng_state()
    with fb.device("meta"):
        layer = nn.Linear(3, 4)
    assert layer.weight.is_meta and layer(fb.randn(2, 3, device="meta")).shape == (2, 4)
    assert fb.get_rng_state() == before


def test_gradients_have_shapes():
    with fb.device("meta"):
        model = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        loss = model(fb.randn(2, 5, 8)).sum()
    grads = loss.backward()
    assert {name: g.shape for name, g in grads[model].items()} == {
        n: p.shape for n, p in model.named_parameters()
    }


def test_out_of_meta():
    model = nn.Sequential(nn.Linear(2, 3, device="meta"), nn.BatchNorm1d(3, device="meta"))
    with pytest.raises(NoValue, match=r"to_empty"):
        model.to("cpu")
    state = {name: fb.ones(*t.shape, dtype=t.dtype) for name, t in model.state_dict().items()}
    with pytest.warns(UserWarning, match="pass assign=True"):
        model.load_state_dict(state)
    assert model[0].weight.is_meta
    assigned = copy.deepcopy(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assigned.load_state_dict(state, assign=True)
    assert assigned[0].weight.tolist() == [[1, 1]] * 3 and assigned[0].weight.requires_grad
    weight = model[0].weight
    model.to_empty(device="cpu").load_state_dict(state)
    assert model[0].weight is weight and weight.tolist() == [[1, 1]] * 3 and not model[1].running_mean.is_meta
    assert nn.Linear(2, 2).to("meta").weight.is_meta


def test_copies_and_pickles():
    x = fb.ones(2, 3, device="meta", dtype=fb.float16)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone()):
        assert y.is_meta and y.shape == (2, 3) and y.dtype is fb.float16
