"""The page's small NumPy (web/selftest/arrays.py) against NumPy itself: the same expressions in both."""

import ast
import importlib.util
import types
from pathlib import Path

import numpy
import pytest
from helpers.paths import ROOT

import flambeau.selftest.reference as reference
from flambeau import differences
from flambeau.selftest import pointwise


def loaded(name: str, path: Path, **given) -> types.ModuleType:
    """A file as a module, in which `given` stands for what it imports by that name."""
    module = types.ModuleType(name)
    source = path.read_text("utf-8").replace(
        "import numpy as np\n", "\n" if given else "import numpy as np\n"
    )
    module.__dict__.update(given)
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


small = loaded("small", ROOT / "web" / "selftest" / "arrays.py")
small_reference = loaded("small_reference", Path(reference.__file__), np=small)
rng = numpy.random.default_rng(5)
GIVEN = {
    "x": rng.standard_normal((4, 3, 5)), "y": rng.standard_normal((3, 1)),
    "z": rng.standard_normal((4, 5, 3)),
    "e": numpy.array([[0.0, -0.0, numpy.inf], [-numpy.inf, numpy.nan, 1e308]]), "s": numpy.array(2.5),
    "q": numpy.round(rng.standard_normal((4, 6)) * 2) / 2, "n": numpy.zeros((0, 3)),
    "i": rng.integers(-9, 10, (4, 3, 5)), "j": rng.integers(0, 3, (6,)), "k": rng.integers(0, 4, (4, 2, 5)),
    "u": rng.integers(0, 1 << 32, (7,)).astype("u8"), "b": rng.random((4, 3, 5)) < 0.5,
    "m": rng.random((4, 6)) < 0.5, "w": rng.integers(-128, 128, (3, 4)).astype("i1"),
    "h": rng.integers(-(1 << 31), 1 << 31, (9,)).astype("i4"),
    "c": rng.random((1, 4, 9, 8)), "f": rng.random((6, 2, 3, 3)), "t": rng.random((4, 3, 3, 3)),
}  # fmt: skip
OF_FLOATS = [text for _, text in (*pointwise.OF_FLOATS.values(), *pointwise.OF_SIGNED.values())]
OF_INTS = [text for _, text in (pointwise.OF_INTS | pointwise.OF_SIGNED | pointwise.OF_NUMBERS).values()]
EXPRESSIONS = [
    *(text.format(x="x") for text in OF_FLOATS), *(text.format(x="i") for text in OF_INTS),
    # broadcasting, dtypes, and what is infinite or no number
    "x + y", "x * y - 1", "y / x", "1 / e", "e / 0", "e * 0", "e - e", "np.exp(e)", "np.sqrt(e)",
    "np.log(e)", "np.floor(e)", "np.round(e)", "np.maximum(e, 1)", "np.minimum(1, e)", "e.max()",
    "e.min(1)", "e == e", "np.isfinite(e)", "np.isnan(e)", "np.nan_to_num(e, nan=0.0, posinf=np.inf)",
    "x + i", "i / 3", "i + 0.5", "i < x", "b & (x > 0)", "~b", "~i", "b * 2", "b + b", "-w", "w * w",
    "w + 1", "h * h", "h + h", "u * np.uint64(0xD2511F53)", "u >> 7", "u & 255", "x.astype('f4')",
    "(x * 1e5).astype('f2')", "x.astype('f4') * 3", "h.astype('u1')", "h.astype('i1')",
    "(x * 100).astype('i8')", "(e == 1).astype('f8')", "x.astype(bool)", "w.astype('u4')",
    "np.where(b, x, 1)", "np.where(b, i, x)", "np.where(b, 2, i)", "np.logaddexp(x, y)",
    "np.power(np.abs(x), y)", "i ** 2", "np.mod(x, 0.75)", "x // 0.5", "i % 3", "i // 3", "np.frexp(x)[0]",
    "np.frexp(x)[1]", "np.sign(i)", "np.clip(x, -0.5, 0.5)", "np.trunc(x)", "np.abs(i)", "np.fmod(x, 0.75)",
    # along dims
    "x.sum()", "x.sum(1)", "x.sum((0, 2), keepdims=True)", "x.sum((2, 0))", "i.sum(0)", "b.sum(1)",
    "w.sum()", "b.any(1)", "b.all((0, 1))", "x.mean((1, 2))", "x.var(0, keepdims=True)", "x.var((0, 2))",
    "x.prod(1)", "i.prod(2)", "q.argmax(1)", "q.argmin(0, keepdims=True)",
    "x.max((0, 1), keepdims=True, initial=0)", "n.sum(0)", "n.max(0, initial=0)", "n.sum(1)",
    "np.max(np.abs(e), initial=1.0, where=np.isfinite(e))", "x.cumsum(1)", "i.cumsum(0)", "x.cumprod(2)",
    "b.cumsum(1)", "np.maximum.accumulate(x, 1)", "np.minimum.accumulate(i, 0)",
    "np.logaddexp.accumulate(x, 2)", "np.prod([2, 3])", "np.diff(x, axis=-1)", "np.diff(x, axis=0)",
    "s.sum()", "s.cumsum(0) if s.ndim else s",
    # views and joins
    "x.transpose((2, 0, 1))", "x.transpose(1, 2, 0)", "x.T", "x.swapaxes(-1, -2)", "x.reshape(5, 12)",
    "x.reshape((-1, 4))", "x[1]", "x[:, ::-2]", "x[..., 1:4:2]", "x[:, None, 0]", "x[-1, 2, 3]",
    "x[::-1, ..., -2]", "x[5:1]", "n[:, 1:]", "s[None]", "np.flip(x, 1)", "np.roll(x, -2, 2)",
    "np.tril(x, 1)", "np.triu(x, -1)", "np.repeat(x, 2, 1)", "np.pad(x, [(0, 0), (1, 2), (0, 3)])",
    "np.pad(x, [(0, 0), (1, 0), (2, 0)], constant_values=-1)",
    "np.broadcast_to(np.expand_dims(y, 1), (3, 4, 1))", "np.concatenate([x, z.swapaxes(1, 2), i], 1)",
    "np.stack([y, y], 1)", "np.stack([x, x], -1)", "np.moveaxis(x, 0, -1)", "np.moveaxis(x, 2, 0)",
    "x.sum(1, keepdims=True).squeeze(1)", "np.lib.stride_tricks.sliding_window_view(x, 2, 1)",
    "np.lib.stride_tricks.sliding_window_view(x, (2, 3), axis=(1, 2))",
    # products
    "x @ z", "z @ x", "q @ q.T", "i @ i.swapaxes(-1, -2)", "x[0] @ z[0]", "n @ y", "n.T @ n", "x[:1] @ z",
    "x[0, 0] @ z[0]", "x[0, 0] @ z", "np.einsum('abc,acd->dab', x, z)",
    "np.einsum('bgcp,gfc->bgfp', c.reshape(1, 4, 9, 8), f.reshape(4, 3, 9), optimize=True)",
    # places and orders
    "x[:, j]", "x[..., k[0, 0]]", "x[b]", "q[m]", "q[m][::2]", "x[j[:4], :, k[0, 1, :4]]", "x[k, j[:5]]",
    "np.take(x, j, 1)", "np.take_along_axis(x[:, :2], k, 0)", "np.take(x, range(2), 2)",
    "np.argsort(q, 1, kind='stable')", "np.argsort(x, 0, kind='stable')", "np.argwhere(b)",
    "np.bincount(j, minlength=9)", "np.indices((2, 3))[1]", "np.unravel_index(13, (4, 3, 5))[1]",
    "np.tri(3, 4)", "np.arange(5)", "np.zeros((2, 0))", "np.ones_like(i)", "np.full((2, 3), np.inf)",
    "np.array_equal(x, x * 1)", "np.asarray([[1, 2.5], [0, 3]])", "np.asarray([True, False])",
]  # fmt: skip
OF_REFERENCE = [
    "ref.softmax(x, 1)", "ref.logsumexp(x, (0, 2))", "ref.log_softmax(x, 2)", "ref.layer_norm(x, 2)",
    "ref.rms_norm(x)", "ref.group_norm(x.reshape(1, 12, 5), 3, x.reshape(-1)[:12], z.reshape(-1)[:12])",
    "ref.batch_norm(x, x[0, :, 0], x[1, :, 0])", "ref.cross_entropy(q, j[:4])", "ref.attention(x, x, x)",
    "ref.attention(x, x, z.swapaxes(1, 2), True)", "ref.attention(x, x, x, False, b[..., :3])",
    "ref.attention(x, x, x, False, z[:, :3])", "ref.erf(x)", "ref.gelu(x)",
    "ref.conv(c, f, stride=2, padding=1, dilation=(2, 1), groups=2)",
    "ref.conv(c, f, x.reshape(-1)[:6], groups=2)",
    "ref.conv_transpose(c, t, stride=2, padding=1, output_padding=1, groups=2)", "ref.max_pool(c, 3, 2, 1)",
    "ref.avg_pool(c, (2, 3), 1, 0, 2)", "ref.unfold(x, 2, 3, 2)", "ref.unfold(x, 0, 2, 1)",
    "ref.scatter(q, 1, m.astype('i8') * 2, q)", "ref.scatter(q, 0, k[:, 0], q, 'sum')",
    "ref.scatter(q, 0, k[:, 0], q, 'amax')", "ref.scatter(q, 0, k[:, 0], q, 'prod')",
    "ref.index_add(x, 1, j, np.concatenate([x, x], 1))", "ref.argsort(q, 1, True)", "ref.sort(q, 0, True)",
    "ref.first(ref.sort(x, 1), 1, 2)", "ref.assign(x, np.s_[1:3, ::2,], 1)",
    "ref.Stream(9 << 33).words(11)", "ref.Stream(3).rand(2, 3)", "ref.remainder(x, -0.75)",
    "ref.softplus(x)", "np.rint(x)", "np.rint(x * 2)",
    "np.polyval((0.5, -2.0, 3.0), x)", "np.copysign(x, -x)",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS + OF_REFERENCE)
def test_the_same_as_numpy(text):
    ours = {n: small.frombuffer(a.tobytes(), str(a.dtype)).reshape(a.shape) for n, a in GIVEN.items()}
    with numpy.errstate(all="ignore"):
        want = numpy.asarray(eval(text, {"np": numpy, "ref": reference} | GIVEN))
    got = small.asarray(eval(text, {"np": small, "ref": small_reference} | ours))
    assert (got.shape, got.dtype.name) == (want.shape, want.dtype.name)
    numpy.testing.assert_allclose(got.tolist(), want.tolist(), rtol=1e-12, atol=1e-14)


def test_an_array_over_bytes():
    """It stays bytes while it is only shaped and handed on, and has elements once they are asked for."""
    raw = bytearray(numpy.arange(6, dtype="f4").tobytes())
    x = small.frombuffer(raw, "f4")
    y = small.ascontiguousarray(x.reshape(2, 3).astype("f4", copy=False), dtype="f")
    assert y.raw is not None and (y.shape, y.size, y.tobytes()) == ((2, 3), 6, bytes(raw))
    kept = y.copy()
    y[0, 1] = 9
    assert y.tolist() == [[0, 9, 2], [3, 4, 5]] and y.raw is None
    assert x.tolist() == [0, 1, 2, 3, 4, 5] and raw[4:8] == numpy.float32(1).tobytes()
    raw[:4] = numpy.float32(7).tobytes()
    assert kept.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert small.dtype("float32") is small.float32 and small.dtype("f4").kind == "f"
    with pytest.raises(ValueError, match=r"^7 bytes are no whole number of float32$"):
        small.frombuffer(b"1234567", "f4")
    with pytest.raises(TypeError, match=r"^this page's NumPy has numbers and bools alone, and no object$"):
        small.dtype("object")


def test_differences_in_both():
    source = Path(differences.__file__)
    in_small = loaded("small_differences", source, np=small, __package__="flambeau")
    nan, inf = numpy.nan, numpy.inf
    got, want = [[1.0, nan, inf, 3.0], [2.5, nan, -inf, 0.0]], [[1.0, nan, inf, -inf], [2.0, 1.0, inf, 0.1]]
    bounds = [[0.0, 0.0, 0.0, 1.0], [0.6, 9.0, 9.0, 0.05]]
    wrong = differences.differences(*map(numpy.float64, (got, want, bounds)))
    here = in_small.differences(*(small.asarray(x, "f8") for x in (got, want, bounds)))
    assert wrong is not None and wrong.where.tolist() == [[False] * 3 + [True], [False] + [True] * 3]
    assert here.where.tolist() == wrong.where.tolist() and here[1:] == wrong[1:] and wrong.at == (0, 3)
    whole = differences.within(1e-3, 1e-5, numpy.float64(want)), differences.of_largest(numpy.float64(want))
    for bound, name in zip(whole, ("within", "of_largest"), strict=True):
        arguments = (1e-3, 1e-5) if name == "within" else ()
        mine = getattr(in_small, name)(*arguments, small.asarray(want, "f8"))
        numpy.testing.assert_allclose(mine.tolist(), bound)


def test_functions_that_the_selftest_calls_exist():
    """A page's own NumPy raises for a missing name where it is first called, which ends the page's run."""
    asked = {
        (path.name, node.attr)
        for path in (ROOT / "src" / "flambeau" / "selftest").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np"
    }
    assert len(asked) >= 100
    assert not [name for name in sorted(asked) if not hasattr(small, name[1])]


def test_the_page_imports_what_there_is():
    """A page's Python is compiled by no test that runs without a browser."""
    tree = ast.parse((ROOT / "web" / "selftest" / "page.py").read_text("utf-8"))
    for statement in ast.walk(tree):
        if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("flambeau"):
            for alias in statement.names:
                module = importlib.import_module(str(statement.module))
                name = f"{statement.module}.{alias.name}"
                assert hasattr(module, alias.name) or importlib.util.find_spec(name), name
