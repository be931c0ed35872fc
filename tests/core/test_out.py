"""Turns `out=` into values written where they are wanted, or into what does not fit."""

import inspect
import re

import pytest

import flambeau as fb

X, Y = [[1.0, 2.0, -3.0], [4.0, -0.5, 0.25]], [[2.0, 1.0, 5.0], [0.5, -1.5, 2.25]]
CALLS = (  # one of each way in which functions are declared
    lambda m, x, y, **kw: m.add(x, y, **kw),
    lambda m, x, y, **kw: m.mul(x, 2, **kw),
    lambda m, x, y, **kw: m.exp(x, **kw),
    lambda m, x, y, **kw: m.clamp(x, 0, 1, **kw),
    lambda m, x, y, **kw: m.matmul(x, y.T, **kw),
    lambda m, x, y, **kw: m.bmm(x[None], y.T[None], **kw),
    lambda m, x, y, **kw: m.cat([x, y], **kw),
    lambda m, x, y, **kw: m.stack([x, y], dim=1, **kw),
    lambda m, x, y, **kw: m.sum(x, 0, **kw),
    lambda m, x, y, **kw: m.argmax(x, 0, **kw),
    lambda m, x, y, **kw: m.logsumexp(x, 0, **kw),
    lambda m, x, y, **kw: m.where(x > 0, x, y, **kw),
    lambda m, x, y, **kw: m.eq(x, y, **kw),
    lambda m, x, y, **kw: m.arange(5, **kw),
    lambda m, x, y, **kw: m.zeros(2, 3, **kw),
    lambda m, x, y, **kw: m.linalg.norm(x, **kw),
    lambda m, x, y, **kw: m.special.expit(x, **kw),
    lambda m, x, y, **kw: m.max(x, 1, **kw),
    lambda m, x, y, **kw: m.sort(x, 1, **kw),
)


def numbers(made) -> list:
    return [part.tolist() for part in made] if isinstance(made, tuple) else made.tolist()


def with_out(call, m, x, y):
    """What a call gives without out, and what is in `out` after it; it returns what was given."""
    want = call(m, x, y)
    several = isinstance(want, tuple)
    outs = [m.zeros_like(part) for part in (want if several else (want,))]
    given = call(m, x, y, out=tuple(outs) if several else outs[0])
    assert all(a is b for a, b in zip(given if several else [given], outs, strict=True))
    return numbers(want), numbers(tuple(outs) if several else outs[0])


@pytest.mark.parametrize("place", ["cpu", "gpu"])
def test_results_are_written(place, request):
    device = request.getfixturevalue("gpu") if place == "gpu" else place
    x, y = fb.tensor(X, device=device), fb.tensor(Y, device=device)
    for call in CALLS if place == "cpu" else CALLS[:5]:
        with fb.device(device):
            want, found = with_out(call, fb, x, y)
        assert found == want


def test_results_are_torchs(torch):
    x, y = (fb.tensor(v, device="cpu") for v in (X, Y))
    with fb.device("cpu"):
        for call in CALLS:
            _, ours = with_out(call, fb, x, y)
            _, theirs = with_out(call, torch, torch.tensor(X), torch.tensor(Y))
            assert ours == theirs or fb.allclose(fb.tensor(ours), fb.tensor(theirs), atol=1e-5)


def test_every_function_of_torch_with_out_takes_it(torch):
    """By its documentation: ours have it in no signature, and take it where they are declared."""
    docs = {n: getattr(torch, n).__doc__ for n in dir(torch) if isinstance(getattr(torch, n).__doc__, str)}
    names = [n for n, text in docs.items() if re.search(r"^\s*\w+\(.*out=None", text, re.M)]
    ours = [n for n in names if n in fb.__all__]
    assert len(ours) > 150
    plain = [n for n in ours if inspect.isfunction(f := getattr(fb, n)) and not hasattr(f, "__wrapped__")]
    assert plain == ["narrow_copy", "where"]
    assert all("out" in inspect.signature(getattr(fb, n)).parameters for n in plain)


def test_views_and_casts():
    x, both = fb.tensor(X, device="cpu"), fb.zeros(2, 3, 2, device="cpu")
    fb.mul(x, 2, out=both[..., 1])
    assert both.tolist() == [[[0.0, 2 * v] for v in row] for row in X]
    half = fb.zeros(2, 3, dtype=fb.float16, device="cpu")
    assert fb.add(x, 1, out=half) is half and half.tolist() == [[v + 1 for v in row] for row in X]
    w = fb.tensor(X, requires_grad=True, device="cpu")
    with fb.no_grad():
        assert fb.neg(x, out=w) is w and w.requires_grad and w[0, 2].item() == 3


@pytest.mark.parametrize(
    "call, error, text",
    [
        (
            lambda x: fb.exp(x, out=fb.zeros(2, 3, dtype=fb.int32, device="cpu")),
            TypeError,
            "exp(f32[2, 3], out=i32[2, 3]): out is i32, and the result f32: pass a tensor of"
            " float32, or do not pass out=",
        ),
        (
            lambda x: fb.exp(x, out=fb.zeros(3, device="cpu")),
            ValueError,
            "exp(f32[2, 3], out=f32[3]): out has shape [3], and the result [2, 3]: pass"
            " fb.empty([2, 3]), or do not pass out=",
        ),
        (
            lambda x: fb.exp(x, out=3),
            TypeError,
            "exp(f32[2, 3], out=3): out=3 is not a tensor: pass one of the result's shape",
        ),
        (
            lambda x: fb.max(x, 1, out=fb.zeros(2, device="cpu")),
            TypeError,
            "max(f32[2, 3], 1, out=f32[2]): out: the op has 2 results: pass as many tensors",
        ),
        (
            lambda x: fb.exp(x.clone().requires_grad_(), out=x),
            ValueError,
            "exp(f32[2, 3], out=f32[2, 3]): no gradients flow into out: write inside no_grad,"
            " or do not pass out=",
        ),
    ],
)
def test_what_is_refused(call, error, text):
    x = fb.tensor(X, device="cpu")
    with pytest.raises(error) as told:
        call(x)
    assert str(told.value) == text and x.tolist() == X


def test_devices_that_differ(gpu):
    with pytest.raises(ValueError) as told:
        fb.exp(fb.tensor(X, device="cpu"), out=fb.zeros(2, 3, device=gpu))
    told_of = "exp(f32[2, 3], out=f32[2, 3]): devices differ"
    assert str(told.value) == f"{told_of}: the result is on cpu, out on {gpu.name}"
