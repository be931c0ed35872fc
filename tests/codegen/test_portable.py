"""Every kernel that the rows of the op table and some larger graphs plan is WGSL that a browser takes.

Nothing is computed: a device of paper has the kernels planned and rendered, for software adapters and for
GPUs; Tint, which is Chromium's compiler, then sees each line in the shortest text that has it, under the
portable minimum of limits. Of composed ops, whose kernels are of the same lines, each run takes a share.
"""

import re
from functools import cache

import numpy as np
import pytest
from helpers.compiled import compiled
from helpers.graphs import LARGE, backward, of_views, on_paper
from helpers.inputs import KINDS, SIZED, arrays, declared, has_whole, main_kind, of_dtype, with_kernels
from helpers.paper import PaperDevice
from rows import ROWS

import flambeau as fb
from flambeau import nn
from flambeau.core.limits import SOFTWARE_TURNS, Limits

F = nn.functional
CLASSES = {"software": Limits(software=True, turns=SOFTWARE_TURNS), "gpu": Limits(software=False)}


def forward(row, name, device, dtype):
    given = of_dtype(row, dtype, np.random.default_rng(8))
    to = [dtype if i.kind == main_kind(row) else None for i in row.inputs]
    fb.realize(row.compute(name, *(fb.tensor(a, t, device) for a, t in zip(given, to))))


@cache
def rendered(software: str) -> dict[str, tuple[str, int]]:
    """Every WGSL text that this class of adapters gets, with its kernel's label and number of inputs."""
    device = PaperDevice(CLASSES[software])
    for name in with_kernels(ROWS, first=3):
        row = ROWS[name]
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


NUMBERS = re.compile(r"(?<=[a-z_])\d+(?:_\w+)?\b(?!<)|(?<![\w.])[\d.]+(?:e-?\d+)?[uifh]?\b")


def of_new_lines(texts) -> list[str]:
    """The shortest texts that between them have every line, whatever its numbers."""
    seen, found = set(), []
    for wgsl in sorted(texts, key=len):
        lines = set(NUMBERS.sub("#", wgsl).splitlines())
        if not lines <= seen:
            found.append(wgsl)
            seen |= lines
    return found


@pytest.mark.parametrize("software", CLASSES)
@pytest.mark.share(2)
def test_tint_takes_every_kernel(software):
    shortest: dict[tuple, str] = {}
    shaders = rendered(software)
    for wgsl, (_, inputs) in sorted(shaders.items(), key=lambda item: len(item[0])):
        for part in frame(wgsl, inputs):
            shortest.setdefault(part, wgsl)
    tried = dict.fromkeys((*of_new_lines(shaders), *shortest.values()))
    refused = compiled([(w, *shaders[w]) for w in tried])
    assert not refused, f"{len(refused)} of {len(tried)} kernels:\n" + "\n\n".join(refused[:10])


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


PARAMS = re.compile(r"^// (\S+\.wgsl), .*?^struct Params \{\n(.*?)^\}", re.S | re.M)
# an index over dims that are walked apart may ask for fewer sizes than there are
UNREAD = {
    ("bundle.wgsl", "columns_dim"),
    ("bundle.wgsl", "summed_dim"),
    ("contract/skinny.wgsl", "columns_dim"),
    ("contract/skinny.wgsl", "summed_dim"),
    ("contract/tiles.wgsl", "columns_dim"),
    ("contract/winograd.wgsl", "batch"),
    ("contract/winograd.wgsl", "columns"),
    ("contract/winograd.wgsl", "columns_dim"),
    ("linalg/jacobi_eigh.wgsl", "n"),
    ("reduce/rows.wgsl", "length"),
}


@pytest.mark.parametrize("software", CLASSES)
def test_kernels_read_all_their_params(software):
    unread: dict[tuple[str, str], str] = {}
    for wgsl, (label, _) in rendered(software).items():
        params = PARAMS.search(wgsl)
        names = re.findall(r"(\w+):", params[2]) if params else []
        assert len(set(names)) == len(names), label
        read = set(re.findall(r"\bp\.(\w+)", wgsl))
        template = params[1] if params else ""
        unread |= {(template, n.rstrip("0123456789")): label for n in names if n not in read}
    assert unread.keys() <= UNREAD, {k: unread[k] for k in unread.keys() - UNREAD}


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
    stored = {re.search(r"fn unpack_((?:b?f|i|u)\d+)_", wgsl) for wgsl in rendered("software")}
    assert {m[1] for m in stored if m} == {"f16", "bf16", "i8", "u8"}
    assert set(KINDS) == set("fiub")
