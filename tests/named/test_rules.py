"""Every operation of the table works by names or is refused; results equal those of the plain operation."""

import inspect
from math import prod

import numpy as np
import pytest
from rows import ROWS

import flambeau as fb
from flambeau.core.op import COMPOSED, OPS
from flambeau.named.refusals import REFUSED
from flambeau.named.rules import ALONG, ELEMENTWISE, IN_PLACE, REDUCE, RULES, call
from flambeau.ops.table import Table

NAMES = ["deep", "row", "column", "wide"]
# operations that draw numbers: their order of elements is that of the draws
DRAWS = {"alpha_dropout", "bernoulli", "binomial", "dropout", "empty_like", "gumbel_softmax", "poisson"}
DRAWS |= {"rand_like", "randint_like", "randn_like", "rrelu"}
NEW = {"einsum", "rearrange", "reduce"}  # einops' words, which are no operations of the table
ALL = {n for n in (*OPS, *COMPOSED, *dir(Table)) if not n.startswith("_")}


def names_for(ndim):
    return tuple(NAMES[len(NAMES) - ndim :])


def turned(t):
    """A tensor with names, its dims in the reverse order."""
    x = fb.named.tensor(t, names_for(t.ndim))
    return x.order(*reversed(x.names)) if t.ndim else t


def flat(result):
    return [part for r in result for part in flat(r)] if isinstance(result, tuple | list) else [result]


def same(found, expected, names):
    """Whether named results equal plain ones, bit by bit, once their dims are in order."""
    for mine, plain in zip(flat(found), flat(expected), strict=True):
        if hasattr(mine, "names"):
            order = [n for n in names if n in mine.names]
            assert set(order) == set(mine.names)
            mine = mine.to_tensor(*order)
        np.testing.assert_array_equal(mine.numpy(), plain.numpy())


def test_every_operation_has_a_rule_or_a_sentence():
    known = set(RULES) | set(REFUSED)
    missing = sorted(n for n in ALL - known if not n.endswith("_") or n[:-1] not in ALL)
    assert not missing, "give these a rule in named/rules.py or a sentence in named/refusals.py"
    assert not sorted(set(RULES) & set(REFUSED))
    assert sorted(known - ALL - NEW) == ["__getitem__", "__setitem__"]


def test_most_operations_have_a_rule():
    counted = {n for n in ALL if not n.endswith("_")}
    assert len(counted & set(RULES)) >= 0.65 * len(counted)


def test_what_is_refused_says_what_to_write():
    x = fb.named.tensor(fb.zeros(2, 2), "row column")
    for name, sentence in REFUSED.items():
        with pytest.raises(TypeError) as told:
            call(name, x)
        assert str(told.value) == f"{name}([row 2, column 2]): {sentence}"
        assert ": " in sentence or sentence.startswith("write "), name


def test_elementwise_operations_equal_plain_ones():
    rng, checked = np.random.default_rng(0), 0
    for name in ELEMENTWISE.split():
        row = ROWS.get(name)
        if row is None or row.call is not None or name in DRAWS:
            continue
        plain = [fb.tensor(i.make(rng), device="cpu") for i in row.inputs]
        if any(isinstance(v, fb.Tensor) for v in row.attrs.values()):
            continue
        named = [turned(t) for t in plain]
        expected = row.compute(name, *plain)
        same(getattr(fb.named, name)(*named, **row.attrs), expected, NAMES)
        checked += 1
    assert checked > 100


def dims_of(name, attrs, ndim):
    """The attributes with names for places."""
    word = "dims" if name in ("flip", "roll") else "dim"
    if word not in inspect.signature(COMPOSED[name]).parameters:
        return attrs
    value, names = (
        attrs.get(word, inspect.signature(COMPOSED[name]).parameters[word].default),
        names_for(ndim),
    )
    if value is inspect.Parameter.empty or (value is None and name in REDUCE.split()):
        return attrs
    if value is None:
        return None
    places = value if isinstance(value, tuple | list) else (value,)
    named = tuple(names[d] for d in places)
    return {**attrs, word: named if isinstance(value, tuple | list) else named[0]}


def test_operations_along_names_equal_plain_ones():
    rng, checked = np.random.default_rng(0), 0
    for name in f"{ALONG} {REDUCE}".split():
        row = ROWS.get(name)
        if row is None or row.call is not None or name in DRAWS or len(row.inputs) > 1:
            continue
        (plain,) = [fb.tensor(i.make(rng), device="cpu") for i in row.inputs]
        attrs = dims_of(name, row.attrs, plain.ndim)
        if attrs is None or plain.ndim == 0:
            continue
        x = fb.named.tensor(plain, names_for(plain.ndim))
        same(getattr(fb.named, name)(x, **attrs), row.compute(name, plain), NAMES)
        checked += 1
    assert checked >= 28


def test_in_place_operations_write_to_the_named_tensor():
    x = fb.named.tensor(fb.tensor([[1.0, 2.0], [3.0, 4.0]]), "row column")
    for name in IN_PLACE.split():
        assert name[:-1] in RULES or name[:-1] in COMPOSED or hasattr(fb.Tensor, name), name
    y = fb.named.tensor(fb.tensor([10.0, 20.0]), "row")
    assert x.add_(y) is x and x.tolist() == [[11, 12], [23, 24]]
    with pytest.raises(ValueError) as told:
        y.add_(x)
    assert str(told.value) == (
        "add_([row 2], [row 2, column 2]): 'column' is not a dim of the tensor that is written: "
        "write x = x.add(...)"
    )


def image(*names, seed=0, **sizes):
    sizes = {"batch": 2, "channel": 4, "row": 6, "column": 5, "time": 7} | sizes
    values = np.random.default_rng(seed).normal(size=[sizes[n] for n in names]).astype("f4")
    return fb.named.tensor(values, names, device="cpu")


X = ("batch", "channel", "row", "column")
WEIGHT = np.random.default_rng(1).normal(size=(6, 4, 3, 3)).astype("f4")
SPACE = {"dims": ("row", "column")}
SPATIAL = {  # name: (positional arguments, those by name)
    "avg_pool2d": ((2,), {}),
    "max_pool2d": ((2,), {"stride": 1}),
    "lp_pool2d": ((2.0, 2), {}),
    "adaptive_avg_pool2d": ((2,), {}),
    "adaptive_max_pool2d": (((3, 2),), {}),
    "conv2d": ((fb.tensor(WEIGHT, device="cpu"),), {"padding": 1}),
    "conv_transpose2d": ((fb.tensor(WEIGHT.transpose(1, 0, 2, 3).copy(), device="cpu"),), {}),
    "interpolate": ((), {"scale_factor": 2}),
    "group_norm": ((2,), {}),
    "instance_norm": ((), {}),
    "local_response_norm": ((3,), {}),
    "pixel_shuffle": ((2,), {}),
}


@pytest.mark.parametrize("name", SPATIAL)
def test_spatial_operations_take_any_order_of_dims(name):
    args, kw = SPATIAL[name]
    x = image(*X)
    function = getattr(fb.nn.functional, name)
    expected = function(x.tensor, *args, **kw)
    other = x.order("column", "batch", "row", "channel")
    found = getattr(fb.named, name)(other, *args, **kw, **SPACE)
    assert found.names == other.names
    np.testing.assert_allclose(found.to_tensor(*X).numpy(), expected.numpy(), atol=1e-5)


def test_other_dims_are_batches():
    x = image("time", *X)
    y = fb.named.conv2d(x, fb.tensor(WEIGHT, device="cpu"), **SPACE)
    one = fb.nn.functional.conv2d(x.isel(time=3).tensor, fb.tensor(WEIGHT, device="cpu"))
    np.testing.assert_allclose(y.isel(time=3).numpy(), one.numpy(), atol=1e-5)
    alone = fb.named.max_pool2d(x.isel(time=0, batch=0, channel=0), 2, **SPACE)
    assert alone.sizes == {"row": 3, "column": 2}
    norm = fb.named.group_norm(x.isel(time=0, batch=0), 2, **SPACE)
    expected = fb.nn.functional.group_norm(x.tensor[0, 0].unsqueeze(0), 2)[0]
    np.testing.assert_allclose(norm.numpy(), expected.numpy(), atol=1e-6)


def test_norms_losses_and_attention():
    x = image(*X)
    w = fb.named.tensor(np.arange(4, dtype="f4"), "channel", device="cpu")
    expected = fb.nn.functional.layer_norm(x.tensor.permute(0, 2, 3, 1), (4,), w.tensor)
    found = x.layer_norm("channel", w)
    assert found.names == X
    np.testing.assert_allclose(found.to_tensor("batch", "row", "column", "channel").numpy(), expected.numpy())
    norm = fb.named.batch_norm(x.order("row", "channel", "batch", "column"), None, None, training=True)
    expected = fb.nn.functional.batch_norm(x.tensor, None, None, training=True)
    np.testing.assert_allclose(norm.to_tensor(*X).numpy(), expected.numpy(), atol=1e-5)
    target = fb.named.tensor(np.arange(60).reshape(5, 6, 2) % 4, "column row batch", device="cpu")
    loss = fb.named.cross_entropy(x.order("column", "channel", "row", "batch"), target, dim="channel")
    expected = fb.nn.functional.cross_entropy(x.tensor, target.to_tensor("batch", "row", "column"))
    np.testing.assert_allclose(loss.item(), expected.item(), rtol=1e-6)
    sizes = {"head": 3, "query": 5, "key": 6, "feature": 8}
    q = image("batch", "head", "query", "feature", **sizes)
    k, v = (image("batch", "head", "key", "feature", seed=i, **sizes) for i in (1, 2))
    expected = fb.nn.functional.scaled_dot_product_attention(q.tensor, k.tensor, v.tensor)
    found = fb.named.scaled_dot_product_attention(q.order("query", "head", "feature", "batch"), k, v)
    np.testing.assert_allclose(found.to_tensor(*q.names).numpy(), expected.numpy(), atol=1e-6)


def test_movement_and_elements():
    x = image("batch", "row", "column")
    t = x.tensor
    whole = x.flatten(pixel=("row", "column"))
    assert (whole.names, whole.sizes["pixel"]) == (("batch", "pixel"), 30)
    back = whole.unflatten("pixel", {"row": 6, "column": -1})
    np.testing.assert_array_equal(back.numpy(), t.numpy())
    columns_first = x.flatten(pixel=("column", "row"))
    np.testing.assert_array_equal(columns_first.numpy(), t.numpy().transpose(0, 2, 1).reshape(2, 30))
    np.testing.assert_array_equal(x["row":2].numpy(), t.numpy()[:, 2])
    picked = x.isel(row=slice(1, 4), column=-1)
    np.testing.assert_array_equal(picked.numpy(), t.numpy()[:, 1:4, -1])
    some = x.sel(row=fb.named.tensor([5, 0], "chosen", device="cpu"))
    assert some.sizes == {"batch": 2, "chosen": 2, "column": 5}
    x[{"row": 0}] = fb.named.tensor([1.0, 2.0], "batch", device="cpu").unsqueeze("column")
    np.testing.assert_array_equal(x.numpy()[:, 0], [[1.0] * 5, [2.0] * 5])
    assert x.transpose("batch", "column").names == ("column", "row", "batch")
    assert x.permute("column", "batch", "row").names == ("column", "batch", "row")
    assert x.order("column", "...").names == ("column", "batch", "row")
    assert x.unsqueeze("new").squeeze("new").names == x.names
    assert x.expand(new=3).sizes == {"new": 3, **x.sizes}
    assert x.pad({"row": (1, 2)}).sizes == {**x.sizes, "row": 9}
    windows = x.unfold("row", 3, 2, "window")
    np.testing.assert_array_equal(windows.numpy(), t.unfold(1, 3, 2).numpy())
    parts = x.split(4, "row")
    assert [p.sizes["row"] for p in parts] == [4, 2]
    joined = fb.named.cat([parts[0], parts[1].order("column", "row", "batch")], "row")
    np.testing.assert_array_equal(joined.numpy(), x.numpy())
    assert fb.named.stack(x.unbind("row"), "row").order(*x.names).tolist() == x.tolist()


def test_gather_and_scatter_by_name():
    x = image("batch", "row", "column")
    index = fb.named.tensor(np.arange(2 * 6 * 3).reshape(3, 6, 2) % 5, "column row batch", device="cpu")
    plain = index.to_tensor("batch", "row", "column")
    np.testing.assert_array_equal(x.gather("column", index).numpy(), x.tensor.gather(2, plain).numpy())
    found = fb.named.zeros(x.sizes, device="cpu").scatter_add("column", index, index.float())
    expected = fb.zeros(2, 6, 5, device="cpu").scatter_add(2, plain, plain.float())
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    table = fb.named.tensor(np.ones((9, 4), "f4"), "word feature", device="cpu")
    words = fb.named.tensor([[1, 8, 3]], "batch time", device="cpu")
    found = fb.named.embedding(words, table)
    assert found.sizes == {"batch": 1, "time": 3, "feature": 4}
    assert fb.named.one_hot(words, {"class": 9}).sizes == {"batch": 1, "time": 3, "class": 9}
    with pytest.raises(
        ValueError, match="'index' has the dims 'batch', 'time': give it the dims 'batch', 'row'"
    ):
        x.gather("column", words)


def test_matrices_by_names():
    x = image("row", "batch", "column", row=3, column=3)
    dims = ("row", "column")
    plain = x.to_tensor("batch", *dims)
    np.testing.assert_allclose(x.det(dims=dims).numpy(), plain.det().numpy(), rtol=1e-5)
    np.testing.assert_array_equal(x.tril(dims=dims).to_tensor("batch", *dims).numpy(), plain.tril().numpy())
    with pytest.raises(TypeError) as told:
        x.det()
    assert str(told.value) == (
        "linalg_det([row 3, batch 2, column 3]): rows and columns are missing: write dims=('row', 'column')"
    )


def test_contractions():
    x, y = image("batch", "row", "column"), image("column", "time", "batch")
    expected = np.einsum("brc,ctb->brt", x.numpy(), y.numpy())
    found = x.dot(y, "column")
    assert found.names == ("batch", "row", "time")
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-4)
    both = x.dot(y, "column", "batch")
    np.testing.assert_allclose(both.numpy(), np.einsum("brc,ctb->rt", x.numpy(), y.numpy()), atol=1e-4)
    assert (x @ y.isel(batch=0)).names == ("batch", "row", "time")
    with pytest.raises(ValueError) as told:
        x @ y
    assert str(told.value) == (
        "matmul([batch 2, row 6, column 5], [column 5, time 7, batch 2]): 'batch', 'column' are common: "
        "write x.dot(y, 'column')"
    )


def test_new_tensors():
    sizes = {"row": 2, "column": 3}
    for name in ("zeros", "ones", "empty", "rand", "randn"):
        assert getattr(fb.named, name)(sizes).sizes == sizes
    assert fb.named.full(sizes, 7.0).tolist() == [[7.0] * 3] * 2
    assert fb.named.randint(0, 5, sizes).sizes == fb.named.normal(0.0, 1.0, sizes).sizes == sizes
    assert fb.named.arange({"row": 3}).tolist() == [0, 1, 2]
    assert prod(fb.named.zeros(sizes).shape) == 6
