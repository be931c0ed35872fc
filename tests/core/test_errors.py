"""What bad calls say: the call, the rule that it breaks and what to do, each in full."""

import numpy as np
import pytest
from helpers.errors import call

import flambeau as fb

x = fb.zeros(2, 3, device="cpu")
i = fb.zeros(2, 3, dtype=fb.int32, device="cpu")
b = fb.zeros(2, 3, dtype=fb.bool_, device="cpu")
v = fb.zeros(4, device="cpu")
F = fb.nn.functional
BAD_CALLS = [
    (lambda: x + v, "ValueError: add(f32[2, 3], f32[4]): sizes 3 and 4 of dim 1 do not broadcast"),
    (lambda: x @ x, "ValueError: matmul(f32[2, 3], f32[2, 3]): inner sizes differ: 3 and 2"),
    (lambda: x @ x.sum(),
     "ValueError: matmul(f32[2, 3], f32[]): both operands need at least 1 dim: use * for scalars"),
    (lambda: v.dot(x), "ValueError: dot(f32[4], f32[2, 3]): both operands need 1 dim: use matmul"),
    (lambda: x.reshape(4, 2), "ValueError: reshape(f32[2, 3], 4, 2): 6 elements do not fill shape [4, 2]"),
    (lambda: x.reshape(-1, -1), "ValueError: reshape(f32[2, 3], -1, -1): only one size can be -1"),
    (lambda: x.permute(0, 0),
     "ValueError: permute(f32[2, 3], 0, 0): dims [0, 0] are not each of 0 to 1 once"),
    (lambda: x.expand(2, 4), "ValueError: expand(f32[2, 3], 2, 4): shape [2, 3] does not expand to [2, 4]"),
    (lambda: x.sum(2), "IndexError: sum(f32[2, 3], 2): dim 2 is out of range for rank 2: use -2 to 1"),
    (lambda: x.sum((0, 0)), "ValueError: sum(f32[2, 3], (0, 0)): dim (0, 0) names a dim twice"),
    (lambda: x[:0].amax(),
     "NoElements: amax(f32[0, 3]): the maximum of no elements is not defined: check shape [0, 3]"),
    (lambda: x[2], "IndexError: __getitem__(f32[2, 3], 2): index 2 is out of range for dim 0 of size 2"),
    (lambda: x[0, 0, 0],
     "IndexError: __getitem__(f32[2, 3], (0, 0, 0)): 3 indices for rank 2: remove some"),
    (lambda: x[1.5],
     "IndexError: __getitem__(f32[2, 3], 1.5): 1.5 is not an index: use integers, slices, None, ..., or"
     " lists, arrays or tensors of integers or bools"),
    (lambda: x.gather(0, x),
     "TypeError: gather(f32[2, 3], 0, f32[2, 3]): the index must have integers, not f32: cast with .int()"),
    (lambda: v.gather(0, i),
     "ValueError: gather(f32[4], 0, i32[2, 3]): tensor and index differ in rank: 1 and 2"),
    (lambda: x.narrow(1, 2, 2), "ValueError: narrow(f32[2, 3], 1, 2, 2): 2 to 4 is not inside 0 to 3"),
    (lambda: fb.cat([x, v]),
     "ValueError: cat([f32[2, 3], f32[4]]): shapes [2, 3] and [4] differ outside dim 0"),
    (lambda: fb.cat([]), "ValueError: cat([]): needs at least one tensor"),
    (lambda: fb.split(x, [1, 2]), "ValueError: split(f32[2, 3], [1, 2]): sizes [1, 2] do not add up to 2"),
    (lambda: fb.chunk(x, 0), "ValueError: chunk(f32[2, 3], 0): chunks=0 is not above 0"),
    (lambda: x & x,
     "TypeError: bitwise_and(f32[2, 3], f32[2, 3]): takes integers or bools: cast with .int()"),
    (lambda: b - b,
     "TypeError: sub(bool[2, 3], bool[2, 3]): bools have no signs or differences: use ~ or ^, or cast"
     " with .int()"),
    (lambda: x + "1",
     "TypeError: add(f32[2, 3], '1'): '1' is not a tensor or a number: wrap it in tensor(...)"),
    (lambda: x + None,
     "TypeError: add(f32[2, 3], None): None is not a tensor or a number: wrap it in tensor(...)"),
    (lambda: F.conv2d(x, x), "ValueError: conv2d(f32[2, 3], f32[2, 3]): input needs 3 or 4 dims"),
    (lambda: F.conv1d(fb.zeros(1, 3, 5), fb.zeros(4, 2, 3)),
     "ValueError: conv1d(f32[1, 3, 5], f32[4, 2, 3]): weight [4, 2, 3] with groups=1 needs 2 input"
     " channels and channels divisible by groups: got 3"),
    (lambda: F.conv1d(fb.zeros(1, 2, 2), fb.zeros(4, 2, 3)),
     "ValueError: conv1d(f32[1, 2, 2], f32[4, 2, 3]): window of 3 is larger than its dim of 2 padded"),
    (lambda: F.max_pool1d(fb.zeros(1, 1, 4), 2, padding=2),
     "ValueError: max_pool1d(f32[1, 1, 4], 2, padding=2): padding is more than half of the kernel size"),
    (lambda: x.pad((1, 2, 3)),
     "ValueError: pad(f32[2, 3], (1, 2, 3)): padding needs pairs for at most 2 dims"),
    (lambda: F.gelu(x, "fast"),
     "ValueError: gelu(f32[2, 3], 'fast'): approximate='fast' is unknown: use 'none' or 'tanh'"),
    (lambda: F.dropout(x, 1.5), ("ValueError: dropout(f32[2, 3], 1.5): p=1.5 must be"
        " from 0 to 1: pass a probability")),
    (lambda: F.cross_entropy(x, i),
     "ValueError: cross_entropy(f32[2, 3], i32[2, 3]): target has 2 dims, and input 2: dim 1 of input"
     " has the classes, and target lacks this dim: remove one of size 1 with squeeze(1)"),
    (lambda: F.cross_entropy(x, x[0, :2]),
     "ValueError: cross_entropy(f32[2, 3], f32[2]): target is f32[2]: floats are probabilities of all"
     " classes: cast classes with .long()"),
    (lambda: F.nll_loss(x, x[:, 0]),
     "TypeError: nll_loss(f32[2, 3], f32[2]): target is f32[2], but classes are integers: cast it with"
     " .long()"),
    (lambda: F.binary_cross_entropy_with_logits(x[:, :1], x[:, 0]),
     "ValueError: binary_cross_entropy_with_logits(f32[2, 1], f32[2]): target has shape [2], input [2, 1]:"
     " the shapes must be equal: reshape one of them, e.g. with squeeze(1)"),
    (lambda: fb.nn.Linear(3, 2)(np.ones((2, 3))),
     "TypeError: linear(ndarray float64[2, 3], f32[2, 3], f32[2]): takes tensors, not a numpy.ndarray: wrap"
     " it in fb.tensor(...)"),
    (lambda: F.conv1d(np.ones((1, 1, 4)), x[None]),
     "TypeError: conv1d(ndarray float64[1, 1, 4], f32[1, 2, 3]): takes tensors, not a numpy.ndarray: wrap"
     " it in fb.tensor(...)"),
    (lambda: F.cross_entropy(x, [0, 1]),
     "TypeError: cross_entropy(f32[2, 3], [0, 1]): takes tensors, not a list: wrap it in fb.tensor(...)"),
    (lambda: fb.exp(x, x),
     "TypeError: exp(f32[2, 3], f32[2, 3]): takes input: got 2: check the arguments"),
    (lambda: F.mse_loss(x, x, "max"),
     "ValueError: mse_loss(f32[2, 3], f32[2, 3], 'max'): reduction='max' is unknown: use 'mean',"
     " 'sum' or 'none'"),
    (lambda: x.item(), "ValueError: item(f32[2, 3]): has 6 elements, not 1: use .tolist() or .numpy()"),
    (lambda: x.backward(),
     "ValueError: backward(f32[2, 3]): it depends on no tensor with requires_grad=True"),
    (lambda: i.requires_grad_(),
     "TypeError: requires_grad_(i32[2, 3]): only floats and complex numbers have gradients: cast with"
     " .float()"),
    (lambda: x.assign_(v), "ValueError: assign_(f32[2, 3], f32[4]): shapes differ: reshape the value"),
    (lambda: x.to("f99"),
     "DeviceError: device('f99'): unknown device: use 'gpu', 'gpu:1', 'cpu' or 'torch:cuda'"),
    (lambda: fb.tensor([1], dtype="float23"),
     "TypeError: dtype(float23): unknown dtype: did you mean 'float32'?"),
    (lambda: fb.tensor([[1, 2], [3]]),
     "ValueError: tensor(...): rows differ in length: expected 2 elements, got [3]"),
    (lambda: fb.tensor([2**31], dtype="i32"),
     "ValueError: tensor(...): 2147483648 does not fit i32, which holds -2147483648 to 2147483647"),
    (lambda: fb.randint(3, 3),
     "ValueError: randint(3, 3): low=3 is not below high=3: pass a larger high"),
]  # fmt: skip


@pytest.mark.parametrize("bad, text", BAD_CALLS, ids=[t.split(": ")[1][:30] for _, t in BAD_CALLS])
def test_bad_calls_say_what_is_wrong(bad, text):
    assert call(bad) == text


def test_devices_do_not_mix(gpu):
    y = fb.zeros(2, 3, device=gpu)
    said = f"ValueError: add(f32[2, 3], f32[2, 3]): devices differ: cpu and {gpu}: move one with .to(...)"
    assert call(lambda: x + y) == said
    assert (x.to(gpu) + y).device is gpu
