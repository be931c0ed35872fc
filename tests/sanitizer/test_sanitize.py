"""Kernels that do nothing wrong raise no alarm; what can't be watched is said in words; reports."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from helpers import faulty
from helpers.kernels import planned_for

import flambeau as fb
from flambeau import nn, optim
from flambeau.errors import FlambeauError, KernelError
from flambeau.sanitizer.memory import MemoryProbes

AT = "let i = group * 64u + lid.x;\n"
CLEAN = {  # shared memory and text of kernels that are right
    "both_halves": (
        "var<workgroup> box: array<f32, 128>;",
        f"{AT}box[lid.x] = in0[i];\nbox[lid.x + 64u] = 1.0;\nworkgroupBarrier();\n"
        "for (var s = 64u; s > 0u; s /= 2u) {\nlet y = box[lid.x + s];\nworkgroupBarrier();\n"
        "box[lid.x] += y;\nworkgroupBarrier();\n}\nout[i] = box[lid.x];",
    ),
    "components": (
        "struct Pair { a: f32, b: u32, }\nvar<workgroup> fours: array<vec4<f32>, 16>;\n"
        "var<workgroup> pairs: array<Pair, 64>;",
        f"{AT}fours[lid.x / 4u][lid.x % 4u] = in0[i];\npairs[lid.x].a = in0[i];\npairs[lid.x].b = lid.x;\n"
        "workgroupBarrier();\nout[i] = fours[15u - lid.x / 4u].w + pairs[63u - lid.x].a;",
    ),
    "two_dims_and_atomics": (
        "var<workgroup> grid: array<array<f32, 9>, 8>;\nvar<workgroup> count: atomic<u32>;\n"
        "var<workgroup> counts: array<atomic<u32>, 4>;",
        f"{AT}grid[lid.x / 8u][lid.x % 8u] = in0[i];\natomicAdd(&count, 1u);\n"
        "atomicAdd(&counts[lid.x % 4u], 1u);\n"
        "workgroupBarrier();\nout[i] = grid[lid.x % 8u][lid.x / 8u] + f32(atomicLoad(&counts[1]));",
    ),
    "one_writes_for_all": (
        "var<workgroup> first: f32;\nvar<workgroup> going: u32;",
        f"{AT}if (lid.x == 0u) {{\nfirst = in0[i];\ngoing = 3u;\n}}\nworkgroupBarrier();\n"
        "var y = first;\nfor (var k = 0u; k < workgroupUniformLoad(&going); k++) {\ny += 1.0;\n}\n"
        "if (lid.x == 0u) {\ngoing = 1u;\n}\nif (i >= p.size) {\nreturn;\n}\nout[i] = y;",
    ),
    "blanks_that_are_left_out": (  # read beyond the last element, and not used
        "var<workgroup> box: array<f32, 64>;",
        f"{AT}if (lid.x < 50u) {{\nbox[lid.x] = in0[i];\n}}\nworkgroupBarrier();\n"
        "let y = box[lid.x];\nout[i] = select(1.0, y, lid.x < 50u);",
    ),
    "masked_numbers": (  # what a select leaves out may be infinite
        "",
        f"{AT}let y = 1.0 / (in0[i] - 1.0);\nout[i] = select(y, 2.0, in0[i] == 1.0);",
    ),
}


@pytest.mark.parametrize("name", CLEAN)
def test_no_alarm_of_custom_ops_that_are_right(name, gpu):
    shared, work = CLEAN[name]
    found = fb.sanitize(faulty.whole(f"clean_{name}", work, shared), fb.ones(128, device=gpu).realize())
    assert found.ok and not found.skipped and found.runs == 1, found


def test_no_alarm_of_a_training_step(gpu):
    """Gradients, an optimiser, a recorded function and what its kernels leave."""
    fb.manual_seed(3)
    with gpu, planned_for(gpu, software=True):
        model = nn.Sequential(nn.Linear(6, 1), nn.Tanh())
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        x = fb.randn(7, 6).realize()

        @fb.jit
        def step(x):
            loss = model(x).square().mean()
            optimizer.step(loss.backward())
            return loss

        first, second = (fb.sanitize(step, x) for _ in range(2))
    assert first.ok and second.ok and not first.skipped, first
    assert second.result.item() < first.result.item()  # it is the step itself that ran
    assert first.kernels > 3 and not step.programs


def test_what_is_given_is_not_born(gpu):
    """Infinities and NaN of inputs and of constants are no fault of a kernel."""
    x = fb.tensor([1.0, float("inf"), float("nan"), 0.0], device=gpu).realize()
    found = fb.sanitize(
        lambda: (x * 2 - x, fb.full((4,), float("-inf"), device=gpu) + 1, x.masked_fill(x == 0, -np.inf))
    )
    assert found.ok, found


# --- what can't be watched ---

MODULE = """@group(0) @binding(0) var<uniform> p: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;
{more}
@compute @workgroup_size(8) fn main(@builtin(local_invocation_id) lid: vec3<u32>) {{
  {body}
}}"""


@pytest.mark.parametrize(
    "more, body, told",
    [
        (
            "var<workgroup> a: array<u32, 8>;\nfn f(x: ptr<function, u32>) {}",
            "let b = &a[1];\n*b = 2u;",
            ["a: not watched for races: a pointer to it is passed on"],
        ),
        (
            "var<workgroup> a: array<u32, 8>;",
            "let b = a;",
            ["a: not watched for races: a part of it is used as a whole"],
        ),
        (
            "var<workgroup> a: u32;",
            "for (a = 0u; lid.x < 1u; ) {}",
            ["a: not watched for races: it is written in the head of a loop"],
        ),
        (
            "var<workgroup> a: array<mat2x2<f32>, 4>;",
            "a[0] = a[1];",
            ["a: not watched for races: its elements are matrices"],
        ),
        (
            "var<workgroup> a: array<u32, 70000>;",
            "a[0] = 1u;",
            ["a: not watched for races: it has 70,000 elements, more than 65,536"],
        ),
    ],
)
def test_memory_that_is_not_watched(more, body, told):
    assert MemoryProbes(MODULE.format(more=more, body=body), 1).write().skipped == told


def test_a_name_of_a_probe():
    with pytest.raises(KernelError) as e:
        MemoryProbes(MODULE.format(more="", body="let probe_a = 1u;"), 1)
    assert str(e.value) == "names that begin with 'probe_' are reserved: rename it"


def test_a_workgroup_whose_size_is_a_constant():
    text = MODULE.format(more="const SIZE = 8;", body="").replace("size(8)", "size(SIZE)")
    with pytest.raises(KernelError) as e:
        MemoryProbes(text, 1)
    told = "the workgroup's size is not written as numbers: write @workgroup_size(64)"
    assert str(e.value) == told


def test_a_custom_op_that_is_not_understood(gpu):
    """It runs as it is, and that is said."""
    x = fb.ones(128, device=gpu).realize()
    found = fb.sanitize(faulty.whole("unknown_form", f"{AT}let probe_x = in0[i];\nout[i] = probe_x;"), x)
    assert found.ok and (found.result.numpy() == 1).all()
    assert found.skipped == ["unknown_form: names that begin with 'probe_' are reserved: rename it"]


def test_an_adapter_with_few_buffers(gpu):
    """Kernels are planned with a buffer less; one of a custom op that has no room for another is named."""
    xs = [(fb.ones(64, device=gpu) * i).realize() for i in range(8)]
    limits = gpu.limits
    try:
        gpu.limits = replace(limits, storage_buffers=8, bundle_buffers=8)
        found = fb.sanitize(lambda: sum(xs[1:], xs[0]))
        assert found.ok and not found.skipped and found.runs > 1
        assert (found.result.numpy() == 28).all()
        gpu.limits = replace(limits, storage_buffers=8, bundle_buffers=2)
        found = fb.sanitize(faulty.whole("two_buffers", "out[lid.x] = in0[lid.x];", groups=1), xs[0])
        assert found.skipped == ["two_buffers: it binds 2 buffers, and this adapter has room for 2"]
    finally:
        gpu.limits = limits


def test_races_beyond_what_is_kept(gpu, monkeypatch):
    monkeypatch.setattr("flambeau.sanitizer.probing.KEPT_BYTES", 64 * 2 * 4)
    work = f"{AT}box[lid.x] = in0[i];\nworkgroupBarrier();\nout[i] = box[63u - lid.x];"
    op = faulty.whole("kept_of_one", work, "var<workgroup> box: array<f32, 64>;")
    found = fb.sanitize(op, fb.ones(128, device=gpu).realize())
    assert found.ok and found.skipped == ["kept_of_one: races in the first 1 of 2 workgroups alone"]


def test_nothing_on_a_gpu():
    with pytest.raises(FlambeauError) as e:
        fb.sanitize(lambda x: x * 2, fb.ones(3, device="cpu"))
    assert str(e.value) == (
        "sanitize(<lambda>): it ran nothing on a GPU: pass it tensors of one, or return what it makes"
    )


def test_an_error_of_the_function_is_its_own(gpu):
    with pytest.raises(ZeroDivisionError):
        fb.sanitize(lambda: fb.ones(3, device=gpu).realize() * (1 // 0))
    assert (fb.ones(3, device=gpu) * 2).tolist() == [2, 2, 2]  # and nothing is watched any more


# --- reports ---


def test_a_report_as_text_and_json(gpu):
    op = faulty.whole("told_beyond", f"{AT}out[i] = in0[i + 1u];")
    found = fb.sanitize(lambda x: op(x), fb.ones(128, device=gpu).realize())
    line = sys._getframe().f_lineno - 1
    assert str(found).replace(found.faults[0].template, "FILE") == (
        "1 kernel, 1 run: 1 fault\n"
        "out of bounds read: told_beyond: in0[128] of 128 elements\n"
        f"  FILE:7, line {found.faults[0].line} of the kernel: out[i] = in0[i + 1u];\n"
        "  workgroup (1, 0, 0), thread (63, 0, 0)\n"
        f"  {__file__}:{line}"
    )
    rows = json.loads(json.dumps(found.as_dict()))
    assert rows["faults"][0]["thread"] == [63, 0, 0] and rows["runs"] == 1
