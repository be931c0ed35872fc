"""Writes in place and through views: by hand, with the errors in full and in recorded functions."""

import gc
import re

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn


def test_whoever_shows_the_elements_sees_the_write(device):
    x = fb.zeros(2, 3, device=device)
    flat, top = x.view(-1), x[0]
    x[0][1] = 4
    flat[5] = 7
    assert x.tolist() == [[0, 4, 0], [0, 0, 7]] and top.tolist() == [0, 4, 0]
    x.T[0] += 1
    assert flat.tolist() == [1, 4, 0, 1, 0, 7]
    upper, lower = x.chunk(2)
    upper += 10
    lower.zero_()
    assert x.tolist() == [[11, 14, 10], [0, 0, 0]] and flat.tolist() == [11, 14, 10, 0, 0, 0]


def test_views_of_a_tensor_that_is_gone(device):
    x = fb.zeros(2, 3, device=device)
    flat, turned = x.view(-1), x.T
    flat.numpy()
    del x
    gc.collect()
    flat[1] = 5
    turned[2, 1] = 6
    assert turned.tolist() == [[0, 0], [5, 0], [0, 6]] and flat.tolist() == [0, 5, 0, 0, 0, 6]


def test_views_in_other_dtypes_of_a_tensor_that_is_gone(device):
    """The first view that all others share owns the elements."""
    c = fb.zeros(3, 2, device=device).view_as_complex()[1:]
    real, pairs = c.real, c.view_as_real()
    pairs[0, 1] = 5
    real += 1
    assert c.tolist() == [1 + 5j, 1] and pairs.tolist() == [[1, 5], [1, 0]]
    bits = fb.ones(4, device=device).view(fb.int32)
    part = bits[1:3]
    part[0] = 7
    assert bits.tolist() == [0x3F800000, 7, 0x3F800000, 0x3F800000]
    x = fb.ones(4, device=device)
    bits, tail = x.view(fb.int32), x[2:]
    del x
    gc.collect()
    with pytest.raises(ValueError, match="another view shows its elements in another dtype"):
        tail[0] = 2
    assert bits.shape == (4,)


def test_copies_are_left_alone(device):
    x = fb.arange(6, device=device).float().reshape(2, 3)
    copies = [
        x.clone(),
        x.T.reshape(-1),
        x.T.ravel(),
        x.T.contiguous(),
        x.flip(0),
        x.repeat(1, 1),
        fb.tensor(x),
    ]
    were = [c.tolist() for c in copies]
    x.zero_()
    assert [c.tolist() for c in copies] == were
    for c in copies:
        c += 1
    assert x.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_view_whose_tensor_is_gone_stays_out_of_order(device):
    """As PyTorch's strides, the moves outlive the tensor and a write: flatten copies as it did."""
    x = fb.zeros(3, 2, device=device).permute(1, 0)
    x += 5.0
    x.flatten().zero_()
    assert x.tolist() == [[5.0] * 3] * 2
    x = fb.zeros(3, 2, device=device)[:2]
    x += 5.0
    x.flatten().zero_()
    assert x.tolist() == [[0.0] * 2] * 2


def test_a_parameter_moves_and_stays_one():
    layer = nn.Linear(2, 2)
    was = layer.weight.numpy()
    with fb.no_grad():
        for p in layer.parameters():
            p -= 1
        layer.weight += 0.5
    assert np.allclose(layer.weight.numpy(), was - 0.5) and type(layer.weight) is nn.Parameter
    layer.weight.data = fb.zeros(2, 2)
    layer.weight.data[0] = 3
    assert layer.weight.tolist() == [[3, 3], [0, 0]]
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    x = fb.ones(1, 2)
    assert layer(x).sum().backward()[layer.weight].tolist() == [[1, 1], [1, 1]]


def test_a_training_step_by_hand():
    w = fb.tensor([4.0], requires_grad=True)
    for _ in range(20):
        grads = ((w - 1) ** 2).sum().backward()
        with fb.no_grad():
            w -= 0.25 * grads[w]
    assert abs(w.item() - 1) < 1e-4


def test_recorded_functions_write_through_views():
    rows = fb.zeros(3, 2).realize()

    @fb.jit
    def put(x):
        rows[1][:] = x
        rows.T[0] += 1
        return rows.sum()

    for i in range(5):
        assert put(fb.full((2,), i)).item() == 3 + 2 * i
        rows.zero_()
    assert len(put.programs) == 1
    shown = rows[1]  # a view that is made between replays
    put(fb.full((2,), 7.0))
    assert shown.tolist() == rows[1].tolist() == [8, 7]


def test_a_view_from_before_a_recorded_call_keeps_it_from_being_recorded(capsys):
    rows = fb.zeros(3, 2).realize()
    shown = rows.view(-1)

    @fb.jit
    def put(x):
        rows[1] = x
        return rows.sum()

    for i in range(6):
        assert put(fb.full((2,), i)).item() == 2 * i
        assert shown.tolist() == [0, 0, i, i, 0, 0]
    assert not put.programs
    rule = "a view from before the call shares written elements: write to its base, or clone() it"
    message, _, place = capsys.readouterr().err.rpartition(" ")
    assert message == f"flambeau: jit(put): runs unrecorded: {rule}"
    assert re.fullmatch(r"\(\S*test_inplace.py:\d+\)\n", place)  # of the function


def test_slices_of_data_are_arguments_like_others():
    data = fb.arange(12).float().reshape(4, 3)
    data.realize()
    double = fb.jit(lambda x: (x * 2).sum())
    assert [double(data[i]).item() for i in range(4)] == [6, 24, 42, 60]
    assert [double(row).item() for row in data] == [6, 24, 42, 60]
    assert len(double.programs) == 1


def test_random_methods(device):
    fb.manual_seed(3)
    x = fb.empty(20000, device=device)
    moments = {
        "uniform_": ((2.0, 4.0), 3.0, (4 / 12) ** 0.5),
        "normal_": ((1.0, 2.0), 1.0, 2.0),
        "exponential_": ((0.5,), 2.0, 2.0),
        "bernoulli_": ((0.3,), 0.3, 0.21**0.5),
        "geometric_": ((0.25,), 4.0, 12**0.5),
        "log_normal_": ((0.0, 0.5), np.exp(0.125), np.exp(0.125) * (np.exp(0.25) - 1) ** 0.5),
        "random_": ((10,), 4.5, 8.25**0.5),
    }
    for name, (args, mean, spread) in moments.items():
        assert getattr(x, name)(*args) is x
        values = x.numpy()
        assert abs(values.mean() - mean) < 0.05 * spread, name
        assert abs(values.std() - spread) < 0.1 * spread, name
    assert abs(np.median(x.cauchy_(3.0, 1.0).numpy()) - 3) < 0.05
    assert x.random_(3, 5).numpy().min() == 3 and x.numpy().max() == 4
    assert fb.zeros(3, 3, device=device).fill_diagonal_(2).tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 2]]
    tall = np.zeros((7, 3), "f4")
    for wrap in (False, True):
        wanted = tall.copy()
        np.fill_diagonal(wanted, 5, wrap=wrap)
        assert fb.zeros(7, 3, device=device).fill_diagonal_(5, wrap=wrap).tolist() == wanted.tolist()


def refused(f) -> str:
    with pytest.raises((ValueError, TypeError)) as e:
        f()
    return str(e.value.args[0])


@pytest.mark.parametrize(
    "shape", [(), (1,), (5,), (1, 1), (5, 1), (1, 5), (2, 3), (0, 1), (5, 1, 1), (1, 5, 1)]
)
@pytest.mark.parametrize("copy", [fb.clone, lambda x: x.to(fb.float32, copy=True)], ids=["clone", "to"])
def test_a_copy_of_a_parameter_is_a_tensor_of_its_own(device, shape, copy):
    x = fb.ones(shape, requires_grad=True, device=device)
    y = copy(x)
    assert not y.is_leaf and y.requires_grad
    y.mul_(3)
    slope = y.sum().backward()[x]
    assert np.array_equal(y.numpy(), np.full(shape, 3)) and np.array_equal(x.numpy(), np.ones(shape))
    assert np.array_equal(slope.numpy(), np.full(shape, 3))


@pytest.mark.parametrize("shape", [(4, 0), (4, 3, 0), (0, 4), (4, 0, 3), (0, 0)])
def test_a_view_of_no_elements_is_written_to(device, shape):
    x = fb.zeros(shape, device=device)
    for view in (x[:2], x[..., :2], x[::2], x.transpose(0, -1)):
        view.copy_(view + 1)
        view.add_(1)
    x[:2] = 5
    x.add_(1)
    assert x.shape == shape and x.numpy().size == 0


def test_what_cannot_be_written_to_says_so():
    x = fb.ones(3, requires_grad=True)
    rule = "it is a leaf that requires gradients: write inside no_grad, or to a clone()"
    assert refused(lambda: x.add_(1)) == f"f32[3] can't be written to: {rule}"
    told = f"f32[3, 1], a view of f32[3], can't be written to: {rule}"
    assert refused(lambda: x.view(3, 1).add_(1)) == told
    wide = fb.ones(3, 1).expand(3, 4)
    told = "some of its elements share memory in its base tensor: clone() it first"
    assert refused(lambda: wide.add_(1)) == f"f32[3, 4] can't be written to: {told}"
    y = x * 2
    told = "f32[3] is a detached view of a tensor that requires gradients: clone() it first"
    assert refused(lambda: y.detach().zero_()) == told and y.tolist() == [2, 2, 2]
    told = (
        "add_(i64[2]): the result is f32, and a tensor keeps its dtype: use x = x.add(...), or cast x first"
    )
    assert refused(lambda: fb.tensor([1, 2]).add_(1.5)) == told
    told = "add_(f32[3]): the result has shape [2, 3], and a tensor keeps its shape: use x = x.add(...)"
    assert refused(lambda: fb.ones(3).add_(fb.ones(2, 3))) == told
    told = "fill_diagonal_(f32[3]): takes a matrix, or dims of equal size: reshape it"
    assert refused(lambda: fb.ones(3).fill_diagonal_(1)) == told


def test_another_shape_in_place(device):
    x = fb.arange(6.0, device=device).reshape(2, 3) * 1
    x.t_()
    assert x.shape == (3, 2) and x.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    assert x.unsqueeze_(0).add_(1) is x and x[0, 0].tolist() == [1.0, 4.0]
    row = x[0, :1]
    row.squeeze_(0)
    row += 10  # it is a view still
    assert x.squeeze(0)[0].tolist() == [11.0, 14.0] == row.tolist()


def test_another_shape_in_place_of_what_has_views(device):
    x = fb.zeros(2, 1, device=device)
    view = x[0]
    with pytest.raises(ValueError) as told:
        x.squeeze_()
    assert str(told.value) == "squeeze_(f32[2, 1]): it has views: use x = x.squeeze(...)"
    y = fb.zeros(2, 1, device=device)
    y[0].add_(1)  # a view that is gone
    assert y.squeeze_().tolist() == [1.0, 0.0] and view.tolist() == [0.0]
    with pytest.raises(
        ValueError, match=r"^f32\[2\] can't be written to: it is a leaf that requires gradients: "
    ):
        fb.ones(2, device=device, requires_grad=True).unsqueeze_(0)


def test_another_shape_in_place_ends_a_recording(gpu, capsys):
    state = fb.arange(3.0, device=gpu)

    @fb.jit
    def step(x):
        state.unsqueeze_(0)
        return state + x

    shapes = [step(fb.ones(3, device=gpu)).shape for _ in range(3)]
    assert shapes == [(1, 3), (1, 1, 3), (1, 1, 1, 3)]
    assert "unsqueeze_ changes the shape of a tensor created outside" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["sort", "max", "min", "topk", "median", "mode", "kthvalue", "cummax", "cummin"]
)
def test_results_of_a_number_are_new_tensors(name):
    """The largest element of a 0-d tensor is no view of it."""
    x = fb.tensor(3.0, device="cpu")
    arguments = {"topk": (1,), "kthvalue": (1,), "sort": (), "mode": ()}.get(name, (0,))
    getattr(x, name)(*arguments)[0].add_(1)
    assert x.item() == 3


def test_integers_to_a_float_power_are_floats():
    x = fb.tensor([3, -2], device="cpu")
    assert (x**2).dtype is fb.int64 and (x**2.0).dtype is fb.float32 and (x**2.0).tolist() == [9, 4]
    assert (x > 0).pow(2.0).dtype is fb.float32 and ((x > 0) ** 2.0).dtype is fb.float32
    assert (x.float() ** 2.0).tolist() == [9, 4] and (x.to(fb.complex64) ** 2.0).tolist() == [9, 4]
