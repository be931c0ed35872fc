"""Functions and methods that PyTorch has under more names: the same values, and what errors say."""

import numpy as np
import pytest

import flambeau as fb

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], "f4")


def x():
    return fb.tensor(X, device="cpu")


# expressions of m (flambeau or torch) and x, compared with torch's value
EXPRESSIONS = """
m.abs_(x) * 1
m.clamp_(x, -1, 1)
m.fill_(x, 3)
m.fill(x, 3)
m.as_strided(x, (2, 2), (1, 2), 1)
m.as_strided_copy(x, (2, 2), (3, 1))
m.as_strided_scatter(x, m.tensor([[9.0, 8.0]]), (1, 2), (1, 3), 1)
x.adjoint()
x.mH
x.H
m.narrow_copy(x, 1, 0, 2)
m.split_with_sizes(x, (1, 2), 1)[1]
m.unsafe_chunk(x, 2)[0]
m.expand_copy(x[:, :1], (2, 3))
m.permute_copy(x, (1, 0))
m.select_copy(x, 0, 1)
m.slice_copy(x, 1, 0, 3, 2)
m.squeeze_copy(x[:1])
m.t_copy(x)
m.transpose_copy(x, 0, 1)
m.unbind_copy(x)[1]
m.unfold_copy(x, 1, 2, 1)
m.unsqueeze_copy(x, 0)
m.view_copy(x, (3, 2))
m.diagonal_copy(x)
m.detach_copy(x)
m.alias_copy(x)
m.constant_pad_nd(x, (1, 0), 2.0)
m.frobenius_norm(x, (0, 1))
m.nuclear_norm(x)
m.norm_except_dim(x, 2, 0)
m.norm_except_dim(x, 2, -1)
m.range(1, 2, 0.5)
m.scalar_tensor(2.0)
m.asarray([1.0, 2.0])
m.conv_tbc(x.reshape(3, 1, 2), m.ones(2, 2, 3), m.ones(3), 1)
m.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))
m.while_loop(lambda a: a.sum() < 50, lambda a: (a * 2,), (x,))[0]
x.rad2deg_()
x.apply_(lambda v: v * 2)
x.map_(x.clone(), lambda a, b: a * b)
x.hardshrink(1.0)
x.prelu(m.tensor([0.5]))
x.frexp()[0]
x.resize_(2, 3)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_as_torch(torch, text):
    ours = eval(text.replace("m.tensor(", "t(").replace("m.ones(", "ones("), {
        "m": fb, "x": x(), "t": lambda v: fb.tensor(v, device="cpu"),
        "ones": lambda *n: fb.ones(*n, device="cpu"),
    })  # fmt: skip
    theirs = eval(text, {"m": torch, "x": torch.tensor(X)})
    assert ours.shape == tuple(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)


def test_facts():
    a = x()
    assert a.stride() == (3, 1) and a.stride(0) == 3 and a.storage_offset() == 0 and a.dim_order() == (0, 1)
    assert a.is_leaf and a.is_cpu and not (a.is_conj() or a.is_neg() or a.is_inference())
    assert a.resolve_conj() is a and a.resolve_neg() is a and a.is_set_to(a) and not a.is_set_to(x())
    w = fb.tensor(X, device="cpu", requires_grad=True)
    assert w.is_leaf and not (w * 2).is_leaf
    assert fb.typename(1) == "int" and fb.broadcast_shapes((2, 1), 3) == (2, 3) and fb.newaxis is None
    assert (fb.e, fb.pi, fb.inf) == (np.e, np.pi, np.inf) and fb.Size is tuple and fb.nan != fb.nan
    assert fb.are_deterministic_algorithms_enabled() and fb.get_default_dtype() is fb.float32
    assert fb.empty_strided((2, 3), (1, 2)).shape == fb.empty_permuted((2, 3), (1, 0)).shape == (2, 3)


def test_views_that_are_copies():
    a = x()
    fb.select_copy(a, 0, 0).fill_(7)
    fb.as_strided(a, (2,), (1,)).fill_(7)
    assert np.array_equal(a.numpy(), X)
    w = fb.tensor(X, device="cpu", requires_grad=True)
    assert w.as_strided((2, 2), (0, 1)).sum().backward()[w].tolist() == [[2, 2, 0], [0, 0, 0]]


def test_files_and_buffers(tmp_path):
    raw = X.tobytes()
    assert fb.frombuffer(raw, dtype=fb.float32, count=2, offset=4).tolist() == [-1.5, 2.0]
    (tmp_path / "x").write_bytes(raw)
    assert fb.from_file(tmp_path / "x", size=3).tolist() == [0.5, -1.5, 2.0]


def test_seeds_and_settings():
    before = fb.get_rng_state()
    drawn = fb.rand(3, device="cpu").tolist()
    fb.set_rng_state(before)
    assert (
        fb.rand(3, device="cpu").tolist() == drawn
        and fb.default_generator.initial_seed() == fb.initial_seed()
    )
    assert fb.compile(lambda a: a * 2)(x()).tolist() == (X * 2).tolist()
    with fb.no_grad():
        assert fb.is_inference_mode_enabled()
    u, s, v = fb.svd_lowrank(x(), 2)
    assert np.allclose((u * s @ v.mT).numpy(), X, atol=1e-5)
    assert fb.pca_lowrank(x(), 1)[2].shape == (3, 1)


def test_errors():
    a = x()
    cases = [
        (
            lambda: a.resize_(3),
            "resize_(f32[2, 3], [3]): a tensor keeps its 6 elements and its shape: use x = x.reshape(...)",
        ),
        (
            lambda: a.as_strided((9,), (1,)),
            "as_strided(f32[2, 3], [9], [1], 0): it would read element 8 of 6: pass sizes that fit",
        ),
        (
            lambda: fb.use_deterministic_algorithms(False),
            "use_deterministic_algorithms(False): all algorithms are deterministic: leave it out",
        ),
        (
            lambda: fb.asarray([1], copy=False),
            "asarray(copy=False): host data is always copied: pass copy=None",
        ),
        (
            lambda: fb.from_file("x", shared=True),
            "from_file(shared=True): a tensor does not share memory with a file: write"
            " Tensor.numpy() to the file",
        ),
    ]  # fmt: skip
    for call, told in cases:
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == told
    with pytest.raises(AttributeError, match="no attribute 'sofmax': did you mean 'softmax'"):
        _ = fb.sofmax
