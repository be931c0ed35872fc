"""Turns the ways in which PyTorch's users make, move and reset layers into what they mean here."""

import warnings

import pytest

import flambeau as fb
import flambeau.nn.functional as F
from flambeau import nn, optim
from flambeau.core import warn_once

WRITING = (  # torch's text, run with both
    "F.relu(x, inplace=True)",
    "F.leaky_relu(x, 0.1, inplace=True)",
    "F.elu(x, 0.5, inplace=True)",
    "F.selu(x, inplace=True)",
    "F.hardtanh(x, 0, 1, inplace=True)",
    "F.silu(input=x, inplace=True)",
    "F.threshold(x, 0.0, 5.0, inplace=True)",
    "F.dropout(x, 0.0, inplace=True)",
    "F.relu(x, inplace=False)",
    "nn.ReLU(inplace=True)(x)",
    "nn.ReLU(True)(x)",
    "nn.LeakyReLU(0.1, True)(x)",
    "nn.Hardswish(inplace=True)(x)",
    "nn.RReLU(0.2, 0.2, True).eval()(x)",
    "nn.Dropout(0.5, True).eval()(x)",
    "nn.Sequential(nn.ReLU(True), nn.SiLU(inplace=True))(x)",
    "F.relu(x[1:], inplace=True)",
    "F.relu(x * 2, inplace=True)",
    "F.relu_(x)",
    "F.leaky_relu_(x, 0.1)",
)


def after(text: str, scope: dict, x) -> tuple:
    """What an expression gives, what x is after it, and whether the result is x."""
    y = eval(text, {**scope, "x": x})
    return [round(v, 4) for v in y.tolist()], [round(v, 4) for v in x.tolist()], y is x


def by_flambeau(text: str) -> tuple:
    return after(text, {"F": F, "nn": nn}, fb.tensor([-1.0, 2.0], device="cpu"))


def test_in_place_activations():
    assert by_flambeau(WRITING[0]) == ([0, 2], [0, 2], True)
    assert by_flambeau(WRITING[8]) == ([0, 2], [-1, 2], False)
    x = fb.tensor([-1.0, 2.0], device="cpu", requires_grad=True)
    y = x * 3
    grads = (nn.ReLU(inplace=True)(y) * y).sum().backward()  # y is what relu made of it
    assert grads[x].tolist() == [0, 36]
    with pytest.raises(ValueError, match="can't be written to: it is a leaf that requires gradients"):
        F.relu(x, inplace=True)
    for wrong in (
        lambda: nn.Sigmoid(inplace=True),
        lambda: F.sigmoid(y, inplace=True),
    ):
        with pytest.raises(TypeError):
            wrong()
    assert repr(nn.ReLU(True)) == "ReLU(inplace=True)" and repr(nn.Dropout(0.1, True)) == (
        "Dropout(p=0.1, inplace=True)"
    )


def test_in_place_activations_beside_torch(torch):
    for text in WRITING:
        scope = {"F": torch.nn.functional, "nn": torch.nn}
        assert by_flambeau(text) == after(text, scope, torch.tensor([-1.0, 2.0])), text


@pytest.mark.parametrize(
    "make",
    [
        lambda **kw: nn.Linear(3, 2, **kw),
        lambda **kw: nn.Bilinear(3, 2, 2, **kw),
        lambda **kw: nn.Embedding(3, 2, **kw),
        lambda **kw: nn.EmbeddingBag(3, 2, **kw),
        lambda **kw: nn.Conv2d(2, 2, 3, **kw),
        lambda **kw: nn.ConvTranspose1d(2, 2, 3, **kw),
        lambda **kw: nn.BatchNorm1d(2, **kw),
        lambda **kw: nn.InstanceNorm2d(2, affine=True, **kw),
        lambda **kw: nn.LayerNorm(2, **kw),
        lambda **kw: nn.GroupNorm(1, 2, **kw),
        lambda **kw: nn.RMSNorm(2, **kw),
        lambda **kw: nn.PReLU(**kw),
    ],
)
def test_layers_are_made_in_a_dtype(make):
    layer = make(device="cpu", dtype=fb.float16)
    assert all(p.dtype is fb.float16 and p.requires_grad for p in layer.parameters())
    assert all(b.dtype is fb.float16 for b in layer.buffers() if b.dtype.is_float)
    assert next(layer.parameters()).device.name == "cpu"
    with pytest.raises(TypeError, match="argument 'dtyp'"):
        make(dtyp=fb.float16)


def test_device_and_dtype_have_pytorchs_places():
    for layer in (
        nn.Linear(2, 3, True, "cpu", fb.float16),
        nn.BatchNorm1d(2, 1e-5, 0.1, True, True, "cpu", fb.float16),
        nn.LSTM(2, 3, 1, True, False, 0.0, False, 0, "cpu", fb.float16),
        nn.Conv1d(2, 3, 1, 1, 0, 1, 1, True, "zeros", "cpu", fb.float16),
        nn.GRUCell(2, 3, True, "cpu", fb.float16),
    ):
        assert next(layer.parameters()).dtype is fb.float16


def test_models_move(device):
    x = fb.ones(1, 3, device=device)
    for move in (
        lambda m: m.to(device, fb.float16),
        lambda m: m.to(device).to(dtype=fb.float16),
        lambda m: m.to(x.half()),
        lambda m: m.to(device=device, dtype="float16", non_blocking=True),
        lambda m: m.to(device, fb.float16, True),
        lambda m: m.to(device).half(),
        lambda m: m.to(device).type(fb.float16),
    ):
        model = nn.Sequential(nn.Linear(3, 2, device="cpu"), nn.BatchNorm1d(2, device="cpu"))
        before = list(model.parameters())
        assert move(model) is model and all(a is b for a, b in zip(before, model.parameters(), strict=True))
        assert all(t.dtype is fb.float16 and t.device is device for t in before)
        assert (
            model[1].num_batches_tracked.dtype is fb.int64 and model[1].num_batches_tracked.device is device
        )
    assert model.cpu()[0].weight.device.name == "cpu" and model.eval()(x.cpu().half()).shape == (1, 2)
    with pytest.raises(TypeError) as told:
        nn.Linear(3, 2).to(fb.int32)
    assert str(told.value) == "Linear.to(flambeau.int32): parameters must be floats: pass a float dtype"


def test_zero_grad_says_once_that_there_is_nothing():
    model = nn.Linear(2, 1).to("cpu")
    sgd = optim.SGD(model.parameters(), lr=0.1)
    warn_once._said.discard(warn_once.NO_GRAD_KEPT)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sgd.zero_grad()
        sgd.zero_grad(set_to_none=True)
        model.zero_grad()
        model.weight.grad = None
    rule = "tensors keep no gradients: nothing must be cleared before backward()"
    assert [(str(w.message), w.filename) for w in told] == [(rule, __file__)]


def test_gradients_show_what_they_hold():
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).to("cpu")
    loss = model(fb.ones(1, 3, device="cpu")).sum()
    grads = loss.backward()
    assert repr(grads) == "Gradients(4: f32[2, 3], f32[2], f32[1, 2], f32[1]; grads[p], grads[model])" or (
        sorted(repr(grads))
        == sorted("Gradients(4: f32[2, 3], f32[2], f32[1, 2], f32[1]; grads[p], grads[model])")
    )
    named = grads[model]
    assert list(named) == ["0.weight", "0.bias", "1.weight", "1.bias"] and list(grads[model[1]]) == [
        "weight",
        "bias",
    ]
    assert (
        {id(p) for p, _ in grads.items()} == {id(p) for p in model.parameters()} == set(map(id, grads.keys()))
    )
    assert all(g is grads[p] for p, g in grads.items()) and len(grads) == len(grads.values()) == 4
    other = fb.tensor([1.0], requires_grad=True, device="cpu")
    for given, text in (
        (other, "grads[f32[1]]: the loss does not depend on it: check requires_grad and detach"),
        (
            loss,
            (
                "grads[f32[]]: it is not a leaf: autograd.grad(loss, [y]) computes"
                " gradients with respect to such tensors"
            ),
        ),
    ):
        with pytest.raises(KeyError) as told:
            grads[given]
        assert str(told.value) == text


def test_gradients_are_asked_for_in_torchs_ways():
    x = fb.tensor([1.0, 2.0], device="cpu")
    x.requires_grad = True
    assert x.requires_grad and x.is_leaf and (x * x).sum().backward()[x].tolist() == [2, 4]
    grads = (x * x).sum().backward()
    assert x.requires_grad_() is x and grads[x].tolist() == [2, 4]  # told again, it is the same tensor
    y = x * 2
    assert not y.is_leaf and y.requires_grad_() is y and (y * y).sum().backward()[x].tolist() == [8, 16]
    for value in (fb.ones(2, device="cpu"), 3):
        with pytest.raises(
            AttributeError, match=r"gradients are not kept on tensors: grads = loss.backward\(\)"
        ):
            x.grad = value
    with pytest.raises(ValueError) as told:
        y.requires_grad = False
    assert str(told.value) == (
        "requires_grad_(f32[2], False): gradients flow through it to its inputs: use .detach()"
    )
    with pytest.raises(TypeError) as told:
        fb.tensor([1, 2], dtype=fb.int32, device="cpu").requires_grad = True
    assert (
        str(told.value)
        == "requires_grad_(i32[2]): only floats and complex numbers have gradients: cast with .float()"
    )
    x.requires_grad = False
    assert not x.requires_grad and not (x * 2).requires_grad
    w = nn.Parameter(y)  # of a computed tensor: a leaf of its own
    assert w.is_leaf and w.requires_grad and (w * w).sum().backward()[w].tolist() == [4, 8]
