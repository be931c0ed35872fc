"""Kernels that write several buffers, and the further outputs of an opaque op that the graph may ask for."""

import numpy as np
import pytest

import flambeau as fb
from flambeau.core.op import Op, Written, output_of
from flambeau.tensor import Tensor

BOTH = """//% extends "launch.wgsl"
//% block work
  let i = group * 64u + lid.x;
  if (i < p.size) {
    out[i] = in0[i] * 2.0;
    out1[i] = in0[i] + 1.0;
    out2[i] = u32(i);
  }
//% endblock
"""


@pytest.fixture(scope="module")
def twice():
    def launch(limits, x):
        n = x.shape[0]
        also = (Written("more", n, fb.float32), Written("place", n, fb.uint32))
        return [fb.Launch("", (0,), -(-n // 64), {"size": n}, also=also)]

    return fb.custom_op(
        "twice_and_more", inputs=["x"], kernel=BOTH, launch=launch, reference=lambda xp, x: x * 2
    )


def part(name, xp, dtype=lambda y, x: x):
    op = Op("output", xp=xp, shape=lambda y, x: x, dtype=dtype, part=name)
    object.__setattr__(op, "name", f"part_{name}")
    return op


MORE = part("more", lambda xp, y, x: x + 1)
PLACE = part("place", lambda xp, y, x: xp.arange(len(x)), lambda y, x: fb.uint32)
X = np.arange(200, dtype="f4")


def test_parts_come_with_the_whole(device, twice):
    x = fb.tensor(X, device=device)
    y = twice(x + 1)
    more, place = output_of(MORE, y), output_of(PLACE, y)
    total = (more * 3 + place.float()).sum()
    fb.realize(y, more, place, total)
    assert np.array_equal(y.numpy(), 2 * X + 2) and np.array_equal(more.numpy(), X + 2)
    assert np.array_equal(place.numpy(), np.arange(200))
    assert total.item() == (3 * (X + 2) + np.arange(200)).sum()


def test_a_part_alone(device, twice):
    x = fb.tensor(X, device=device)
    assert np.array_equal(output_of(MORE, twice(x)).numpy(), X + 1)


def test_a_part_after_its_whole(gpu, twice):
    """A gradient may ask for it when the forward pass has run: the op is computed once more."""
    x = fb.tensor(X, device=gpu).requires_grad_().realize()
    y = twice(x)
    y.node.requires_grad = True  # keeps its inputs
    y.realize()
    more = output_of(MORE, y)
    assert len(more.plan()) == 1
    assert np.array_equal(more.numpy(), X + 1) and np.array_equal(y.numpy(), 2 * X)


def test_the_plan_names_all_that_a_kernel_writes(gpu, twice):
    y = twice(fb.tensor(X, device=gpu))
    (kernel,) = output_of(MORE, y).plan()
    assert len(kernel.outputs) == 3
    assert len(repr(output_of(MORE, y).plan()).splitlines()[-1].split("%")) == 5


def test_two_outputs_are_recorded_and_replayed(gpu, twice):
    @fb.jit
    def step(x):
        y = twice(x)
        return y, output_of(MORE, y)

    for shift in range(3):
        y, more = step(fb.tensor(X + shift, device=gpu))
        assert np.array_equal(y.numpy(), 2 * (X + shift)) and np.array_equal(more.numpy(), X + shift + 1)


def test_two_outputs_are_saved_and_loaded(gpu, twice, tmp_path):
    def both(x):
        y = twice(x.reshape(-1))
        return [y, output_of(MORE, y)]

    fb.save_program(
        both, [Tensor(fb.tensor(X, device=gpu).reshape(-1, 4).node)], tmp_path / "p", max_batch=50
    )
    y, more = fb.load_program(tmp_path / "p")(fb.tensor(X.reshape(-1, 4), device=gpu))
    assert np.array_equal(y.numpy(), 2 * X) and np.array_equal(more.numpy(), X + 1)
