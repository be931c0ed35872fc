//# Matrix units: fragments of matrices that a subgroup holds, read from workgroup memory, multiplied and stored.
//# unit: a limits.Unit; its `kind` is the language: "subgroup", Dawn's experimental subgroup matrices; "view", the same
//# with sums in the tiles' memory, by buffer_view; "plain", WGSL that every adapter runs, by which kernels are tested.
{% macro enables(unit) -%}
enable f16; //% if unit.kind != "plain"
enable subgroups; //% same
enable chromium_experimental_subgroup_matrix; //% same
{{ "requires buffer_view;" if unit.kind == "view" }} //% same
{%- endmacro %}

{% macro builtins(unit) -%}{{ "@builtin(subgroup_id) subgroup_id: u32, " if unit.kind != "plain" }}{%- endmacro %}

//# `elements` of 2 bytes, which sums take over when the products are made; a multiple of 16 bytes, since matrix loads
//# drop the low bits of addresses
{% macro memory(unit, elements, results) -%}
//% if unit.kind == "subgroup"
var<workgroup> memory: array<f16, {{ elements }}>;
var<workgroup> results: array<f32, {{ results }}>;
//% elif unit.kind == "view"
var<workgroup> memory: buffer<{{ [elements * 2, results * 4] | max }}>;
//% else
var<workgroup> memory: array<u32, {{ [elements // 2, results] | max }}>;
//# results [m, n] of a subgroup's fragments at `at_a` and `at_b`: a lane makes every {{ unit.lanes }}th
alias Fragment = array<f32, {{ unit.m * unit.n // unit.lanes }}>;
fn element(i: u32) -> f32 {
  return unpack2x16float(memory[i / 2u] >> ((i % 2u) * 16u)).x;
}
fn multiplied(acc: Fragment, a: vec3<u32>, b: vec3<u32>, lane: u32) -> Fragment {
  var sums = acc;
  for (var i = 0u; i < {{ unit.m * unit.n // unit.lanes }}u; i++) {
    let row = (i * {{ unit.lanes }}u + lane) / {{ unit.n }}u;
    let column = (i * {{ unit.lanes }}u + lane) % {{ unit.n }}u;
    for (var k = 0u; k < {{ unit.k }}u; k++) {
      sums[i] += element(a.x + row * a.y + k * a.z) * element(b.x + k * b.y + column * b.z);
    }
  }
  return sums;
}
//% endif
{%- endmacro %}

//# what the body begins with: the memory as fours and singles of 2 bytes and as sums; which subgroup this is, of so
//# many, as a compiler that checks indices understands it (it follows min and %, but no &)
{% macro views(unit, elements, results, subgroups) -%}
//% if unit.kind == "view"
//# of known lengths: then a compiler that checks indices sees that a thread's places are inside
//% set bytes = [elements * 2, results * 4] | max
  let quads = bufferView<array<vec2<u32>, {{ bytes // 8 }}>>(&memory, 0);
  let halves = bufferView<array<f16, {{ bytes // 2 }}>>(&memory, 0);
  let sums = bufferView<array<f32, {{ bytes // 4 }}>>(&memory, 0);
  let pairs = bufferView<array<vec2<f32>, {{ bytes // 8 }}>>(&memory, 0);
  let fours = bufferView<array<vec4<f32>, {{ bytes // 16 }}>>(&memory, 0);
//% endif
  let subgroup = lid.x / {{ unit.lanes }}u; //% if unit.kind == "plain"
  let subgroup = min(subgroup_id, {{ subgroups - 1 }}u); //% if unit.kind != "plain"
  let lane = lid.x % {{ unit.lanes }}u;{%- endmacro %}

//# two elements, from an even place on, where memory is an array
{% macro put(unit, at, word) -%}
  { //% if unit.kind == "subgroup"
    let at = {{ at }};
    let pair = bitcast<vec2<f16>>({{ word }});
    memory[at] = pair.x;
    memory[at + 1u] = pair.y;
  }
  memory[({{ at }}) / 2u] = {{ word }}; //% if unit.kind != "subgroup"
{%- endmacro %}

//# four elements, from a place on that is a multiple of four: by one store, where memory is seen so
{% macro put_four(unit, at, first, second) -%}
  quads[({{ at }}) / 4u] = vec2<u32>({{ first }}, {{ second }}); //% if unit.kind == "view"
{{ put(unit, at, first) }} //% else
{{ put(unit, at ~ " + 2u", second) }} //% same
{%- endmacro %}

//# one sum, or two or four neighbours
{% macro sums(unit, at, width) -%}
{% set plain = "bitcast<f32>(memory[%s + %du])" %}
{% set one = {"subgroup": "results[%s + %du]", "view": "sums[%s + %du]", "plain": plain}[unit.kind] %}
{% if unit.kind == "view" and width > 1 %}{{ {2: "pairs", 4: "fours"}[width] }}[({{ at }}) / {{ width }}u]
{%- elif width > 1 %}vec{{ width }}<f32>({% for c in range(width) %}{{ one % (at, c) }}, {% endfor %})
{%- else %}{{ one % (at, 0) }}{% endif %}{%- endmacro %}

//# a fragment of either side: row-major, or column-major where `transposed`
{% macro fragment(unit, name, side, at, pitch, transposed) -%}
//% if unit.kind != "plain"
//% set shape = "%d, %d" % ((unit.k, unit.m) if side == "left" else (unit.n, unit.k))
//% set type = "subgroup_matrix_%s<f16, %s>, %s_major" % (side, shape, "col" if transposed else "row")
      let {{ name }} = subgroupMatrixLoad<{{ type }}>(
  {{- "halves" if unit.kind == "view" else "&memory" }}, {{ at }}, {{ pitch }}u);
//% else
      let {{ name }} = vec3<u32>({{ at }}, {{ "1u, %du" % pitch if transposed else "%du, 1u" % pitch }});
//% endif
{%- endmacro %}

{% macro result(unit, name) -%}
  var {{ name }}: {{ result_type(unit) }};{%- endmacro %}
{% macro result_type(unit) -%}
  {{ "subgroup_matrix_result<f32, %d, %d>" % (unit.n, unit.m) if unit.kind != "plain" else "Fragment" }}{%- endmacro %}

{% macro multiply(unit, acc, a, b) -%}
  {{ acc }} = {{ "subgroupMatrixMultiplyAccumulate(%s, %s, %s)" % (a, b, acc)
      if unit.kind != "plain" else "multiplied(%s, %s, %s, lane)" % (acc, a, b) }};{%- endmacro %}

//# a result to the sums in memory, row-major
{% macro store(unit, acc, at, pitch) -%}
  subgroupMatrixStore<row_major>({{ "sums" if unit.kind == "view" else "&results" }}, {{ at }}, {{ acc }}, {{ pitch }}u); //% if unit.kind != "plain"
  for (var i = 0u; i < {{ unit.m * unit.n // unit.lanes }}u; i++) { //% if unit.kind == "plain"
    let e = i * {{ unit.lanes }}u + lane;
    memory[{{ at }} + e / {{ unit.n }}u * {{ pitch }}u + e % {{ unit.n }}u] = bitcast<u32>({{ acc }}[i]);
  }{%- endmacro %}
