"""Brackets against NumPy, where integers are taken first, as in PyTorch: keys that nobody would think of.

They are read, assigned and added to."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flambeau as fb

MANY = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SIZES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


KINDS = ["slice", "slice", "int", "none", "dots", "array", "array", "mask", "flag"]


def slices(n):
    ends = st.none() | st.integers(-n - 2, n + 2)
    return st.builds(slice, ends, ends, st.none() | st.integers(-3, 3).filter(bool))


@st.composite
def keys(draw):
    """A shape and a key for it: slices, integers, None, ..., index arrays and masks in any order."""
    shape = draw(SIZES)
    together = draw(st.sampled_from([(), (1,), (3,), (2, 1), (2, 3)]))
    key, d, dots = [], 0, False
    while d < len(shape) and draw(st.integers(0, 9)):
        n = shape[d]
        kind = draw(
            st.sampled_from(["slice", "slice", "int", "none", "dots", "array", "array", "mask", "flag"])
        )
        if kind == "dots" and not dots:
            dots = True
            key.append(...)
            d += draw(st.integers(0, 1))
        elif kind == "none":
            key.append(None)
        elif kind == "flag":
            key.append(draw(st.booleans()))
        elif kind == "mask":
            k = draw(st.integers(1, len(shape) - d))
            count = int(np.prod(shape[d : d + k]))
            bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            key.append(np.array(bits, bool).reshape(shape[d : d + k]))
            d += k
        elif kind == "array" and n:
            size = draw(st.sampled_from([together, together[1:], ()]))
            count = int(np.prod(size))
            made = draw(st.lists(st.integers(-n, n - 1), min_size=count, max_size=count))
            key.append(np.array(made, "i8").reshape(size))
            d += 1
        else:
            key.append(draw(st.integers(-n, n - 1)) if n and kind == "int" else draw(slices(n)))
            d += 1
    return shape, tuple(key)


def as_given(key, how, device):
    """Index arrays as lists, as arrays or as tensors on the device; masks as well."""
    if how == "tensor":
        return tuple(
            fb.tensor(k, dtype="bool" if k.dtype == bool else "i32", device=device)
            if isinstance(k, np.ndarray)
            else k
            for k in key
        )
    lists = (isinstance(k, np.ndarray) and k.size and how == "list" for k in key)
    return tuple(k.tolist() if a_list else k for k, a_list in zip(key, lists))


def steps(x, key):
    """What a key's integers leave of an array (a view), and the rest of the key. To NumPy integers are index
    arrays, and `...` that stands for nothing comes between such: it then gives dims in another order."""
    width = [0 if k is None or isinstance(k, bool) else k.ndim if is_mask(k) else 1 for k in key]
    rest = x.ndim - sum(n for k, n in zip(key, width) if k is not ...)
    items = [(s, n) for k, n in zip(key, width) for s in ([slice(None)] * rest if k is ... else [k])]
    first = [s for k, n in items for s in ([int(k)] if is_integer(k) else [slice(None)] * n)]
    return x[(*first, ...)], tuple(k for k, _ in items if not is_integer(k))


def is_mask(k):
    return isinstance(k, np.ndarray) and k.dtype == bool


def is_integer(k):
    return (isinstance(k, int) and not isinstance(k, bool)) or (
        isinstance(k, np.ndarray) and k.shape == () and not is_mask(k)
    )


def wanted(shape, key):
    x = np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    try:
        part, rest = steps(x, key)
        want = part[rest]
    except IndexError:
        return x, None
    return x, want


@MANY
@given(case=keys(), how=st.sampled_from(["list", "array", "tensor"]))
@pytest.mark.share(2, only=["gpu"])
def test_any_key_reads_what_numpy_reads(case, how, device):
    x, want = wanted(*case)
    ours = as_given(case[1], how, device)
    if want is None and how == "tensor":
        return  # of an index that is outside; see runtime/test_faults.py
    if want is None:
        with pytest.raises(IndexError):
            fb.tensor(x, device=device)[ours]
        return
    try:
        got = fb.tensor(x, device=device)[ours]
    except IndexError:
        assert not want.size  # NumPy then does not look whether other indices are inside
        return
    assert got.shape == want.shape and np.array_equal(got.numpy(), want)


def test_integers_beside_index_arrays_move_no_dims(device):
    """As in PyTorch; in NumPy the first two have the other shape."""
    x = fb.arange(24, device=device).reshape(2, 3, 4)
    assert x[0, :, [1, 2]].tolist() == [[1, 2], [5, 6], [9, 10]]
    assert x[fb.tensor(0, device=device), :, [1, 2]].tolist() == [[1, 2], [5, 6], [9, 10]]
    assert x[:, [0], ..., [1, 2]].shape == (2, 2)
    x[1, :, [0, 3]] = fb.tensor([[-1, -2]] * 3, device=device)
    assert x[1].tolist() == [[-1, 13, 14, -2], [-1, 17, 18, -2], [-1, 21, 22, -2]]


@MANY
@given(case=keys())
def test_any_key_reads_what_torch_reads(case, torch):
    shape, key = case
    if any(isinstance(k, slice) and (k.step or 1) < 0 for k in key):
        return  # it takes no steps backwards
    x = np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    try:
        want = torch.from_numpy(x)[tuple(torch.from_numpy(k) if hasattr(k, "dtype") else k for k in key)]
    except IndexError:
        return
    got = fb.tensor(x, device="cpu")[as_given(key, "tensor", "cpu")]
    assert got.shape == tuple(want.shape) and np.array_equal(got.numpy(), want.numpy())


@MANY
@given(case=keys(), how=st.sampled_from(["list", "tensor"]), data=st.data())
@pytest.mark.share(2, only=["gpu"])
def test_any_key_assigns_what_numpy_assigns(case, how, data, device):
    x, want = wanted(*case)
    if want is None or not want.size:
        return
    cut = data.draw(st.integers(0, want.ndim))
    shape = [n if data.draw(st.booleans()) else 1 for n in want.shape[cut:]]
    value = 100 + np.arange(int(np.prod(shape)), dtype="f4").reshape(shape)
    given, ours = fb.tensor(x, device=device), as_given(case[1], how, device)
    y = given + 0
    y[ours] = fb.tensor(value, device=device)
    assert np.array_equal(given.numpy(), x)
    put = x.copy()
    part, rest = steps(put, case[1])
    part[rest] = value
    assert np.array_equal(y.numpy(), put)
    if all(isinstance(k, np.ndarray) and k.dtype != bool for k in case[1]) and case[1]:
        added = given.index_put(ours, fb.tensor(value, device=device), accumulate=True)
        part, rest = steps(x, case[1])
        np.add.at(part, rest, np.broadcast_to(value, want.shape))  # NumPy's fast path adds rows once
        assert np.array_equal(added.numpy(), x)


def test_a_mask_and_a_number_need_no_read(device):
    x = fb.arange(6, device=device).reshape(2, 3)
    mask = fb.tensor([[True, False, True], [False, False, True]], device=device)

    @fb.jit
    def set_some(x, mask):
        y = x + 0
        y[mask] = 9
        return y

    for _ in range(2):
        assert set_some(x, mask).tolist() == [[9, 1, 9], [3, 4, 9]]


def test_a_mask_in_a_function_ends_its_recording(gpu, capsys):
    call = fb.jit(lambda x, m: x[m])
    for mask in ([True, False, True], [False, True, False]):
        found = call(fb.arange(3, device=gpu), fb.tensor(mask, device=gpu))
        assert found.tolist() == [i for i in range(3) if mask[i]]
    assert "jit(<lambda>): runs unrecorded: it reads values" in capsys.readouterr().err


def test_assignment_keeps_gradients(device):
    x = fb.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    v = fb.tensor([5.0, 6.0], device=device, requires_grad=True)
    y = x * x
    y[[0, 2]] = v * 3
    y[1:2] = y[1:2] * 10
    grads = (y * y).sum().backward()
    assert y.tolist() == [15.0, 40.0, 18.0]
    assert grads[x].tolist() == [0.0, 2 * 40 * 10 * 2 * 2, 0.0] and grads[v].tolist() == [90.0, 108.0]


def test_assignment_to_a_parameter(device):
    x = fb.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    with pytest.raises(ValueError) as e:
        x[0] = 5.0
    assert e.value.args[0] == (
        "__setitem__(f32[3], 0, 5.0): f32[3] can't be written to: it is a leaf that requires"
        " gradients: write inside no_grad, or to a clone()"
    )
    with fb.no_grad():
        x[0] = 5.0
    assert x.tolist() == [5.0, 2.0, 3.0] and x.requires_grad
    assert (x * x).sum().backward()[x].tolist() == [10.0, 4.0, 6.0]


def test_the_last_of_equal_places_is_assigned_and_alone_has_a_gradient(device):
    x = fb.tensor([1.0, 2.0, 3.0], device=device, requires_grad=True)
    v = fb.tensor([4.0, 5.0, 6.0, 7.0], device=device, requires_grad=True)
    y = x.index_put(([0, 2, 0, 2],), v)
    assert y.tolist() == [6.0, 2.0, 7.0]
    grads = (y * fb.tensor([1.0, 10.0, 100.0], device=device)).sum().backward()
    assert grads[x].tolist() == [0.0, 10.0, 0.0] and grads[v].tolist() == [0.0, 0.0, 1.0, 100.0]


ERRORS = [
    (lambda x: x[2], "__getitem__(f32[2, 3], 2): index 2 is out of range for dim 0 of size 2"),
    (
        lambda x: x[..., [0, -4]],
        "__getitem__(f32[2, 3], (Ellipsis, [0, -4])): index -4 is out of range for dim 1 of size 3",
    ),
    (lambda x: x[0, 0, 0], "__getitem__(f32[2, 3], (0, 0, 0)): 3 indices for rank 2: remove some"),
    (lambda x: x[..., ...], "__getitem__(f32[2, 3], (Ellipsis, Ellipsis)): ... is passed twice: use it once"),
    (
        lambda x: x[[True, False, True]],
        "__getitem__(f32[2, 3], [True, False, True]): mask has shape [3], the dims that it indexes [2]",
    ),
    (
        lambda x: x[1.5],
        "__getitem__(f32[2, 3], 1.5): 1.5 is not an index: use integers, slices, None, ..., or lists, arrays"
        " or tensors of integers or bools",
    ),
    (
        lambda x: x[[0, 1], [0, 1, 2]],
        "__getitem__(f32[2, 3], ([0, 1], [0, 1, 2])): index arrays do not broadcast: sizes 2 and 3 of"
        " dim 0 do not broadcast",
    ),
    (
        lambda x: x.gather(1, x[:, :0]),
        "gather(f32[2, 3], 1, f32[2, 0]): the index must have integers, not f32: cast with .int()",
    ),
    (
        lambda x: x[:, :0].index_select(1, x.int()[0]),
        "index_select(f32[2, 0], 1, i32[3]): dim 1 has no elements to index",
    ),
    (
        lambda x: x.scatter(0, [[0, 0, 0]], fb.ones(1, 3).int()),
        "scatter(f32[2, 3], 0, [[0, 0, 0]], i32[1, 3]): src is i32, the tensor f32: cast one of them",
    ),
    (
        lambda x: x.scatter_reduce(0, [[0, 0, 0]], x[:1], "max"),
        "scatter_reduce(f32[2, 3], 0, [[0, 0, 0]], f32[1, 3], 'max'): reduce='max' is unknown: use 'sum',"
        " 'prod', 'mean', 'amax' or 'amin'",
    ),
    (
        lambda x: x.index_add(0, [0], x),
        "index_add(f32[2, 3], 0, [0], f32[2, 3]): index [1] and source [2, 3]: source must be [1, 3]",
    ),
]


@pytest.mark.parametrize("call, text", ERRORS, ids=lambda v: v[:30] if isinstance(v, str) else "")
def test_errors(call, text):
    with pytest.raises((IndexError, ValueError, TypeError)) as e:
        call(fb.ones(2, 3))
    assert e.value.args[0] == text


def test_uint8_indices_are_refused():
    """PyTorch takes them for a mask, NumPy for places."""
    x, mask = fb.arange(3, device="cpu"), fb.tensor([1, 0, 1], dtype=fb.uint8, device="cpu")
    with pytest.raises(IndexError, match=r"cast with \.bool\(\) or with \.int\(\)"):
        x[mask]
    assert x[mask.bool()].tolist() == [0, 2] and x[mask.int()].tolist() == [1, 0, 1]
