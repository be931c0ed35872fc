"""Texts that are not WGSL, lazily parsed bodies, and what a module declares."""

import pytest

from flambeau.errors import KernelError
from flambeau.wgsl_reader import syntax as s
from flambeau.wgsl_reader.interface import BoundBuffer, interface_of
from flambeau.wgsl_reader.parser import WgslFault, declarations, line_of_name, parse
from flambeau.wgsl_reader.types import Types
from flambeau.wgsl_reader.uniformity import non_uniform_barriers

MODULE = """@group(0) @binding(0) var<uniform> p: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> out: array<u32>;

@compute @workgroup_size(8) fn main(@builtin(local_invocation_id) lid: vec3<u32>) {{
  {body}
}}"""
WRONG = {  # a body: its error
    "let a = $;": "line 5: '$' is not a token of WGSL",
    "let a = ;": "line 5: ';' where a value is expected",
    "out[0] = 1u": "line 6: '}' where ';' is expected",
    "3 + 4;": "line 5: unknown statement",
    "if (true) { ": "line 6: a block is not closed",
    "/* out[0] = 1u;": "line 5: a comment is not closed",
    "let a = vec4<f32;": "line 5: a '<' is not closed",
}


@pytest.mark.parametrize("body", WRONG)
def test_texts_that_are_no_wgsl(body):
    with pytest.raises(WgslFault) as e:
        parse(MODULE.format(body=body))
    assert str(e.value) == WRONG[body]
    assert (e.value.line, e.value.rule) == (int(WRONG[body][5]), WRONG[body][8:])


def test_operators_that_begin_with_a_template_end():
    """`>` also ends a template, so `>=`, `>>` and `>>=` are joined from several tokens."""
    body = "var a = array<vec2<u32>,2>(); a[0].x >>= 1u; let b = a[0].x >> 1u >= 2u;"
    statements = parse(MODULE.format(body=body)).entry.body.body
    assert [type(p).__name__ for p in statements] == ["Declare", "Assign", "Declare"]
    shift, test = statements[1], statements[2]
    assert isinstance(shift, s.Assign) and shift.op == ">>="
    assert isinstance(test, s.Declare) and isinstance(test.value, s.Infix) and test.value.op == ">="


def test_bodies_are_parsed_when_they_are_asked_for():
    text = MODULE.format(body="let a = ;") + "\nfn whole() -> u32 { /* } */ return 1u; // }\n}\n"
    module = declarations(text)
    assert [(f.name, f.is_entry, f.workgroup) for f in module.functions] == [
        ("main", True, (8,)),
        ("whole", False, ()),
    ]
    (last,) = module.functions[1].body.body
    assert isinstance(last, s.Return) and text[last.start : last.end] == "return 1u;"
    with pytest.raises(WgslFault, match="^line 5: ';' where a value is expected$"):
        _ = module.entry.body
    with pytest.raises(KernelError, match="^2 entry points: expected one$"):
        parse("@compute @workgroup_size(1) fn a() {}\n@compute @workgroup_size(1) fn b() {}")


INTERFACE = """enable f16;
struct Params {{
  size: u32, // Params of {0}
  scale: f32,
}}
@group(0) @binding(0) var<uniform> p: Params;
{1}
/* @group(0) @binding(7) var<storage> old: array<f32>; */
@compute @workgroup_size(8, 2u) fn main() {{
}}"""
READ = "@group(0) @binding({}) var<storage, read> x: array<vec4<f32>>;"
WRITE = "@group(0) @binding({}) var<storage, read_write> faults: array<f16>;"


def test_what_a_kernel_binds():
    text = INTERFACE.format("ä", f"{WRITE.format(2)}\n{READ.format(1)}")
    found = interface_of(text)
    x, out = BoundBuffer(1, "x", "array<vec4<f32>>", False), BoundBuffer(2, "faults", "array<f16>", True)
    assert found.buffers == (x, out) and found.reads == (x,) and found.writes == ()
    assert found.params == (("size", "u32"), ("scale", "f32"))
    assert declarations(text).entry.workgroup == (8, 2)
    assert line_of_name(text, "Params") == 2 and line_of_name(text, "old") == 0


@pytest.mark.parametrize(
    "bound, told",
    [
        (
            f"{READ.format(1)}\n{WRITE.format(3)}",
            "line 8: faults is bound at 3: bind buffers at 1, 2, ... without gaps",
        ),
        (
            f"{READ.format(2)}\n{WRITE.format(1)}",
            "line 7: x is read: bind inputs before outputs",
        ),
        (READ.format(1), "line 1: no buffer is written: bind a var<storage, read_write>"),
        (
            f"{WRITE.format(1)}\n@group(0) @binding(2) var<uniform> q: Params;",
            "line 8: Params are bound at 0: write @binding(0)",
        ),
    ],
)
def test_buffers_that_are_bound_otherwise(bound, told):
    with pytest.raises(WgslFault) as e:
        interface_of(INTERFACE.format("", bound))
    assert str(e.value) == told


def test_types_and_barriers():
    module = parse(
        MODULE.format(
            body="let é = vec2(1u, 2).x >> 1u;\nfor (var i = 0; i < 3; i++) {\nworkgroupBarrier();\n}\n"
            "if (lid.x >= 1u) {\nworkgroupBarrier();\n}"
        )
    )
    types = Types(module)
    declared = [p for p in module.entry.body.walk() if isinstance(p, s.Declare)]
    assert [(d.name, types.of(d)) for d in declared] == [("é", "u32"), ("i", "i32")]
    (stray,) = non_uniform_barriers(module, types)
    assert module.text[stray.test.start : stray.test.end] == "(lid.x >= 1u)"
    assert module.text.count("\n", 0, stray.barrier.start) + 1 == 10
