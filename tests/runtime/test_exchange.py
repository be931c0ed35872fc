"""Tensors on their way: between devices, and to and from other libraries' arrays."""

import numpy as np
import pytest

import flambeau as fb


def test_to_takes_what_torch_takes(device):
    x = fb.tensor([1.5, 2.5], device=device)
    assert x.to(fb.float32) is x and x.to(device) is x and x.to(x) is x
    assert x.to(fb.int32).tolist() == [1, 2] and x.to(int).dtype is fb.int64
    y = x.to("cpu", fb.int32)
    assert y.device.name == "cpu" and y.tolist() == [1, 2]
    assert x.to(y).device.name == "cpu" and x.to(y).dtype is fb.int32
    assert x.to(device="cpu", dtype=int).tolist() == [1, 2]
    assert x.cpu().device.name == "cpu"
    copied = x.to(device, copy=True)
    copied.assign_([0.0, 0.0])
    assert x.tolist() == [1.5, 2.5] and copied.tolist() == [0, 0]


def test_moving_is_differentiable(gpu):
    x = fb.tensor([1.0, 2.0], device="cpu", requires_grad=True)
    y = x.gpu()
    assert y.device is gpu and y.requires_grad
    grads = ((y * y).cpu() * x).sum().backward(create_graph=True)
    assert grads[x].device.name == "cpu" and np.allclose(grads[x].numpy(), 3 * np.array([1, 4.0]))
    assert np.allclose(grads[x].sum().backward()[x].numpy(), [6.0, 12.0])


def test_every_dtype_and_shape_moves(gpu):
    for made in (
        fb.tensor([True, False]),
        fb.tensor(7),
        fb.zeros(0, 3),
        fb.tensor([4294967295], dtype=fb.uint32),
    ):
        there = made.to("cpu").to(gpu)
        assert there.dtype is made.dtype and there.shape == made.shape and there.tolist() == made.tolist()


def test_mixed_devices_say_so(gpu):
    with pytest.raises(ValueError) as caught:
        fb.ones(2, device="cpu").atan2(fb.ones(2, device=gpu))
    told = f"atan2(f32[2], f32[2]): devices differ: cpu and {gpu.name}: move one with .to(...)"
    assert str(caught.value) == told


def test_arrays_go_out(device):
    x = fb.tensor([[1.0, 2.0], [3.0, 4.0]], device=device)
    assert np.array_equal(np.asarray(x), [[1, 2], [3, 4]]) and np.asarray(x, dtype="f8").dtype == "f8"
    assert np.array_equal(np.from_dlpack(x.T), [[1, 3], [2, 4]]) and x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match=r"it requires gradients, which stop here: use .detach\(\)"):
        np.from_dlpack(fb.tensor([1.0], device=device, requires_grad=True))
    with pytest.raises(ValueError, match="allow copy"):
        x.__array__("f8", copy=False)


def test_arrays_come_in(device):
    for a in (np.arange(6, dtype="f4").reshape(2, 3), np.arange(3), np.array([True, False])):
        x, y, z = fb.from_dlpack(a, device), fb.from_numpy(a, device), fb.as_tensor(a, device=device)
        assert x.tolist() == y.tolist() == z.tolist() == a.tolist() and x.dtype is y.dtype
    assert fb.as_tensor(x) is x and fb.as_tensor(x, fb.float32).dtype is fb.float32
    assert fb.from_dlpack(x) is x and x.device is device


def test_memory_is_shared_on_the_host():
    a = np.arange(4, dtype="f4")
    x = fb.from_dlpack(a, "cpu")
    assert np.shares_memory(np.from_dlpack(x), a)
    assert (x * 2).tolist() == [0, 2, 4, 6]


def test_torch_and_back(torch, device):
    given = torch.arange(4.0)
    assert fb.from_dlpack(given, device).tolist() == [0, 1, 2, 3]
    assert torch.from_dlpack(fb.ones(3, device=device)).tolist() == [1, 1, 1]
    x = fb.from_dlpack(given, "torch")
    assert x.device.name == "torch:cpu" and torch.from_dlpack(x).data_ptr() == given.data_ptr()
    assert np.shares_memory(np.from_dlpack(x.to("cpu")), given.numpy())
    assert torch.from_dlpack(x.to("cpu").to("torch")).data_ptr() == given.data_ptr()
    back = fb.tensor([1.0, 2.0], device=device, requires_grad=True)
    assert (back.to("torch") ** 2).sum().backward()[back].tolist() == [2, 4]
    u = fb.tensor([7, 4294967295], dtype=fb.uint32, device="torch")
    assert u.to(device).tolist() == [7, 4294967295]


def softmax(x, axis):
    """As a library writes it that knows nothing of tensors."""
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def standardise(x):
    xp = x.__array_namespace__()
    if not xp.isdtype(x.dtype, "real floating"):
        x = xp.astype(x, xp.float32)
    flat = xp.reshape(xp.permute_dims(x, (1, 0)), (x.shape[1], -1))
    spread = xp.std(flat, axis=1, keepdims=True)
    safe = xp.where(spread > 0, spread, xp.asarray(1.0, device=x.device))
    return xp.concat(
        [(flat - xp.mean(flat, axis=1, keepdims=True)) / safe, xp.zeros((1, flat.shape[1]), device=x.device)]
    )


def test_code_for_the_array_api_runs(device):
    given = np.random.default_rng(0).normal(size=(3, 4)).astype("f4")
    x = fb.tensor(given, device=device, requires_grad=True)
    e = np.exp(given)
    assert np.allclose(softmax(x, 1).numpy(), e / e.sum(1, keepdims=True), atol=1e-6)
    assert softmax(x, 0)[0].sum().backward()[x].shape == (3, 4)
    ints = np.arange(6).reshape(2, 3)
    want = (ints.T - ints.T.mean(1, keepdims=True)) / ints.T.std(1, keepdims=True)
    assert np.allclose(standardise(fb.tensor(ints, device=device)).numpy()[:3], want)


def test_the_namespace_has_what_it_says(device):
    from flambeau import array_api as xp

    x = fb.tensor([[1.0, -2.0], [3.0, 4.0]], device=device)
    a = x.numpy()
    pairs = [
        (xp.argmax(x), a.argmax()), (xp.var(x, axis=0), a.var(0)), (xp.std(x, correction=1), a.std(ddof=1)),
        (xp.flip(x), np.flip(a)), (xp.stack([x, x], axis=1), np.stack([a, a], 1)),
        (xp.clip(x, 0, 2), a.clip(0, 2)),
        (xp.matrix_transpose(x), a.T), (xp.expand_dims(x, axis=1), a[:, None]),
        (xp.tril(x, k=-1), np.tril(a, -1)),
        (xp.broadcast_to(x[:1], (3, 2)), np.broadcast_to(a[:1], (3, 2))), (xp.vecdot(x, x), (a * a).sum(-1)),
        (xp.moveaxis(x, 0, 1), a.T), (xp.take(x, fb.tensor([1], device=device), axis=1), a[:, [1]]),
        (xp.concat([x, x], axis=None), np.concatenate([a, a], None)), (xp.negative(x), -a),
        (xp.squeeze(x[:1], 0), a[0]), (xp.multiply(x, 2), a * 2), (xp.ones((2,), dtype=xp.int32), np.ones(2)),
    ]  # fmt: skip
    for got, want in pairs:
        assert np.allclose(got.numpy(), want) and got.shape == np.shape(want)
    assert xp.result_type(x, xp.int32) is fb.float32 and xp.isdtype(xp.int32, ("bool", "integral"))
    assert not xp.isdtype(xp.int32, xp.uint32) and xp.pi > 3
