"""Reading: awaited or waited for, the values are the same, and of the time when they were asked for."""

import asyncio
from array import array

import numpy as np
import pytest

import flambeau as fb


def test_data_is_the_values(device):
    x = fb.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], device=device)
    found = asyncio.run((x * 2).read())
    assert (found.shape, found.dtype) == ((2, 3), fb.float32)
    assert list(found.flat) == [2, 4, 6, 8, 10, 12]
    assert found.tolist() == (x * 2).tolist()
    np.testing.assert_array_equal(found.numpy(), np.asarray(found))
    assert repr(found) == "Data(f32[2, 3])"
    assert asyncio.run((x > 3).read()).tolist() == (x > 3).tolist()
    assert asyncio.run(x.sum().read()).item() == 21.0
    assert asyncio.run(x[:0].read()).tolist() == []
    with pytest.raises(ValueError) as e:
        found.item()
    assert str(e.value) == "item(): has 6 elements, not 1: use .tolist() or .numpy()"


def test_read_is_a_sequence_and_can_be_awaited(device):
    x, y = fb.tensor([1.0, 2.0], device=device), fb.tensor(3, device=device)
    a, b = fb.read(x, y)
    assert (a, b) == ([1.0, 2.0], 3) and len(fb.read(x, y, x)) == 3
    assert fb.read(x, y) == [[1.0, 2.0], 3] and repr(fb.read(y)) == "[3]"

    async def main():
        return await fb.read(x, y)

    assert asyncio.run(main()) == [[1.0, 2.0], 3]


def test_values_are_those_of_the_call(device):
    x = fb.tensor([1.0], device=device)
    asked = fb.read(x)
    x.assign_(x + 1)
    assert (list(asked), x.tolist()) == ([[1.0]], [2.0])


def test_opening_can_be_awaited(device):
    assert asyncio.run(fb.open_device(device.name if device.kind == "cpu" else "gpu")) is device


def test_buffers_become_tensors(device):
    floats, bools = array("f", [1, 2.5]), memoryview(bytes([1, 0, 1])).cast("?")
    grid = memoryview(bytes(range(6))).cast("B", shape=[2, 3])
    got = [fb.tensor(v, device=device) for v in (floats, bools, grid, array("d", [0.5]), array("q", [-7]))]
    floats[0] = 9  # the tensor has a copy
    assert fb.read(*got) == [[1.0, 2.5], [True, False, True], [[0, 1, 2], [3, 4, 5]], [0.5], [-7]]
    with pytest.raises(
        ValueError, match=r"4294967296 does not fit i32, which holds -2147483648 to 2147483647"
    ):
        fb.tensor(array("q", [1 << 32]), dtype="i32", device=device)


def test_no_grad_is_a_tasks_own(device):
    async def task(off):
        with fb.no_grad() if off else fb.enable_grad():
            await asyncio.sleep(0)
            return (fb.tensor([1.0], requires_grad=True, device=device) * 2).requires_grad

    async def main():
        return await asyncio.gather(*map(task, [True, False, True]))

    assert asyncio.run(main()) == [False, True, False]
