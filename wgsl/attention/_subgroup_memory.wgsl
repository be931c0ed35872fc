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
  var {{ name }}{{ i }} = vec2<u32>(); //% for i in u.loads(width)
{%- endmacro %}
{% macro stage(u, name, start, width) -%}
{{ put(u, place(u, start, width, i * u.threads // width), name ~ i) }} //% for i in u.loads(width)
{%- endmacro %}
{% macro place(u, start, width, row) -%}
  {{ start }}u + (lid.x / {{ width }}u + {{ row }}u) * {{ width * 4 + u.pad }}u + lid.x % {{ width }}u * 4u{%- endmacro %}

//# rows are met in order, from `first` on: where a thread's first lies moves on by `next` after each block. A lane past
//# the end reads the last row.
{% macro places(u, name, width, base, first, limit) -%}
  let line_{{ name }} = lid.x / {{ width }}u;
  var at_{{ name }} = ({{ base }} + {{ first }} + line_{{ name }}) * {{ width }}u + lid.x % {{ width }}u;
  let most_{{ name }} = ({{ base }} + {{ limit }} - 1u) * {{ width }}u + lid.x % {{ width }}u;{%- endmacro %}
{% macro bring(u, name, place, buffer, width, ahead=0) -%}
    {{ name }}{{ i }} = {{ buffer }}[min(at_{{ place }} + {{ ahead * width + i * u.threads }}u, most_{{ place }})]; //% for i in u.loads(width)
{%- endmacro %}
{% macro next(u, name, width) -%}at_{{ name }} += {{ u.keys * width }}u;{%- endmacro %}
//# past the end there are zeros
{% macro end(u, name, place, width) -%}
    if (first + {{ u.keys }}u > p.keys) {
{{ zeroed(name ~ i, place, i * u.threads // width) }} //% for i in u.loads(width)
    }{%- endmacro %}
{% macro zeroed(x, place, row) -%}
      {{ x }} = select(vec2<u32>(), {{ x }}, first + line_{{ place }} + {{ row }}u < p.keys);{%- endmacro %}

//# where own rows i lie on their way to fragments: plain units keep them, those of a second side behind the first
{% macro left_at(u, name, i) -%}
  {% if u.unit.kind != "plain" %}strip * 2u
  {%- else %}{{ u.left_from(name) }}u + (subgroup * {{ u.rows }}u + {{ i * u.unit.m }}u) * {{ u.pad + 64 }}u{% endif %}{%- endmacro %}

//# A subgroup's own rows, to fragments by way of its strip. rows: buffer, name (of fragments and registers), base (its head's
//# first row), limit (rows of the head), width (features).
//# all of a lane's part at once: of fragments i of own rows, in pieces of `wide` features from c on, its n-th four
{% macro ask(u, rows) -%}
  let {{ name(rows, i, c, n) }} = {{ rows.buffer }}[{{ cell(u, rows, i, c, wide, at) }}]; //% for i, c, wide, n, at in u.fours(rows.width)
{%- endmacro %}

{% macro name(rows, i, c, n) -%}{{ rows.name }}at{{ i }}_{{ c }}_{{ n }}{%- endmacro %}
{% macro cell(u, rows, i, c, wide, at) -%}
  ({{ rows.base }} + min(row0 + subgroup * {{ u.rows }}u + {{ i * u.unit.m }}u + (lane + {{ at }}u) / {{ wide // 4 }}u, {{ rows.limit }} - 1u))
  {{- " * %du + %du + (lane + %du) %% %du" % (rows.width // 4, c // 4, at, wide // 4) }}{%- endmacro %}

//# name<i>_<k>
{% macro hold(u, rows) -%}
{{ hold_piece(u, rows, i, c, wide, left_at(u, rows.name, i)) }} //% for i, c, wide in u.pieces(rows.width)
{%- endmacro %}

//# a piece: put where it lies in memory, and read from there as fragments
{% macro hold_piece(u, rows, i, c, wide, lies) -%}
  workgroupBarrier();
{{ put(u, part_at(u, lies, wide, at), name(rows, i, c, n)) }} //% for n, at in u.fours_of(wide)
  workgroupBarrier();
{{ fragment(u, "%s%d_%d" % (rows.name, i, (c + k) // u.unit.k), "%s + %du" % (lies, k)) }} //% for k in u.deep(wide)
{%- endmacro %}

{% macro fragment(u, name, at) -%}{{ units.fragment(u.unit, name, "left", at, 64 + u.pad, false) }}{%- endmacro %}
{% macro part_at(u, lies, wide, at) -%}
  {{ lies }} + (lane + {{ at }}u) / {{ wide // 4 }}u * {{ 64 + u.pad }}u + (lane + {{ at }}u) % {{ wide // 4 }}u * 4u{%- endmacro %}
