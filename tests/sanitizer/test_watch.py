"""Values of a kernel's WGSL, from the adapter, beside NumPy's."""

import numpy as np
import pytest
from helpers import faulty
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.errors import KernelError


@pytest.fixture(scope="module")
def x(gpu):
    rng = np.random.default_rng(2)
    return fb.tensor(rng.standard_normal((5, 33)).astype("f4"), device=gpu).realize()


def test_the_maximum_of_each_row_of_a_softmax(x, gpu):
    """A kernel with barriers and workgroup memory: all its threads have the row's, and the result stays."""
    with planned_for(gpu, software=False):
        (found,) = fb.watch(lambda x: x.softmax(1), x, name="rows.row_max")
    assert found.type == "f32" and found.template.startswith("reduce/") and (found.counts > 0).all()
    rows = found.values.reshape(-1, 8)[:5]  # 8 lanes of a row, side by side
    np.testing.assert_array_equal(rows, x.numpy().max(1, keepdims=True).repeat(8, 1))


def test_turns_of_a_loop(x, gpu):
    with planned_for(gpu, software=True):
        (last,) = fb.watch(lambda x: x.sum(1), x, name="sum.x")
        (third,) = fb.watch(lambda x: x.sum(1), x, name="sum.x", turn=2)
    np.testing.assert_array_equal(last.values[0, :5], x.numpy()[:, -1])
    np.testing.assert_array_equal(third.values[0, :5], x.numpy()[:, 2])
    assert last.counts[0].tolist() == [33] * 5 + [0] * (last.counts.shape[1] - 5)
    assert str(last).startswith("sum.x: f32 (reduce/serial.wgsl:") and last.as_dict()["grid"] == (1, 1, 1)


def test_the_kernels_of_a_name_come_before_those_that_have_it_in_theirs(gpu):
    def call(x):
        return [(x.exp() * 2).realize(), x.exp().realize()]

    found = fb.watch(call, fb.zeros(4, device=gpu).realize(), name="exp.y")
    assert [(value.kernel, value.values.max()) for value in found] == [("exp", 1), ("exp+mul", 2)]
    (found,) = fb.watch(call, fb.zeros(4, device=gpu).realize(), name="map.t2")  # exp alone has none
    assert found.kernel == "exp+mul"
    with pytest.raises(KernelError) as e:
        fb.watch(call, fb.zeros(4, device=gpu).realize(), name="map.zz")
    assert str(e.value).startswith("watch(exp+mul.zz): no such value: the values are ")


def test_vectors_booleans_and_parameters(gpu):
    x = fb.ones(128, device=gpu).realize()
    work = "let i = group * 64u + lid.x;\nlet odd = (i & 1u) == 1u;\n"
    work += "let two = vec2<i32>(-i32(i), 7);\nout[i] = in0[i];"
    op = faulty.whole("watched_kinds", work)
    at = np.arange(128).reshape(2, 64)
    for name, want in {"odd": at % 2 == 1, "two": np.stack([-at, at * 0 + 7], 2), "i": at}.items():
        (found,) = fb.watch(op, x, name=f"watched_kinds.{name}")
        np.testing.assert_array_equal(found.values, want)
    (found,) = fb.watch(op, x, name="watched_kinds.lid")
    assert found.values[1, 5].tolist() == [5, 0, 0] and found.type == "vec3<u32>"


ERRORS = {
    "exp": (ValueError, "watch(name='exp'): is not KERNEL.NAME: inspect or .wgsl() shows the names"),
    "exp.y+": (ValueError, "watch(name='exp.y+'): is not KERNEL.NAME: inspect or .wgsl() shows the names"),
    "foo.y": (KernelError, "watch(name='foo.y'): no kernel 'foo': its kernels: exp"),
    "exp.grou": (KernelError, "watch(exp.grou): no such value: did you mean 'group'?"),
    "exp.zz": (KernelError, "watch(exp.zz): no such value: the values are "),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name, x):
    kind, told = ERRORS[name]
    with pytest.raises(kind) as e:
        fb.watch(lambda x: x.exp(), x, name=name)
    assert str(e.value).startswith(told)


def test_names_of_several_types(gpu):
    work = "let y = in0[lid.x];\nif (lid.x > 3u) {\nlet y = 2u;\n}\nout[lid.x] = y;"
    with pytest.raises(KernelError) as e:
        fb.watch(
            faulty.whole("watched_twice", work), fb.ones(128, device=gpu).realize(), name="watched_twice.y"
        )
    told = "watch(watched_twice.y): has type f32, u32: watch a number or a vector of one type"
    assert str(e.value) == told
