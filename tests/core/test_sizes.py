"""Sizes, dims and places: what has one integer is that integer, in every op; floats and bools are none."""

import inspect

import numpy as np
import pytest
from rows import ROWS

import flambeau as fb
from flambeau import nn
from flambeau.core.op import COMPOSED, OPS

VARIANCES = {"std", "std_mean", "var", "var_mean"}  # whose dim may be `unbiased`
NUMBERS = {
    "alpha",
    "correction",
    "max",
    "min",
    "niter",
    "norm_type",
    "p",
    "value",
}  # may be floats, or any bool
P_IS_ONE = {"mvlgamma"}


class Index:
    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


RIGHT = (np.int64, np.uint8, lambda n: np.array(n), lambda n: fb.tensor(n, device="cpu"), Index)
WRONG = (float, bool, np.float32, np.bool_, str, lambda n: fb.tensor(float(n), device="cpu"))


def changed(value, kind):
    """Each integer of nested tuples and lists as another kind."""
    return kind(value) if type(value) is int else type(value)(changed(v, kind) for v in value)


def is_integers(value):
    if type(value) in (tuple, list):
        return bool(value) and all(map(is_integers, value))
    return type(value) is int


def flat(result):
    if isinstance(result, tuple | list):
        return [x for r in result for x in flat(r)]
    return [result.numpy()] if isinstance(result, fb.Tensor) else [result]


def cases():
    """(op, argument): its value in the op's row, or its default."""
    for name, row in ROWS.items():
        prepare = OPS[name].prepare if name in OPS else COMPOSED[name]
        if name.startswith("_") or prepare is None:
            continue
        signature = inspect.signature(inspect.unwrap(prepare)).parameters
        defaults = {} if row.call else {k: p.default for k, p in signature.items()}
        for argument, value in (defaults | row.attrs).items():
            if is_integers(value) and (argument not in NUMBERS or (argument == "p" and name in P_IS_ONE)):
                yield pytest.param(name, argument, value, id=f"{name}-{argument}")


@pytest.mark.parametrize("name, argument, value", list(cases()))
def test_integers_of_every_kind_are_taken_and_others_refused(name, argument, value):
    row = ROWS[name]
    arrays = [x.make(np.random.default_rng(0)) for x in row.inputs]

    def call(given):
        fb.manual_seed(0)
        f = row.call or OPS.get(name) or COMPOSED[name]
        tensors = [fb.tensor(a, device="cpu") for a in arrays]
        with fb.device("cpu"):
            return flat(f(*tensors, **{**row.attrs, argument: given}))

    want = call(value)
    for kind in RIGHT:
        if kind is np.uint8 and np.min(value) < 0:
            continue
        for got, w in zip(call(changed(value, kind)), want, strict=True):
            np.testing.assert_array_equal(got, w)
    for kind in WRONG:
        if (kind is str and argument == "padding") or (kind is bool and name in VARIANCES):
            continue
        with pytest.raises(TypeError, match=rf"\b{argument} must be an integer"):
            call(changed(value, kind))


X = fb.arange(12.0, device="cpu").reshape(3, 4)
BY_PLACE = {
    "zeros": lambda n: fb.zeros(n, device="cpu"),
    "zeros of two": lambda n: fb.zeros(2, n, device="cpu"),
    "new_ones": lambda n: X.new_ones(n, 2),
    "randn": lambda n: fb.randn(n, n, device="cpu"),
    "randint": lambda n: fb.randint(0, n, (n,), device="cpu"),
    "reshape": lambda n: X.reshape(n, 6),
    "view": lambda n: X.view(6, n),
    "expand": lambda n: X.expand(n, 3, 4),
    "permute": lambda n: X[None].permute(n, 1, 0),
    "repeat": lambda n: X.repeat(1, n),
    "tile": lambda n: X.tile(n),
    "sum_to_size": lambda n: X.expand(n, 3, 4).sum_to_size(1, 3, 4),
    "split": lambda n: X.split(n, 1),
    "sections": lambda n: X.split([n, 2], 1),
    "hsplit": lambda n: X.hsplit(n),
    "as_strided": lambda n: X.as_strided((n, 2), (n, 1), n),
    "narrow_copy": lambda n: X.narrow_copy(1, n, n),
    "polygamma": lambda n: (X + 1).polygamma(n),
    "linspace": lambda n: fb.linspace(0, 1, n, device="cpu"),
    "eye": lambda n: fb.eye(n, n, device="cpu"),
    "Conv1d": lambda n: nn.Conv1d(3, 3, n, n, n)(X[None]).detach() * 0,
    "LayerNorm": lambda n: nn.LayerNorm(n)(X.reshape(6, 2)).detach(),
    "Linear": lambda n: nn.Linear(4, n)(X).detach() * 0,
    "ZeroPad2d": lambda n: nn.ZeroPad2d(n)(X[None]),
}


@pytest.mark.parametrize("name", BY_PLACE)
def test_so_they_are_by_place(name):
    with fb.device("cpu"):
        fb.manual_seed(0)
        want = flat(BY_PLACE[name](2))
        for kind in RIGHT:
            fb.manual_seed(0)
            for got, w in zip(flat(BY_PLACE[name](kind(2))), want, strict=True):
                np.testing.assert_array_equal(got, w)
        for kind in WRONG:
            with pytest.raises((TypeError, ValueError)):
                BY_PLACE[name](kind(2))


def test_several_come_from_arrays(device):
    x = fb.arange(5.0, device=device)
    two = fb.tensor([2, 3], device=device)
    for places in (two, two.numpy(), [fb.tensor(2, device=device), np.int64(3)], range(2, 4)):
        assert [t.tolist() for t in fb.tensor_split(x, places)] == [[0, 1], [2], [3, 4]]
        assert [t.tolist() for t in x.split(places)] == [[0, 1], [2, 3, 4]]
        assert fb.zeros(places, device=device).shape == (2, 3)
    assert [t.tolist() for t in fb.tensor_split(x, fb.tensor([2], device=device))] == [[0, 1], [2, 3, 4]]
    with pytest.raises(TypeError, match="indices_or_sections must be an integer, not 2.5"):
        fb.tensor_split(x, fb.tensor([2.5], device=device))


def test_they_are_as_torch_takes_them(torch):
    """What PyTorch takes, we take, and give the same."""
    for name, call in (("narrow", lambda m, x, n: x.narrow(1, n, n)), ("topk", lambda m, x, n: x.topk(n)[0])):
        ours, theirs = X, torch.arange(12.0).reshape(3, 4)
        for kind in (int, np.int64, Index, None):
            n, m = (kind(2), kind(2)) if kind else (fb.tensor(2, device="cpu"), torch.tensor(2))
            got, want = call(fb, ours, n), call(torch, theirs, m)
            assert np.array_equal(got.numpy(), want.numpy()), name
        for kind in (float, bool, str):
            for call_one in (lambda: call(fb, ours, kind(1)), lambda: call(torch, theirs, kind(1))):  # noqa: B023
                with pytest.raises(TypeError):
                    call_one()
