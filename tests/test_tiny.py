"""A tour: the main ideas in a line or two each."""

import numpy as np
import pytest

import flambeau as fb
from flambeau import nn, optim


def test_a_tensor_holds_numbers():
    x = fb.tensor([[1, 2], [3, 4]])
    assert (x.shape, x.dtype, x.tolist()) == ((2, 2), fb.int64, [[1, 2], [3, 4]])


def test_nothing_runs_until_it_is_read():
    y = fb.tensor([1.0, 2.0]) * 3
    assert y.node.buffer is None
    assert y.tolist() == [3, 6]
    assert y.node.buffer is not None


def test_reading_several_waits_once():
    a, b = fb.ones(2), fb.arange(3)
    assert fb.read(a, b) == [[1, 1], [0, 1, 2]]


def test_shapes_broadcast():
    assert (fb.arange(3).reshape(3, 1) * fb.arange(2)).tolist() == [[0, 0], [0, 1], [0, 2]]


def test_indexing_is_pythons():
    x = fb.arange(12).reshape(3, 4)
    assert x[1:, ::-2].tolist() == [[7, 5], [11, 9]]
    assert x[fb.tensor([2, -3]), 1].tolist() == [9, 1]


def test_gradients_come_in_a_container():
    x = fb.tensor([1.0, 2.0], requires_grad=True)
    grads = (x * x).sum().backward()
    assert grads[x].tolist() == [2, 4]


def test_gradients_of_gradients():
    x = fb.tensor(2.0, requires_grad=True)
    first = (x**3).backward(create_graph=True)[x]
    assert first.backward()[x].item() == pytest.approx(12)


def test_no_grad_leaves_no_trace():
    x = fb.tensor(1.0, requires_grad=True)
    with fb.no_grad():
        assert not (x * 2).requires_grad


def test_a_seed_gives_the_same_numbers_on_every_device():
    fb.manual_seed(7)
    here = fb.rand(100).numpy()
    fb.manual_seed(7)
    assert np.array_equal(here, fb.rand(100, device="cpu").numpy())


def test_a_layer_is_called():
    layer = nn.Linear(3, 2)
    assert layer(fb.ones(4, 3)).shape == (4, 2)
    assert list(layer.state_dict()) == ["weight", "bias"]


def test_a_step_of_training():
    fb.manual_seed(0)
    layer, x, y = nn.Linear(2, 1), fb.randn(32, 2), fb.ones(32, 1)
    optimizer = optim.Adam(layer.parameters(), lr=0.1)

    @fb.jit
    def step(x, y):
        loss = nn.functional.mse_loss(layer(x), y)
        optimizer.step(loss.backward())
        return loss

    losses = [step(x, y).item() for _ in range(60)]
    assert losses[-1] < losses[0] / 50


def test_the_shader_can_be_read():
    text = (fb.ones(3).realize() + 1).wgsl()
    assert "@compute @workgroup_size(" in text and "out[i]" in text


def test_errors_say_rule_and_place():
    with pytest.raises(ValueError) as caught:
        fb.ones(2, 3) @ fb.ones(4, 5)
    assert str(caught.value) == "matmul(f32[2, 3], f32[4, 5]): inner sizes differ: 3 and 4"
