//# Attention on matrix units: where things lie in workgroup memory, and how they come there. `u`: a Units of ops/attention/subgroup_matrix.py.
//# Keys and values of a block lie as rows, u.pad elements apart; each subgroup has a strip of its own, in which a row of scores
//# becomes a row of weights, 16-bit floats over the same place.
//% import "lib/subgroup_matrix.wgsl" as units

{% macro enables(u) -%}
{{ units.enables(u.unit) }}
diagnostic(off, chromium.subgroup_matrix_uniformity); //% if u.unit.kind != "plain"
{%- endmacro %}

{% macro memory(u) -%}
{{ units.memory(u.unit, u.elements, 0) }}
var<workgroup> grown: vec4<u32>;{%- endmacro %}

{% macro views(u) -%}
{{ units.views(u.unit, u.elements, 0, u.subgroups) }}
  let words = bufferView<array<u32, {{ u.elements // 2 }}>>(&memory, 0); //% if u.unit.kind != "plain"
  let strip = {{ u.strips // 2 }}u + subgroup * {{ u.rows * u.pitch }}u;
//# rows 8 apart lie in the same banks: their lanes meet the four pairs of a row's 8 columns in other orders
  let turn = lane / 8u;
  let e{{ c }} = {{ c }}u ^ turn; //% for c in range(4)
{%- endmacro %}

//# which pair of columns a lane meets as its c-th
{% macro pair(c) -%}e{{ c % 4 }} + {{ c // 4 * 4 }}u{%- endmacro %}

//# four elements of 2 bytes, from a multiple of four on
{% macro put(u, at, pair) -%}
    quads[({{ at }}) / 4u] = {{ pair }}; //% if u.unit.kind != "plain"
{{ units.put_four(u.unit, at, pair ~ ".x", pair ~ ".y") }} //% if u.unit.kind == "plain"
{%- endmacro %}

//# the vec4s of a block of keys or values that a thread brings, to registers and on to memory
{% macro declare(u, name, width) -%}
  var {{ name }}{{ i }} = vec2<u32>(); //% for i in range(u.keys * width // u.threads)
{%- endmacro %}
{% macro stage(u, name, start, width) -%}
//% for i in range(u.keys * width // u.threads)
{{ put(u, "%du + (lid.x / %du + %du) * %du + lid.x %% %du * 4u" % (start, width, i * u.threads // width, width * 4 + u.pad, width), name ~ i) }}
//% endfor
{%- endmacro %}

//# rows are met in order, from `first` on: where a thread's first lies moves on by `next` after each block. A lane past
//# the end reads the last row.
{% macro places(u, name, width, base, first, limit) -%}
  let line_{{ name }} = lid.x / {{ width }}u;
  var at_{{ name }} = ({{ base }} + {{ first }} + line_{{ name }}) * {{ width }}u + lid.x % {{ width }}u;
  let most_{{ name }} = ({{ base }} + {{ limit }} - 1u) * {{ width }}u + lid.x % {{ width }}u;{%- endmacro %}
{% macro bring(u, name, place, buffer, width, ahead=0) -%}
//% for i in range(u.keys * width // u.threads)
    {{ name }}{{ i }} = {{ buffer }}[min(at_{{ place }} + {{ ahead * width + i * u.threads }}u, most_{{ place }})];
//% endfor
{%- endmacro %}
{% macro next(u, name, width) -%}at_{{ name }} += {{ u.keys * width }}u;{%- endmacro %}
//# past the end there are zeros
{% macro end(u, name, place, width) -%}
    if (first + {{ u.keys }}u > p.keys) {
//% for i in range(u.keys * width // u.threads)
      {{ name }}{{ i }} = select(vec2<u32>(), {{ name }}{{ i }}, first + line_{{ place }} + {{ i * u.threads // width }}u < p.keys);
//% endfor
    }{%- endmacro %}

//# where own rows i lie on their way to fragments: plain units keep them, those of a second side behind the first
{% macro left_at(u, name, i) -%}
//% set pitch = u.pad + 64
//% set from = u.apart + (u.height * pitch if name == "g" else 0)
//% set own = "%du + (subgroup * %du + %du) * %du" % (from, u.rows, i * u.unit.m, pitch)
{{ own if u.unit.kind == "plain" else "strip * 2u" }}{%- endmacro %}
