"""Tensors of the CPU beside those of a GPU: 0-d ones and indices are moved, others refused, as in PyTorch."""

import numpy as np
import pytest

import flambeau as fb


def test_numbers_and_indices_of_the_cpu():
    x, a = fb.arange(6.0).reshape(2, 3), np.arange(6, dtype="f4").reshape(2, 3)
    number = fb.tensor(2.0, device="cpu", requires_grad=True)
    y = number * x + fb.tensor(1, device="cpu")
    assert y.device is x.device and y.dtype is fb.float32
    np.testing.assert_array_equal(y.detach().numpy(), a * 2 + 1)
    slope = y.sum().backward()[number]
    assert slope.item() == 15 and slope.device.kind == "cpu"
    index, mask = fb.tensor([2, 0], device="cpu"), fb.tensor([False, True], device="cpu")
    np.testing.assert_array_equal(x[:, index].numpy(), a[:, [2, 0]])
    np.testing.assert_array_equal(x[mask].numpy(), a[[1]])
    z = x.clone()
    z[:, index] = fb.tensor(7.0, device="cpu")
    z[mask] = 9.0
    assert z.tolist() == [[7, 1, 7], [9, 9, 9]]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + fb.ones(1, device="cpu"),
        lambda x: x @ fb.ones(3, device="cpu"),
        lambda x: fb.cat([x, fb.ones(2, 3, device="cpu")]),
        lambda x: x.index_select(0, fb.tensor([0], device="cpu")),
        lambda x: fb.ones(2, device="cpu") * x.sum(),
    ],
)
def test_other_tensors_are_refused(call):
    with pytest.raises(RuntimeError, match="devices differ"):
        call(fb.ones(2, 3))
