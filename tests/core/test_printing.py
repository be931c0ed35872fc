"""Turns values into PyTorch's text: one format a tensor, exponents where sizes differ, rows cut short."""

import random
import re

import numpy as np
import pytest

import flambeau as fb
from flambeau.core.printing import PRINTING, count_text

SHAPES = ((), (0,), (2, 0), (3,), (50,), (1100,), (7, 3), (1, 50), (40, 40), (2, 3, 5), (9, 9, 40), (2, 1, 3))
SCALES = (1.0, 1.0, 10.0, 1e4, 1e9, 1e-6)
OPTIONS = ({}, {}, {"precision": 2}, {"edgeitems": 1, "threshold": 5}, {"linewidth": 40}, {"sci_mode": True},
           {"sci_mode": False}, {"profile": "short"}, {"profile": "full"})  # fmt: skip
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0)


def drawn(rng: random.Random) -> np.ndarray:
    values = np.random.default_rng(rng.randrange(10**6)).standard_normal(rng.choice(SHAPES))
    values = np.asarray(values * rng.choice(SCALES))
    values = np.round(values) if rng.random() < 0.3 else values
    if values.size and rng.random() < 0.3:
        values.reshape(-1)[0] = rng.choice(SPECIAL)
    kind = rng.choice(("f4", "f4", "f2", "?", "u1"))
    return np.abs(np.nan_to_num(values) % 256).astype(kind) if kind == "u1" else values.astype(kind)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_drawn_tensors_print_as_torchs(torch):
    rng = random.Random(7)
    for _ in range(200):
        values, options = drawn(rng), rng.choice(OPTIONS)
        with torch._tensor_str.printoptions(**options), fb.printoptions(**options):
            theirs = repr(torch.tensor(values)).replace("torch.", "flambeau.")
            ours = repr(fb.tensor(values, device=fb.tensor(0).device))
        assert "".join(ours.split()) == "".join(theirs.split())  # "flambeau" breaks lines sooner than "torch"
        if "dtype" not in theirs:
            assert ours == theirs


def test_fixed_ones(device):
    default = fb.tensor(0).device
    told = "" if device is default else f", device={device.name!r}"
    for values, text in (
        ([[1.0, 2.0], [3.0, 4.5]], "[[1.0000, 2.0000],\n        [3.0000, 4.5000]]"),
        ([1.0, 2.0, -3.0], "[ 1.,  2., -3.]"),
        ([1e-8, 1.0], "[1.0000e-08, 1.0000e+00]"),
        ([1.5, float("nan"), float("-inf")], "[1.5000,    nan,   -inf]"),
        ([True, False], "[ True, False]"),
        (3.75, "3.7500"),
        (list(range(2000)), "[   0,    1,    2,  ..., 1997, 1998, 1999]"),
    ):
        assert repr(fb.tensor(values, device=device)).removesuffix(")") == f"tensor({text}{told}"
    half = fb.ones(1, dtype=fb.float16, device=default)
    assert repr(half) == "tensor([1.], dtype=flambeau.float16)"
    assert repr(fb.zeros(2, 0, device=default)) == "tensor([], size=(2, 0))"
    assert repr(fb.ones(1, requires_grad=True, device=default)) == "tensor([1.], requires_grad=True)"


def test_options_are_taken_and_given_back():
    before = dict(PRINTING)
    with fb.printoptions(precision=2, sci_mode=False):
        assert fb.get_printoptions() == before | {"precision": 2, "sci_mode": False}
        assert repr(fb.tensor([1e-7, 0.126])) == "tensor([0.00, 0.13])"
    assert before == PRINTING == fb.get_printoptions()
    with pytest.raises(ValueError) as told, fb.printoptions(profile="wide"):
        pass
    assert str(told.value) == "set_printoptions(profile='wide'): unknown: use one of default, short, full"
    assert before == PRINTING


def cells(html):
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_notebook_shows_a_table():
    x = fb.tensor([[1.0, 2.5], [-3.0, 4.0]], device="cpu", requires_grad=True)
    html = x._repr_html_()
    assert "<caption>float32 [2, 2] on cpu, requires_grad</caption>" in html
    assert cells(html) == [["1.0000", "2.5000"], ["-3.0000", "4.0000"]]
    assert cells(fb.tensor([True, False], device="cpu")._repr_html_()) == [["True", "False"]]
    assert cells(fb.tensor([1 - 2j], device="cpu")._repr_html_()) == [["1.-2.j"]]
    wide = cells(fb.arange(40, device="cpu").reshape(2, 20)._repr_html_())
    assert wide[1] == ["20", "21", "22", "23", "24", "…", "35", "36", "37", "38", "39"]
    long = cells(fb.arange(24, device="cpu").reshape(12, 2)._repr_html_())
    assert len(long) == 11 and long[5] == ["…", "…"] and long[10] == ["22", "23"]


def test_a_notebook_shows_text_of_other_ranks():
    assert fb.tensor(2.0, device="cpu")._repr_html_() == "<pre>float32 [] on cpu\ntensor(2.)</pre>"
    assert fb.zeros(2, 0, device="cpu")._repr_html_() == (
        "<pre>float32 [2, 0] on cpu\ntensor([], size=(2, 0))</pre>"
    )
    assert fb.zeros(1, 1, 2, device="cpu")._repr_html_() == (
        "<pre>float32 [1, 1, 2] on cpu\ntensor([[[0., 0.]]])</pre>"
    )


def test_a_notebook_shows_the_text_of_what_is_recorded(gpu):
    seen = []
    fb.jit(lambda x: seen.append(x._repr_html_()) or x)(fb.ones(1, device=gpu))
    assert seen == [None]


def test_modules_and_gradients_in_html():
    layer = fb.nn.Linear(2, 1, bias=False, device="cpu")
    html = layer._repr_html_()
    assert html == (
        "<pre>Linear(in_features=2, out_features=1, bias=False)</pre>"
        "<table><caption>2 parameters in 1 tensors</caption>"
        "<tr><th>parameter</th><th>dtype</th><th>shape</th><th>requires_grad</th></tr>"
        "<tr><td>weight</td><td>float32</td><td>[1, 2]</td><td>True</td></tr></table>"
    )
    grads = layer(fb.ones(1, 2, device="cpu")).sum().backward()
    assert grads._repr_html_() == (
        "<table><caption>1 gradients: grads[p], grads[model]</caption>"
        "<tr><th>dtype</th><th>shape</th><th>device</th></tr>"
        "<tr><td>float32</td><td>[1, 2]</td><td>cpu</td></tr></table>"
    )


def test_things_are_counted():
    assert [count_text(n, "kernel") for n in (0, 1, 1200)] == ["0 kernels", "1 kernel", "1,200 kernels"]
    assert [count_text(n, "dispatch", "dispatches") for n in (1, 2)] == ["1 dispatch", "2 dispatches"]
