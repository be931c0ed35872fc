"""Named tensors: names and their errors, recorded calls, gradients, files; no trace of them in plans."""

import copy
import pickle

import numpy as np
import onnx
import pytest

import flambeau as fb
from flambeau import nn
from flambeau.core import autocast, overrides
from flambeau.core.tree import leaves, tree_map

F = nn.functional


def tensor(names, *shape, seed=0):
    return fb.named.tensor(np.random.default_rng(seed).normal(size=shape).astype("f4"), names)


X = tensor("batch feature", 4, 3)
SQUARE = tensor("row column", 3, 3)
REFUSALS = {  # the whole text: (what raises it, its kind)
    "NamedTensor([2, 2], 'a a'): 'a' names two dims: rename one": (
        lambda: fb.named.tensor(fb.zeros(2, 2), "a a"),
        ValueError,
    ),
    "NamedTensor([2, 2], 'a'): 1 name for 2 dims: pass one for each": (
        lambda: fb.named.tensor(fb.zeros(2, 2), "a"),
        ValueError,
    ),
    "NamedTensor([2], ['a b']): 'a b' can't name a dim: a name has letters, digits and _, and begins with a "
    "letter": (lambda: fb.named.tensor(fb.zeros(2), ["a b"]), ValueError),
    "NamedTensor([2], [0]): 0 is not a name: use strings, such as 'batch'": (
        lambda: fb.named.tensor(fb.zeros(2), [0]),
        TypeError,
    ),
    "NamedTensor(list): takes a tensor: use fb.named.tensor": (
        lambda: fb.named.NamedTensor([1.0], "a"),
        TypeError,
    ),
    "add([batch 4, feature 3], [feature 4]): 'feature' has sizes 3 and 4: make them equal, or rename one": (
        lambda: X + tensor("feature", 4),
        ValueError,
    ),
    "add([batch 4, feature 3], f32[4, 3]): a tensor has dims without names: write "
    "fb.named.tensor(x, names)": (
        lambda: X + fb.zeros(4, 3),
        TypeError,
    ),
    "add(f32[4, 3], [batch 4, feature 3]): a tensor has dims without names: write "
    "fb.named.tensor(x, names)": (
        lambda: fb.zeros(4, 3) + X,
        TypeError,
    ),
    "sum([batch 4, feature 3], 'features'): no dim is named 'features': did you mean 'feature'?": (
        lambda: X.sum("features"),
        IndexError,
    ),
    "sum([batch 4, feature 3], 'zzz'): no dim is named 'zzz': use one of 'batch', 'feature'": (
        lambda: X.sum("zzz"),
        IndexError,
    ),
    "sum([batch 4, feature 3], 0): 0 is not a name: dims have names here: use one of 'batch', 'feature'": (
        lambda: X.sum(0),
        TypeError,
    ),
    "sum([batch 4, feature 3], 'batch', 'batch'): 'batch' is given twice: name each dim once": (
        lambda: X.sum("batch", "batch"),
        ValueError,
    ),
    "softmax([batch 4, feature 3]): the dim is missing: write softmax(x, dim='feature')": (
        lambda: X.softmax(),
        TypeError,
    ),
    "rename([batch 4, feature 3], {'batch': 'feature'}): 'feature' names two dims: rename one": (
        lambda: X.rename(batch="feature"),
        ValueError,
    ),
    "rename([batch 4, feature 3], {'row': 'x'}): no dim is named 'row': use one of 'batch', 'feature'": (
        lambda: X.rename(row="x"),
        IndexError,
    ),
    "order([batch 4, feature 3], 'feature'): 'batch' is missing: name all dims, or write '...' for "
    "the others": (
        lambda: X.order("feature"),
        ValueError,
    ),
    "flatten([batch 4, feature 3], new=('batch', 'row')): no dim is named 'row': use one of "
    "'batch', 'feature'": (
        lambda: X.flatten(new=("batch", "row")),
        IndexError,
    ),
    "unflatten([batch 4, feature 3], 'feature', {'a': 2, 'b': 2}): sizes [2, 2] do not multiply to the 3 of "
    "'feature'": (lambda: X.unflatten("feature", {"a": 2, "b": 2}), ValueError),
    "unflatten([batch 4, feature 3], 'feature', {'batch': 3}): 'batch' names two dims: rename one": (
        lambda: X.unflatten("feature", {"batch": 3}),
        ValueError,
    ),
    "expand([batch 4, feature 3], {'batch': 5}): 'batch' has size 4: only a size of 1 expands": (
        lambda: X.expand(batch=5),
        ValueError,
    ),
    "isel([batch 4, feature 3], batch): index 9 is out of range for 'batch' of size 4": (
        lambda: X.isel(batch=9),
        IndexError,
    ),
    "[batch 4, feature 3][0]: dims have names here: write x[{'batch': 3}]": (lambda: X[0], TypeError),
    "[batch 4, feature 3][batch, feature] = : the value has 'feature', which the elements lack: "
    "reduce it first": (
        lambda: X.__setitem__({"batch": 0, "feature": 0}, tensor("feature", 3)),
        ValueError,
    ),
    "squeeze([batch 4, feature 3], 'batch'): 'batch' has size 4: only dims of size 1 go": (
        lambda: X.squeeze("batch"),
        ValueError,
    ),
    "stack([[batch 4, feature 3]], 'batch'): 'batch' is no new name: write stack(tensors, 'new')": (
        lambda: fb.named.stack([X], "batch"),
        ValueError,
    ),
    "cat([[batch 4, feature 3], [row 3, column 3]], 'batch'): [row 3, column 3] has other dims than "
    "[batch 4, feature 3]: name the same dims": (lambda: fb.named.cat([X, SQUARE], "batch"), ValueError),
    "conv2d([row 3, column 3], f32[1, 1, 3, 3], dims=('row', 'column')): no dim is named 'channel': "
    "use one of "
    "'row', 'column'": (
        lambda: fb.named.conv2d(SQUARE, fb.zeros(1, 1, 3, 3), dims=("row", "column")),
        IndexError,
    ),
    "max_pool2d([row 3, column 3], 2): the dims of space are missing: write dims=('row', 'column')": (
        lambda: fb.named.max_pool2d(SQUARE, 2),
        TypeError,
    ),
    "max_pool2d([row 3, column 3], 2, dims=('row',)): 1 dims of space are given: name 2": (
        lambda: fb.named.max_pool2d(SQUARE, 2, dims=("row",)),
        ValueError,
    ),
    "layer_norm([row 3, column 3]): the dims are missing: write x.layer_norm('column')": (
        lambda: SQUARE.layer_norm(),
        TypeError,
    ),
    "cross_entropy([batch 4, feature 3], [row 3, column 3], dim='feature'): the target needs the "
    "dims 'batch': "
    "name them": (lambda: fb.named.cross_entropy(X, SQUARE, dim="feature"), ValueError),
    "zeros(2, 3): sizes by name are missing: write zeros({'row': 3, 'column': 4})": (
        lambda: fb.named.zeros(2, 3),
        TypeError,
    ),
    "quantile([batch 4, feature 3], [0.1, 0.2], 'batch'): several q make a dim without a name: call it for "
    "each q": (lambda: X.quantile([0.1, 0.2], "batch"), TypeError),
    "len([batch 4, feature 3]): dims have no order here: use x.sizes[name]": (lambda: len(X), TypeError),
    "iter([batch 4, feature 3]): dims have no order here: use x.unbind(name)": (lambda: iter(X), TypeError),
    "NamedTensor.softmx: no such operation: did you mean 'softmax'?": (lambda: X.softmx, AttributeError),
    "module 'flambeau.named' has no 'softmx': did you mean 'softmax'?": (
        lambda: fb.named.softmx,
        AttributeError,
    ),
    "abs_([batch 4, feature 3], [row 3, column 3]): 'row' is not a dim of the tensor that is written: write "
    "x = x.abs(...)": (lambda: X.abs_(SQUARE), ValueError),
    "vmap(...): named tensors have no dims by position: their operations take any other dims along: call the "
    "function itself": (lambda: fb.vmap(lambda t: t)(X), TypeError),
}


@pytest.mark.parametrize("text", REFUSALS)
def test_refusals(text):
    call, kind = REFUSALS[text]
    with pytest.raises(kind) as told:
        call()
    assert str(told.value) == text


def test_broadcasting_is_by_name(device):
    x = fb.named.tensor(fb.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], device=device), "row column")
    y = fb.named.tensor(fb.tensor([10.0, 20.0, 30.0], device=device), "row")
    assert (x + y).tolist() == [[11, 12], [23, 24], [35, 36]]
    assert (y + x).names == ("row", "column")
    z = fb.named.tensor(fb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device), "column row")
    assert (x - z).tolist() == [[0, -2], [1, -1], [2, 0]]
    outer = y * fb.named.tensor(fb.tensor([1.0, 2.0], device=device), "time")
    assert outer.sizes == {"row": 3, "time": 2}
    assert (1 - x).names == (fb.tensor(2.0, device=device) * x).names == fb.exp(x).names == x.names
    assert (x - x.mean("row", keepdim=True)).sum().item() == 0
    assert isinstance(x.sum(), fb.Tensor) and x.sum("row", "column").item() == 21
    assert x.max("row").values.names == ("column",) and x.max(z).names == x.names


def test_repr_and_facts():
    x = fb.named.tensor([[1.0, 2.0]], "row column")
    assert repr(x) == "NamedTensor([row 1, column 2], tensor([[1., 2.]]))"
    assert (x.ndim, x.shape, x.sizes, x.dtype) == (2, (1, 2), {"row": 1, "column": 2}, fb.float32)
    assert x.half().names == x.to(fb.int32).names == x.names
    assert {"softmax", "sizes", "dot"} <= set(dir(x))
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert other.names == x.names and other.tolist() == x.tolist()


def test_containers_reach_the_tensor():
    tree = {"a": [X]}
    assert leaves(tree) == [X.tensor]
    assert tree_map(lambda t: t + 1, tree)["a"][0].names == X.names


def test_gradients_have_names():
    w = tensor("feature hidden", 3, 5, seed=1)

    def loss(w):
        return X.dot(w, "feature").square().mean()

    value, gradient = fb.value_and_grad(loss)(w)
    expected = 2 * X.numpy().T @ (X.numpy() @ w.numpy()) / 20
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-4, atol=1e-6)
    assert gradient.names == w.names and value.ndim == 0
    leaf = w.requires_grad_()
    other = loss(leaf).backward()[leaf]
    assert other.names == w.names
    np.testing.assert_allclose(other.numpy(), expected, rtol=1e-4, atol=1e-6)
    primal, tangent = fb.jvp(lambda x: x.exp(), (X,), (X,))
    assert primal.names == tangent.names == X.names


def test_recorded_calls(gpu):
    x = fb.named.tensor(fb.tensor(X.numpy(), device=gpu), X.names)
    w = fb.tensor(np.eye(3, 5, dtype="f4"), device=gpu)

    @fb.jit
    def step(x, factor):
        return {"y": (x.dot(fb.named.tensor(w, "feature hidden"), "feature") * factor).softmax("hidden")}

    for _ in range(3):
        y = step(x, 2.0)["y"]
    expected = F.softmax(x.tensor @ w * 2.0, 1)
    np.testing.assert_allclose(y.numpy(), expected.numpy(), atol=1e-6)
    assert y.names == ("batch", "hidden") and len(step.programs) == 1
    step(x.order("feature", "batch"), 2.0)  # other names are other arguments
    assert len(step.programs) == 2


def test_a_replay_only_unwraps_and_wraps(gpu, monkeypatch):
    """At a replay nothing reads names but the key of the call, and nothing makes a wrapper but the result."""
    x = fb.named.tensor(fb.tensor(X.numpy(), device=gpu), X.names)
    step = fb.jit(lambda x: (x * 2 - x.mean("feature")).softmax("feature"), check="never")
    for _ in range(2):
        step(x)
    used = []
    for name in ("parts", "with_parts", "static", "__getattr__", "__init__"):
        plain = getattr(fb.named.NamedTensor, name)
        monkeypatch.setattr(
            fb.named.NamedTensor,
            name,
            lambda *a, _f=plain, _n=name, **k: used.append((_n, a[1:])) or _f(*a, **k),
        )
    step(x)
    assert sorted(name for name, _ in used) == ["__getattr__", "parts", "parts", "static", "with_parts"]
    assert ("__getattr__", ("__array__",)) in used  # whether it is an array


CONV = fb.tensor(np.random.default_rng(2).normal(size=(4, 3, 3, 3)).astype("f4"), device="cpu")
SPACE = {"dims": ("row", "column")}
PATCHES = "b c (h p) w -> b h (c p w)"


def named_image(n, t):
    y = fb.named.conv2d(n["image"], t["k"], **SPACE).relu()
    return fb.named.max_pool2d(y, 2, **SPACE)


def plain_image(t):
    return F.max_pool2d(F.conv2d(t["image"], t["k"]).relu(), 2)


def plain_variance(t):
    return (t["x"] - t["x"].mean(1).reshape(8, 1)).square().mean(1)


def plain_patches(t):
    return t["image"].reshape(2, 3, 4, 2, 8).permute(0, 2, 1, 3, 4).reshape(2, 4, 48) + 0.5


PROGRAMS = {  # name: (with names, without)
    "bias": (lambda n, t: n["x"] + n["b"], lambda t: t["x"] + t["b"]),
    "rows": (lambda n, t: n["x"] * n["r"], lambda t: t["x"] * t["r"].reshape(8, 1)),
    "linear": (
        lambda n, t: (n["x"].dot(n["w"], "feature") + n["c"]).relu(),
        lambda t: (fb.einsum("bf,fh->bh", t["x"], t["w"]) + t["c"]).relu(),
    ),
    "softmax": (lambda n, t: n["x"].softmax("feature"), lambda t: t["x"].softmax(1)),
    "columns": (lambda n, t: n["x"].softmax("batch"), lambda t: t["x"].softmax(0)),
    "sums": (lambda n, t: n["x"].square().sum("batch"), lambda t: t["x"].square().sum(0)),
    "turned": (lambda n, t: n["x"].order("feature", "batch") + 1, lambda t: t["x"].permute(1, 0) + 1),
    "norm": (
        lambda n, t: n["x"].layer_norm("feature", n["b"]),
        lambda t: F.layer_norm(t["x"], (16,), t["b"]),
    ),
    "variance": (
        lambda n, t: (n["x"] - n["x"].mean("feature")).square().mean("feature"),
        plain_variance,
    ),
    "scan": (lambda n, t: n["x"].cumsum("feature"), lambda t: t["x"].cumsum(1)),
    "sort": (lambda n, t: n["x"].sort("feature").values, lambda t: t["x"].sort(1).values),
    "image": (named_image, plain_image),
    "attention": (
        lambda n, t: fb.named.scaled_dot_product_attention(n["q"], n["kv"], n["kv"]),
        lambda t: F.scaled_dot_product_attention(t["q"], t["kv"], t["kv"]),
    ),
    "pixels": (
        lambda n, t: n["image"].flatten(pixel=("row", "column")).amax("pixel"),
        lambda t: t["image"].flatten(2).amax(2),
    ),
    "gather": (
        lambda n, t: fb.named.embedding(n["ids"], n["w"].rename(feature="word")),
        lambda t: F.embedding(t["ids"], t["w"]),
    ),
    "patches": (lambda n, t: fb.named.rearrange(t["image"], PATCHES, p=2) + 0.5, plain_patches),
}
DIMS = {
    "x": "batch feature",
    "b": "feature",
    "r": "batch",
    "w": "feature hidden",
    "c": "hidden",
    "image": "batch channel row column",
    "q": "batch head query feature",
    "kv": "batch head key feature",
    "ids": "batch time",
}
SIZES = {"batch": 2, "feature": 16, "hidden": 12, "channel": 3, "row": 8, "column": 8, "head": 2, "query": 5}
SIZES |= {"key": 6, "time": 7}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_those_of_the_plain_program(name, gpu):
    """The same WGSL, byte for byte, in the same plan with the same grids."""
    rng, plain = np.random.default_rng(0), {}
    for key, dims in DIMS.items():
        shape = [8 if n == "batch" and key in "xr" else SIZES[n] for n in dims.split()]
        value = rng.integers(0, 16, shape) if key == "ids" else rng.normal(size=shape).astype("f4")
        plain[key] = fb.tensor(value, device=gpu)
    plain["k"] = CONV.to(gpu)
    named = {key: fb.named.tensor(plain[key], dims) for key, dims in DIMS.items()}
    by_name, by_place = PROGRAMS[name]
    mine, theirs = by_name(named, plain), by_place(plain)
    assert str(mine.plan()) == str(theirs.plan())
    assert mine.wgsl() == theirs.wgsl()
    np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


class Scaled(nn.Module):
    """A module with a parameter that its forward names."""

    def __init__(self):
        self.weight = nn.Parameter(fb.tensor([1.0, 2.0, 3.0]))

    def forward(self, x):
        return x * fb.named.tensor(self.weight, "feature")


def test_layers():
    linear = nn.Linear(3, 5)
    layer = fb.named.Layer(linear, "feature", "hidden")
    y = layer(X.order("feature", "batch"))
    assert y.names == ("batch", "hidden")
    np.testing.assert_allclose(y.numpy(), linear(X.tensor).numpy(), atol=1e-6)
    image = tensor("time batch row column channel", 2, 3, 6, 6, 4)
    conv = fb.named.Layer(nn.Conv2d(4, 2, 3), "channel row column", batch=1)
    assert conv(image).sizes == {"time": 2, "batch": 3, "channel": 2, "row": 4, "column": 4}
    norm = fb.named.Layer(nn.LayerNorm(3), "feature")
    np.testing.assert_allclose(norm(X).numpy(), F.layer_norm(X.tensor, (3,)).numpy(), atol=1e-6)
    assert Scaled()(X.order("feature", "batch")).names == ("feature", "batch")
    with pytest.raises(IndexError) as told:
        layer(SQUARE)
    assert str(told.value) == (
        "Linear of feature([row 3, column 3]): no dim is named 'feature': use one of 'row', 'column'"
    )


def test_state_dicts_have_names(tmp_path):
    layer = fb.named.Layer(nn.Linear(3, 5), "feature", "hidden")
    state = layer.state_dict()
    assert [*state] == ["_extra_state", "layer.weight", "layer.bias"]
    fb.save(state, tmp_path / "layer.safetensors")
    loaded = fb.load(tmp_path / "layer.safetensors")
    other = fb.named.Layer(nn.Linear(3, 5), "feature", "hidden")
    other.load_state_dict(loaded)
    np.testing.assert_array_equal(other(X).numpy(), layer(X).numpy())
    with pytest.raises(ValueError) as told:
        fb.named.Layer(nn.Linear(3, 5), "feature", "other").load_state_dict(loaded)
    assert str(told.value) == (
        "load_state_dict: feature -> hidden are the saved names: this layer has feature -> other"
    )


def dims_of(value):
    return [(d.dim_param or d.dim_value, d.denotation) for d in value.type.tensor_type.shape.dim]


def test_onnx_has_the_names(tmp_path):
    layer = fb.named.Layer(nn.Linear(3, 5), "feature", "hidden")
    data = fb.onnx.export(layer, X, dynamic={"x": {"batch": "N"}})
    graph = onnx.load_model_from_string(data).graph
    assert dims_of(graph.input[0]) == [("N", "batch"), (3, "feature")]
    assert dims_of(graph.output[0]) == [("N", "batch"), (5, "hidden")]
    model = fb.onnx.load(data)
    np.testing.assert_allclose(model(X.tensor).numpy(), layer(X).numpy(), atol=1e-6)
    pair = fb.onnx.export(lambda x: {"a": x.sum("feature"), "b": x}, {"x": X})
    assert [dims_of(v) for v in onnx.load_model_from_string(pair).graph.output] == [
        [(4, "batch")],
        [(4, "batch"), (3, "feature")],
    ]
    with pytest.raises(IndexError) as told:
        fb.onnx.export(layer, X, dynamic={"x": {"row": "N"}})
    assert str(told.value) == (
        "export(dynamic=...): no dim of 'x' is named 'row': use one of 'batch', 'feature'"
    )


def test_functions_of_the_package_do_not_slow_a_replay(monkeypatch):
    """`fb.exp(x)` turns on overrides; a replay of a recorded step asks no class."""
    fb.exp(X)
    assert overrides.is_on()
    step = fb.jit(lambda x: (x * 2).exp().sum())
    x = fb.ones(3)
    for _ in range(2):  # the second call is recorded again, and compared
        step(x)
    asked, intercept = [], autocast.intercept
    monkeypatch.setattr(autocast, "intercept", lambda *call: asked.append(call[0]) or intercept(*call))
    assert step(x).item() == pytest.approx(3 * np.exp(2), rel=1e-5)
    assert asked == []
    _ = x * 2
    assert asked == ["mul"]


def test_training_by_names():
    fb.manual_seed(0)
    layer = fb.named.Layer(nn.Linear(3, 2), "feature", "class")
    optimizer = fb.optim.SGD(layer.parameters(), lr=0.5)
    target = fb.named.tensor(fb.tensor([0, 1, 0, 1]), "batch")
    losses = []
    for _ in range(5):
        loss = fb.named.cross_entropy(layer(X), target, dim="class")
        optimizer.step(loss.backward())
        losses.append(loss.item())
    assert losses[-1] < losses[0]
