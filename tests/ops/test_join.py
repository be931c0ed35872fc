"""Many tensors into one: each lies where it belongs, and as few dispatches as buffers allow put it there."""

import numpy as np
import pytest
from helpers.draws import draws, one_of
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.ops.join import LARGE, LARGE_ON_GPU

DTYPES = ("float32", "float16", "int32", "uint8", "bool", "int64")
MADE = {  # how an input comes about, of an array that is there
    "leaf": lambda x: x,
    "computed": lambda x: x | x if x.dtype is fb.bool else x + x,
    "turned": lambda x: x.transpose(0, 1),
    "reshaped": lambda x: x.reshape(-1).reshape(*x.shape),
    "cut": lambda x: x[1:, 1:],
}


def joined(rng, device):
    """(a join of inputs of drawn sizes, dtype and kinds, what NumPy makes of them)"""
    dtype, dim, rows = one_of(rng, DTYPES), int(rng.integers(2)), one_of(rng, (1, 3, 8, 64))
    tensors, arrays = [], []
    for _ in range(int(rng.integers(4, 10))):
        around = one_of(rng, (16, 1000, LARGE - 8, LARGE + 8, 3 * LARGE, LARGE_ON_GPU + 8))
        shape = (rows, max(around // rows, 1)) if dim else (max(around // rows, 1), rows)
        kind = one_of(rng, tuple(MADE))
        given = tuple(n + (kind == "cut") for n in (shape[::-1] if kind == "turned" else shape))
        array = rng.integers(0, 2 if dtype == "bool" else 100, given).astype(dtype)
        tensors.append(MADE[kind](fb.tensor(array, device=device).realize()))
        arrays.append(MADE[kind](fb.tensor(array, device="cpu")).numpy())
    return fb.cat(tensors, dim), np.concatenate(arrays, dim)


@pytest.mark.parametrize("software", [True, False], ids=["software", "gpu"])
@pytest.mark.share(2)
def test_drawn_inputs_lie_in_order(software, gpu):
    for name, rng in draws("cat", 12):
        with planned_for(gpu, software):
            got, want = joined(rng, gpu)
            assert np.array_equal(got.numpy(), want), name


def test_a_gpu_takes_several_inputs_of_medium_size_at_once(gpu):
    states = [fb.full((LARGE + 8,), i, device=gpu).contiguous().realize() for i in range(21)]
    with planned_for(gpu, software=False):
        y = fb.stack(states)
        assert len(y.plan()) == 3  # of 7 inputs each, which is what a kernel may bind
        assert y.sum(1).tolist() == [i * (LARGE + 8) for i in range(21)]
        turned = fb.cat([s.reshape(8, -1).T for s in states[:4]])
        assert len(turned.plan()) == 4  # a view is followed, not copied first
    with planned_for(gpu, software=True):
        assert len(fb.stack(states).plan()) == 21
