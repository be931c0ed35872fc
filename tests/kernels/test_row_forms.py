"""Rows in each form of their kernel: threads of a row, elements that one holds, one element or four a read.

On NVIDIA's GPUs the elements 0 and 3 of rows of 2,049 to 4,095 elements were wrong if a statistic of the row
was stored before. The values are small integers, so any difference is an error.
"""

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.kernels import planned_for

import flambeau as fb

# The last length of a form and one inside it, for each number of threads and of elements held, and for each
# of one element or four a read.
LENGTHS = sorted({
    length
    for threads in (1, 8, 32, 128, 256)
    for held in (1, 2, 4, 8, 16)
    for width in (1, 4)
    for less in (0, threads * max(held // 2, 1) // 4 * width + 1)
    if 0 < (length := threads * held * width - less) <= 4 * 4096
})  # fmt: skip
FORMULAS = {  # on tensors and on arrays
    "centred": (
        lambda x, s: (x - x.sum(-1, keepdim=True)) * s,
        lambda x, s: (x - x.sum(-1, keepdims=True)) * s,
    ),
    "scaled": (
        lambda x, s: x * s + x.amax(-1, keepdim=True),
        lambda x, s: x * s + x.max(-1, keepdims=True),
    ),
    "from both": (
        lambda x, s: (x - s) * 2 + x.sum(-1, keepdim=True) - x.amin(-1, keepdim=True),
        lambda x, s: (x - s) * 2 + x.sum(-1, keepdims=True) - x.min(-1, keepdims=True),
    ),
}


@pytest.mark.parametrize(("name", "first"), [(name, i) for i, name in enumerate(FORMULAS)])
@pytest.mark.parametrize("software", [False, *in_turn((True,), 3)])
def test_stored_statistics(name, first, software, gpu):
    rng = np.random.default_rng(4)
    # A software driver takes a tenth of a second to compile one of them.
    lengths = in_turn(LENGTHS, 16 if gpu.adapter.is_software else 1, first=5 * first)
    on_tensors, on_arrays = FORMULAS[name]
    results, expected = [], []
    with planned_for(gpu, software):
        for length in lengths:
            rows = int(rng.integers(1, 4))
            x = rng.integers(-2, 3, (rows, length)).astype("f4")
            s = rng.integers(-3, 4, (rows, 1)).astype("f4")
            expected.append(on_arrays(x, s))
            results.append(on_tensors(fb.tensor(x, device=gpu), fb.tensor(s, device=gpu)))
        computed = values(*results)
    wrong = [
        (length, np.argwhere(got != want)[:4].tolist())
        for length, got, want in zip(lengths, computed, expected, strict=True)
        if not np.array_equal(got, want)
    ]
    assert not wrong
