"""Faults that were put in on purpose, each found with its right name: 38 of them."""

import pytest
from helpers import faulty
from helpers.kernels import planned_for

import flambeau as fb
from flambeau.capture.program import Program
from flambeau.core.node import number_of
from flambeau.core.op import OPS

BOX = "var<workgroup> box: array<f32, 64>;"
GRID = "var<workgroup> grid: array<array<vec4<f32>, 9>, 8>;"
AT = "let i = group * 64u + lid.x;\n"
# name: (shared memory, text, kind, line of the text from its first on, what stands in the sentence)
CUSTOM = {
    "read_beyond": ("", f"{AT}out[i] = in0[i + 1u];", "out of bounds read", 1, "in0[128] of 128 elements"),
    "read_before": ("", f"{AT}out[i] = in0[i32(i) - 1];", "out of bounds read", 1, "in0[-1] of 128 elements"),
    "write_beyond": ("", f"{AT}out[i + 3u] = in0[i];", "out of bounds write", 1, "out[128] of 128 elements"),
    "box_beyond": (
        BOX,
        f"{AT}box[lid.x + 1u] = in0[i];\nworkgroupBarrier();\nout[i] = box[lid.x];",
        "out of bounds write",
        1,
        "box[64] of 64 elements",
    ),
    "private_beyond": (
        "",
        f"{AT}var r: array<f32, 4>;\nr[lid.x / 16u + 1u] = in0[i];\nout[i] = r[1];",
        "out of bounds write",
        2,
        "r[4] of 4 elements",
    ),
    "never_written": (
        BOX,
        f"{AT}if (lid.x < 32u) {{\nbox[lid.x] = in0[i];\n}}\nworkgroupBarrier();\nout[i] = box[63u - lid.x];",
        "uninitialised",
        5,
        "] is read before any thread wrote it",
    ),
    "no_barrier": (BOX, f"{AT}box[lid.x] = in0[i];\nout[i] = box[lid.x ^ 1u];", "race", None, "box["),
    "no_second_barrier": (
        BOX,
        f"{AT}box[lid.x] = in0[i];\nworkgroupBarrier();\nlet y = box[lid.x ^ 1u];\nbox[lid.x] = y + 1.0;\n"
        "workgroupBarrier();\nout[i] = box[lid.x];",
        "race",
        None,
        "one of them writes it",
    ),
    "race_in_two_dims": (
        GRID,
        f"{AT}grid[lid.x / 8u][lid.x % 8u] = vec4<f32>(in0[i]);\nout[i] = grid[lid.x % 8u][lid.x / 8u].y;",
        "race",
        None,
        "grid[",
    ),
    "one_number_for_all": (
        "var<workgroup> total: f32;",
        f"{AT}total = in0[i];\nworkgroupBarrier();\nout[i] = total;",
        "race",
        1,
        "total[0] is used",
    ),
    "barrier_in_a_branch": (
        BOX,
        f"{AT}if (lid.x < 32u) {{\nworkgroupBarrier();\n}}\nout[i] = in0[i];",
        "non-uniform barrier",
        2,
        "'(lid.x < 32u)'",
    ),
    "barrier_behind_a_return": (
        BOX,
        f"{AT}if (i >= 100u) {{\nreturn;\n}}\nworkgroupBarrier();\nout[i] = in0[i];",
        "non-uniform barrier",
        4,
        "'(i >= 100u)'",
    ),
    "barrier_in_a_loop": (
        BOX,
        f"{AT}for (var k = 0u; k < lid.x; k++) {{\nworkgroupBarrier();\n}}\nout[i] = in0[i];",
        "non-uniform barrier",
        2,
        "'k < lid.x'",
    ),
    "root_of_less_than_0": (
        "",
        f"{AT}let y = in0[i] - 2.0;\nlet z = sqrt(y);\nout[i] = z + 1.0;",
        "nan",
        2,
        "z became nan here, made of -1",
    ),
    "divided_by_0": (
        "",
        f"{AT}let y = in0[i] - 1.0;\nlet z = 3.0 / y;\nout[i] = z * 2.0;",
        "inf",
        2,
        "z became inf here, made of 0",
    ),
}


@pytest.fixture(scope="module")
def x(gpu):
    return fb.ones(128, device=gpu).realize()


@pytest.fixture(scope="module")
def falling(x):
    """128, 127, ..., 1"""
    return (128 - fb.arange(128, device=x.device).float()).realize()


@pytest.mark.parametrize("name", CUSTOM)
def test_in_custom_ops(name, x):
    shared, work, kind, line, told = CUSTOM[name]
    found = fb.sanitize(faulty.whole(f"planted_{name}", work, shared), x)
    kinds = {f.kind: f for f in found.faults}
    assert kind in kinds, found
    fault = kinds[kind]
    assert told in fault.told and fault.kernel == f"planted_{name}", found
    assert fault.template == f"planted_{name}.wgsl"
    assert line is None or fault.template_line == 6 + line, found
    assert (fault.group is None) == (kind == "non-uniform barrier")
    assert set(kinds) <= {kind, "race", "uninitialised"}, found  # one of memory may be another as well


def test_workgroup_memory_starts_with_zeros_and_not_with_what_an_earlier_kernel_wrote(users_driver):
    """wgpu-native leaves it as it is, on each of llvmpipe's threads."""
    fills = f"{AT}box[lid.x] = in0[i];\nworkgroupBarrier();\nout[i] = box[63u - lid.x];"
    sevens = fb.full((64 * 64,), 7.0)
    faulty.whole("planted_sevens", fills, BOX, groups=64)(sevens).realize()
    reads = f"{AT}if (lid.x == 0u) {{\nbox[0] = in0[i];\n}}\nworkgroupBarrier();\nout[i] = box[lid.x];"
    found = fb.sanitize(faulty.whole("planted_unwritten", reads, BOX), sevens[:128].realize())
    assert found.result.tolist() == [7.0, *[0.0] * 63] * 2
    assert [f.kind for f in found.faults] == ["uninitialised"]


def test_float16_overflow(gpu):
    x = (fb.ones(100, device=gpu) * 300).half().realize()
    (fault,) = fb.sanitize(lambda: (x * x).relu()).faults
    assert (fault.kind, fault.told) == ("float16 overflow", "90000 is beyond the 65504 of float16")
    assert fault.template == "map/_write.wgsl" and "pack_f16" in fault.text


# name: (template, what is taken out, what is put in, the call, the kind, the template's line, software)
def _summed(x):
    return x.reshape(2, 64).sum(1)


TEMPLATES = {
    "tree_without_a_barrier": (
        ("reduce/tree.wgsl", "  workgroupBarrier();\n  if (lane", "  if (lane"),
        _summed,
        "race",
        "reduce/tree.wgsl",
    ),
    "rows_without_a_barrier": (
        ("reduce/_row.wgsl", "  workgroupBarrier(); //% for", "  ; //% for"),
        lambda x: x.reshape(2, 64).softmax(1),
        "race",
        "reduce/_row.wgsl",
    ),
    "map_beyond": (
        ("map/_write.wgsl", 'over("i", width)', 'over("(i + 4u)", width)'),
        lambda x: x[:127] * 2,
        "out of bounds write",
        "map/",
    ),
    "bitonic_without_a_barrier": (
        ("sort/bitonic.wgsl", "      workgroupBarrier();\n", ""),
        lambda x: x[:32].reshape(2, 16).sort(1)[0],
        "race",
        "sort/bitonic.wgsl",
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.share(5)
def test_in_templates(name, falling, gpu, monkeypatch):
    change, call, kind, file = TEMPLATES[name]
    faulty.template(monkeypatch, *change)
    with faulty.fresh(gpu), planned_for(gpu, software=name == "map_beyond"):
        found = fb.sanitize(call, falling)
    assert kind in {f.kind for f in found.faults}, found
    assert any(f.kind == kind and f.template.startswith(file) for f in found.faults), found


# name: (what is changed, the call, the op that is named)
VALUES = {
    "an_elementwise_op": (
        ("lib/elementwise.wgsl", '{{ T.call("sine") }}({{ x }})', "({{ x }} * {{ x }})"),
        lambda x: (x + 1).sin() * 2,
        "sin",
    ),
    "a_sum_that_begins_late": (
        (
            "reduce/serial.wgsl",
            'first = "r%d" % loop.index0, times("part", step) if shared else "0u"',
            'first = "r%d" % loop.index0, "1u"',
        ),
        _summed,
        "sum",
    ),
    "a_product_of_one_row_less": (
        ("contract/registers.wgsl", "{{ c }} < p.{{ summed.s", "{{ c }} + {{ step }}u < p.{{ summed.s"),
        lambda x: x.reshape(8, 16) @ (x * 3).realize().reshape(16, 8),
        "matmul",
    ),
    "a_cast": (
        ("lib/packed.wgsl", "(0x38000000u)", "(0x38800000u)"),
        lambda x: (x * 1.5).half().float() + 1,
        "cast",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_in_values_of_ops(name, falling, gpu, monkeypatch):
    change, call, op = VALUES[name]
    faulty.template(monkeypatch, *change)
    with faulty.fresh(gpu), planned_for(gpu, software=True):  # whose kernels these templates are
        found = fb.check(call, falling, replay=False)
    assert found.first is not None and (found.first.stage, found.first.op) == ("op", op), found
    assert found.first.line.startswith(f"{__file__}:") and found.first.kernel, found
    assert {w.op for w in found.wrong if w.stage == "op"} == {op}, found


GRADIENTS = {
    "sigmoid": lambda g, y, x: [g * y * (1 + y)],
    "tanh": lambda g, y, x: [g * (1 - y)],
    "log": lambda g, y, x: [None],
    "mul": lambda g, y, x, z: [g * z, g * z],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_in_gradients(name, gpu):
    w = (fb.arange(6, device=gpu).float() * 0.3 + 0.2).realize().requires_grad_()

    def call():
        return ((w.sigmoid() + w.tanh()) * w.log()).sum().backward()[w]

    with faulty.rule(OPS[name], GRADIENTS[name]):
        found = fb.check(call, replay=False)
    assert [(r.stage, r.op) for r in found.wrong] == [("gradient", name)], found


def test_in_the_gradient_of_a_custom_op(gpu):
    w = fb.ones(6, device=gpu).realize().requires_grad_()
    cube = fb.custom_op(
        "planted_cube",
        ["x"],
        expression="{{ x }} * {{ x }} * {{ x }}",
        reference=lambda xp, x: x**3,
        grad=lambda g, y, x: [g * x * x * 2],
    )
    found = fb.check(lambda: (cube(w) * 2).sum().backward()[w], replay=False)
    assert [(r.stage, r.op) for r in found.wrong] == [("gradient", "planted_cube")], found


def test_in_the_value_of_a_custom_op(gpu):
    square = fb.custom_op("planted_square", ["x"], expression="{{ x }} * 2.0", reference=lambda xp, x: x * x)
    found = fb.check(lambda x: square(x).exp(), fb.ones(6, device=gpu) * 3, replay=False)
    assert [(r.stage, r.op) for r in found.wrong] == [("op", "planted_square")], found


FUSED = {
    "a_map": ((r"\(t\d+ \+ t\d+\)", "(t0)"), lambda x: (x * 0.02 + 1).exp(), "exp"),
    "an_epilogue": (
        (r"rectified_f32(x4)?\((t\d+)\);", r"\2;"),
        lambda x: (x.reshape(8, 16) @ x.reshape(16, 8) - 50000).relu(),
        "relu",
    ),
    "a_prologue": ((r"\(t(\d+) \* t\d+\)", r"t\1"), lambda x: ((x + x) * x).reshape(2, 64).sum(1), "sum"),
}


@pytest.mark.parametrize("name", FUSED)
def test_in_fused_kernels(name, falling, gpu, monkeypatch):
    change, call, op = FUSED[name]
    faulty.fused(monkeypatch, *change)
    with faulty.fresh(gpu):
        found = fb.check(call, falling, replay=False)
    assert found.first is not None and (found.first.stage, found.first.op) == ("fusion", op), found


def test_in_the_planner(falling, gpu, monkeypatch):
    """Different nodes that count as equal."""
    monkeypatch.setattr(
        "flambeau.fusion.rewrite.number_of",
        lambda n: -7 if n.op.name in ("sin", "cos") else number_of(n),
    )
    with faulty.fresh(gpu):
        found = fb.check(lambda x: x.sin() + x.cos() * 2, falling / 10, replay=False)
    assert found.first is not None and (found.first.stage, found.first.op) == ("fusion", "add"), found


def swap(kept):
    """Two entries of a cache in each other's places."""
    (a, b), (x, y) = kept, kept.values()
    kept[a], kept[b] = y, x


def test_in_kept_plans(x, gpu):
    with faulty.fresh(gpu):
        fb.realize(x.exp() + 1)
        fb.realize(x.sin() + 1)
        swap(gpu.plans)
        found = fb.check(lambda: x.exp() + 1, replay=False)
    assert [(w.stage, w.op) for w in found.wrong] == [("cache", "add")], found


def test_in_kept_pipelines(x, gpu):
    with faulty.fresh(gpu):
        fb.realize(x.exp())
        fb.realize(x.sin())
        swap(gpu.pipelines)
        found = fb.check(lambda: x.exp(), replay=False)
    assert found.first is not None and (found.first.stage, found.first.op) == ("cache", "exp"), found


def test_in_kept_numbers(x, gpu):
    with faulty.fresh(gpu):
        fb.realize(x * 3.0)
        for compiled in gpu.plans.values():
            compiled.patches = []
        found = fb.check(lambda: x * 5.0, replay=False)
    assert [(w.stage, w.op) for w in found.wrong] == [("cache", "mul")], found


def test_in_replays(x, gpu, monkeypatch):
    """A replay that gives something else."""
    state = fb.zeros(128, device=gpu).realize()

    def call(x):
        y = state * 0.5 + x
        state.copy_(y)
        return y.sum()

    replay = Program.replay
    monkeypatch.setattr(Program, "replay", lambda self, nodes: replay(self, nodes) + 1)
    found = fb.check(call, x)
    assert [w.stage for w in found.wrong] == ["replay"], found
    assert (state.numpy() == 1).all()  # as one call leaves it
