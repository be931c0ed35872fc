"""Attention on matrix units: masks, groups, lengths, growing scores and gradients, against the formula.

Where an adapter has units, these tests use them (an NVIDIA GPU through Dawn); elsewhere the same kernel runs
with the units' work in plain WGSL, and Tint is asked about the text for real ones.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.compare import values
from helpers.draws import in_turn
from helpers.kernels import planned_for
from helpers.paper import PaperDevice
from rows.attention import attention

import flambeau as fb
from flambeau.core import choose
from flambeau.core.limits import Limits, Unit
from flambeau.nn.functional import scaled_dot_product_attention as sdpa

PLAIN, REAL = Unit("plain", 16, 16, 16, 32), Unit("subgroup", 16, 16, 16, 32)
RNG = np.random.default_rng(0)
KEEP = RNG.random((70, 75)) > 0.4
KEEP[2] = False  # a row without any key
LOW = RNG.normal(size=(70, 75)).astype("f4")
LOW[1], LOW[2], LOW[3], LOW[4:9, :70], LOW[5, 70:] = -3.4028235e38, -np.inf, -1e9, -np.inf, -3.4028235e38
GROWING = np.linspace(-60, 60, 75, dtype="f4")[None] * np.linspace(-1, 1, 70, dtype="f4")[:, None]
CASES = {  # lengths, keys, features of keys and values, mask, options
    "plain": (128, 64, 64, 64, None, {}),
    "tails": (70, 75, 32, 32, None, {}),
    "causal": (150, 150, 32, 64, None, {"is_causal": True}),
    "causal from a place on": (40, 75, 32, 32, None, {"is_causal": True, "start": 35}),
    "a place for each row": (40, 75, 32, 32, None, {"is_causal": True, "start": (35, 4)}),
    "bool mask": (70, 75, 64, 32, KEEP, {}),
    "additive mask, softcap": (70, 75, 32, 32, RNG.normal(size=(4, 70, 75)).astype("f4"), {"softcap": 2.0}),
    "lowest mask": (70, 75, 32, 32, LOW, {}),
    "growing scores": (70, 75, 32, 32, GROWING, {}),
    "large scores": (70, 75, 32, 32, None, {"scale": 40.0}),
    "short causal": (70, 70, 32, 32, None, {"is_causal": True}),
    "no scale": (33, 16, 32, 32, None, {"scale": -1.0}),
}


@pytest.fixture
def forced(monkeypatch):
    """Matrix units whatever was tuned, also for gradients of wide rows."""
    monkeypatch.setattr(choose, "forced", lambda: {"attention": "units"})


@pytest.fixture
def units(gpu, forced):
    """The GPU with matrix units, its own or plain ones."""
    found = [u for u in gpu.limits.matrix if u[1:] == REAL[1:]]
    memory = {} if found else {"workgroup_memory": 32768}
    with planned_for(gpu, False, matrix=tuple(found) or (PLAIN,), **memory):
        yield gpu


def made(case, rng):
    n, m, d, e, mask, options = CASES[case]
    arrays = [rng.normal(size=s).astype("f2") for s in ((2, 4, n, d), (2, 2, m, d), (2, 2, m, e))]
    return arrays, mask, options | {"enable_gqa": True}


def expected(arrays, mask, start=None, **options):
    n, m = arrays[0].shape[-2], arrays[1].shape[-2]
    if start is not None:
        places = np.reshape(start, (-1, 1, 1, 1))
        mask, options = np.arange(m) <= np.arange(n)[:, None] + places, options | {"is_causal": False}
    return attention(*(a.astype("f8") for a in arrays), mask, **options)


@pytest.mark.parametrize("case", in_turn(CASES, 4))
@pytest.mark.share(5)
def test_against_the_formula(case, units):
    arrays, mask, options = made(case, np.random.default_rng(1))
    given = None if mask is None else fb.tensor(mask, device=units)
    want = expected(arrays, mask, **options)
    if isinstance(start := options.get("start"), tuple):
        options["start"] = fb.tensor(start, device=units)
    y = sdpa(*(fb.tensor(a, device=units) for a in arrays), attn_mask=given, **options)
    assert [k.shader.template for k in y.plan()][
        -1
    ] == "attention/subgroup_matrix.wgsl" and y.dtype is fb.float16
    error = np.linalg.norm(y.numpy().astype("f8") - want) / np.linalg.norm(want)
    assert error < 6e-4, f"{case}: {error:.1e}"


@pytest.mark.parametrize("case", in_turn(["additive mask, softcap", "short causal", "lowest mask"], 3))
@pytest.mark.share(4)
def test_gradients_are_made_on_units(case, units):
    """Against the same by Tensor ops in float32, of a loss whose slopes have few digits in float16."""
    arrays, mask, options = made(case, np.random.default_rng(2))
    given = None if mask is None else fb.tensor(mask, device=units)
    xs = [fb.tensor(a, device=units).requires_grad_() for a in arrays]

    def loss():
        return sdpa(*xs, attn_mask=given, **options).float().square().sum() * 1e-3

    found = loss().backward()
    templates = {k.shader.template for x in xs for k in found[x].plan()}
    assert "attention/grad_subgroup_matrix.wgsl" in templates and not {t for t in templates if "tiles" in t}
    slow = loss().backward(create_graph=True)
    ours = values(*(found[x].float() for x in xs))
    with planned_for(units, software=True):  # whose kernels are small, and others than those that are tested
        theirs = values(*(slow[x].float() for x in xs))
    for got, want in zip(ours, theirs, strict=True):
        assert np.linalg.norm(got - want) < 3e-3 * np.linalg.norm(want)


ODD = [(48, fb.float16), (160, fb.float16), (64, fb.bfloat16), (64, fb.float32)]


@pytest.mark.parametrize("d,dtype", ODD)
def test_what_does_not_fit_goes_to_tiles(d, dtype):
    device = PaperDevice(Limits(matrix=(REAL,)))
    q = fb.zeros(2, 64, d, device=device).to(dtype).realize()
    assert {k.shader.template for k in sdpa(q, q, q).plan()} == {"attention/tiles.wgsl"}


@pytest.mark.parametrize(
    "d,made", [(64, "attention/grad_subgroup_matrix.wgsl"), (128, "attention/grad_kv_tiles.wgsl")]
)
def test_gradients_take_units_for_rows_of_up_to_64_features(d, made):
    device = PaperDevice(Limits(matrix=(REAL,), workgroup_memory=49152))
    x = fb.zeros(2, 64, d, device=device).half().realize().requires_grad_()
    found = sdpa(x, x, x).float().sum().backward()
    assert made in {k.shader.template for k in found[x].plan()}


TINT = """
import json, sys, wgpudawn
from wgpudawn.backends.dawn import extras
extras.set_instance_extras(
    enable_toggles=["allow_unsafe_apis", "expose_wgsl_experimental_features"])
adapter = wgpudawn.gpu.request_adapter_sync()
features = ["chromium-experimental-subgroup-matrix", "shader-f16", "subgroups"]
device = extras.request_device_sync(adapter, required_features=features)
for text in json.load(sys.stdin):
    device.create_shader_module(code=text)
"""


def on_paper(device, case, slopes=False):
    """The templates of a case, or of its gradients, which are compiled for a device of paper."""
    n, m, d, e, mask, options = CASES[case]
    lead = (2,)
    if isinstance(start := options.get("start"), tuple):
        lead, options = (2, 1), options | {"start": fb.tensor(start, device=device)}
    xs = [
        fb.zeros(*lead, *s, device=device).half().realize().requires_grad_() for s in ((n, d), (m, d), (m, e))
    ]
    given = None if mask is None else fb.tensor(mask if mask.ndim == 2 else mask[:2], device=device)
    y = sdpa(*xs, attn_mask=given, **options)
    found = y.float().sum().backward() if slopes else {}
    made = [found[x] for x in xs] if slopes else [y]
    templates = {k.shader.template for t in made for k in t.plan()}
    fb.realize(*made)
    return templates


def check_with_tint(device):
    """Dawn's adapter that computes nothing has every feature: Tint then checks what only a GPU can run."""
    texts = [t for t in device.shaders if "subgroupMatrix" in t]
    env = os.environ | {"WGPU_BACKEND_TYPE": "Null"}
    call = [sys.executable, "-c", TINT]
    done = subprocess.run(call, input=json.dumps(texts), capture_output=True, text=True, env=env)
    assert texts and not done.returncode, done.stderr[-3000:]


def test_tint_takes_it_for_real_units():
    device = PaperDevice(Limits(matrix=(REAL,)))
    assert all("attention/subgroup_matrix.wgsl" in on_paper(device, case) for case in CASES)
    check_with_tint(device)


def test_tint_takes_gradients_for_real_units(forced):
    device = PaperDevice(Limits(matrix=(REAL,), workgroup_memory=49152))
    plain = [case for case, sizes in CASES.items() if "start" not in sizes[-1]]
    assert all("attention/grad_subgroup_matrix.wgsl" in on_paper(device, case, slopes=True) for case in plain)
    check_with_tint(device)
