"""Every kernel that the rows of the op table and some larger graphs plan is WGSL that a browser takes.

Nothing is computed: a device of paper has the kernels planned and rendered, for software adapters and for
GPUs; Tint, which is Chromium's compiler, then sees each text once, under the portable minimum of limits.
"""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import tint
from paper import PaperDevice
from rows import ROWS
from test_ops import KINDS, SIZED, arrays, declared, has_whole, main_kind, mixed, of_dtype

import flambeau as fb
from flambeau import nn
from flambeau.core.limits import SOFTWARE_TURNS, Limits
from flambeau.device import told

F = nn.functional
CLASSES = {"software": Limits(software=True, turns=SOFTWARE_TURNS), "gpu": Limits(software=False)}


def on_paper(device, *shape, kind="f"):
    return fb.tensor(np.zeros(shape, {"f": "f4", "i": "i4", "b": "?"}[kind]), device=device)


def forward(row, name, device, dtype):
    given = of_dtype(row, dtype, np.random.default_rng(8))
    to = [dtype if i.kind == main_kind(row) else None for i in row.inputs]
    fb.realize(row.compute(name, *(fb.tensor(a, t, device) for a, t in zip(given, to))))


def backward(row, name, device):
    """The value, its gradients and those of their squares, as often as the row can be differentiated."""
    xs = [fb.tensor(a, device=device) for a in arrays(row, np.random.default_rng(8))]
    xs = [x.requires_grad_() if x.dtype is fb.float32 else x for x in xs]
    made, loss = [row.compute(name, *xs)], row.compute(name, *xs).sum()
    for order in range(row.grads):
        if not loss.requires_grad:
            break
        found = loss.backward(create_graph=order + 1 < row.grads)
        grads = [found[x] for x in xs if x in found]
        made += grads
        loss = sum(((g * g).sum() for g in grads), on_paper(device))
    fb.realize(*made)


def of_views(row, name, device):
    given = arrays(row, np.random.default_rng(8))
    if all(a.ndim for a in given):
        fb.realize(row.compute(name, *(mixed(a, device) for a in given)))


def of_few_rows_and_wide_heads(t):
    made = [
        F.scaled_dot_product_attention(
            t(2, n, d), t(2, 300, d), t(2, 300, d), is_causal=True, start=t(1).int()
        )
        for d, n in ((16, 1), (128, 3), (128, 300), (256, 300))
    ]
    q, k, v = (t(1, 70, 256).requires_grad_() for _ in range(3))
    found = F.scaled_dot_product_attention(q, k, v, softcap=2.0).sum().backward()
    return [*made, *(found[x] for x in (q, k, v))]


LARGE = {  # what rows are too small for: several passes, long rows, wide tiles
    "sums": lambda t: [t(3, 100000).sum(1), t(100000, 3).sum(0), t(700, 700).amax(0), t(4099).prod()],
    "contractions": lambda t: [
        t(256, 512) @ t(512, 256), t(8, 90000) @ t(90000, 8), F.gelu(t(300, 70).T @ t(300, 90) + t(90)),
        F.conv2d(t(8, 32, 28, 28), t(64, 32, 3, 3), t(64), padding=1).relu(),
    ],
    "scans": lambda t: [
        f(t(*shape), dim)
        for f in (fb.cumsum, fb.cumprod, fb.logcumsumexp)
        for shape, dim in (((3, 100000), 1), ((100000, 3), 0), ((5000, 40), 1))
    ],
    "extremes so far": lambda t: [*t(3, 100000).cummax(1), *t(100000, 3, kind="i").cummin(0)],
    "sorts": lambda t: [
        x.argsort(dim, descending=d)
        for x, dim in ((t(3, 100000), 1), (t(100000, 3, kind="i"), 0), (t(99, 1500), 1))
        for d in (False, True)
    ],
    "scatters": lambda t: [
        t(500, 8).index_add(0, t(90000, kind="i"), t(90000, 8)),
        t(90000).scatter_reduce(0, t(90000, kind="i"), t(90000), "amax"),
        F.embedding(t(90000, kind="i"), t(500, 8).requires_grad_()).sum(0),
    ],
    "attention": lambda t: [
        F.scaled_dot_product_attention(t(2, 4, 300, 64), t(2, 4, 300, 64), t(2, 4, 300, 32), **options)
        for options in ({}, {"is_causal": True}, *({"attn_mask": t(300, 300, kind=k)} for k in "fb"))
    ]
    + of_few_rows_and_wide_heads(t),
    "transforms": lambda t: [fb.fft.rfft(t(3, n)) for n in (60, 127, 4096, 20000)],
    "factors": lambda t: [
        fb.linalg.det(t(3, 200, 200)), fb.linalg.svdvals(t(150, 150)), fb.linalg.eigvalsh(t(150, 150)),
        fb.linalg.cholesky(t(200, 200)), *fb.linalg.qr(t(300, 100)),
    ],
    "counts": lambda t: [fb.histc(t(100000), 300), t(100000, kind="i").bincount(length=50)],
}  # fmt: skip


@cache
def rendered(software: str) -> dict[str, tuple[str, int]]:
    """Every WGSL text that this class of adapters gets, with its kernel's label and number of inputs."""
    device = PaperDevice(CLASSES[software])
    for name, row in ROWS.items():
        for dtype in (d for kind in declared(name) for d in SIZED[kind] if d.is_float or has_whole(row)):
            forward(row, name, device, dtype)
        for kind in row.kinds:
            fb.realize(row.compute(name, *(fb.tensor(a, device=device) for a in arrays_of(row, kind))))
        backward(row, name, device)
        of_views(row, name, device)
    for make in LARGE.values():
        fb.realize(*make(lambda *shape, **kw: on_paper(device, *shape, **kw)))
    return device.shaders


def arrays_of(row, kind):
    return arrays(row, np.random.default_rng(2), kind=kind)


def frame(wgsl: str, inputs: int) -> list[tuple]:
    """What a pipeline adds to its shader's check: how many buffers; the workgroup and its memory."""
    lines = [s for s in wgsl.splitlines() if s.startswith(("@compute", "var<workgroup>"))]
    return [(inputs,), tuple(lines)]


def compiled(shaders: list[tuple[str, str, int | None]]) -> list[str]:
    """What Tint refuses of (WGSL, label, inputs or None): label, Tint's line, and the text about it."""
    icd = tint.driver_file()
    if not icd:
        pytest.skip(f"no Tint: there is no {tint.FILE} beside a Chromium, or no Chromium")
    env = os.environ | {"VK_DRIVER_FILES": icd, "VK_ICD_FILENAMES": icd}
    call = [sys.executable, str(Path(tint.__file__))]
    done = subprocess.run(call, input=json.dumps(shaders), capture_output=True, text=True, env=env)
    assert not done.returncode, f"Tint could not be asked: {done.stderr[-2000:]}"
    return [
        f"{shaders[int(i)][1]}: {told(message, shaders[int(i)][0])}"
        for i, message in json.loads(done.stdout).items()
    ]


@pytest.mark.parametrize("software", CLASSES)
def test_tint_takes_every_kernel(software):
    shortest: dict[tuple, str] = {}
    shaders = rendered(software)
    for wgsl, (_, inputs) in sorted(shaders.items(), key=lambda item: len(item[0])):
        for part in frame(wgsl, inputs):
            shortest.setdefault(part, wgsl)
    whole = set(shortest.values())  # a pipeline takes 40 ms, a shader half of one: a few are made whole
    refused = compiled([(w, label, n if w in whole else None) for w, (label, n) in shaders.items()])
    assert not refused, f"{len(refused)} of {len(shaders)} kernels:\n" + "\n\n".join(refused[:10])


SIZES = {"f32": 4, "u32": 4, "i32": 4, "bool": 4, "atomic<u32>": 4, "vec2": 8, "vec3": 16, "vec4": 16}
SHARED = re.compile(r"var<workgroup> \w+: (?:(?:array<)?array<([\w<>]+), (\d+)>(?:, (\d+)>)?|(\w+));")


def shared_bytes(wgsl: str) -> int:
    """Workgroup memory of a shader: each variable at a multiple of 16 bytes."""
    total = 0
    for element, count, rows, alone in SHARED.findall(wgsl):
        kind = element or alone
        size = SIZES.get(kind, SIZES.get(kind.split("<")[0], 0)) * int(count or 1) * int(rows or 1)
        total += -(-size // 16) * 16
    return total


@pytest.mark.parametrize("software", CLASSES)
def test_kernels_keep_to_the_portable_minimum(software):
    for wgsl, (label, _) in rendered(software).items():
        declared_ = wgsl.count("var<workgroup>")
        assert declared_ == len(SHARED.findall(wgsl)), (
            f"{label}: a form of var<workgroup> that is not counted"
        )
        assert shared_bytes(wgsl) <= 16384, f"{label}: {shared_bytes(wgsl)} bytes of workgroup memory"
        assert wgsl.count("var<storage") <= 8, f"{label}: {wgsl.count('var<storage')} storage buffers"
        size = re.search(r"@workgroup_size\(([\d, ]+)\)", wgsl)
        assert size and np.prod([int(n) for n in size[1].split(",")]) <= 256, f"{label}: {size and size[1]}"


BARRIER = """@group(0) @binding(0) var<uniform> p: u32;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
@compute @workgroup_size({size}) fn main(@builtin(local_invocation_id) lid: vec3<u32>) {{
  if (lid.x {than} p) {{ return; }}
  {statement}
  out[lid.x] = p;
}}"""


def test_tint_says_what_is_wrong():
    """A barrier that not all threads reach, which naga takes; a workgroup that only a pipeline refuses."""
    good = BARRIER.format(size=64, than=">", statement="")
    uneven = BARRIER.format(size=64, than=">", statement="workgroupBarrier();")
    large = BARRIER.format(size=512, than=">", statement="")
    refused = compiled([(good, "good", 0), (uneven, "uneven", None), (large, "large", 0)])
    assert [text.split(":")[0] for text in refused] == ["uneven", "large"]
    assert "'workgroupBarrier' must only be called from uniform control flow" in refused[0]
    assert "     5   workgroupBarrier();" in refused[0]


def test_all_kinds_are_rendered():
    stored = {re.search(r"fn unpack_(\w+?)_", wgsl) for wgsl in rendered("software")}
    assert {m[1] for m in stored if m} == {"f16", "bf16", "i8", "u8"}
    assert set(KINDS) == set("fiub")
