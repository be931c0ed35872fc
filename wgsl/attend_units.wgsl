//# Attention on matrix units: where things lie in workgroup memory, and how they come there. `u`: an attend.Units.
//# Keys and values of a block lie as rows, u.pad elements apart; each subgroup has a strip of its own, in which a row of scores
//# becomes a row of weights, 16-bit floats over the same place.
//% import "units.wgsl" as units

{% macro enables(u) -%}
{{ units.enables(u.unit) }}
//% if u.unit.kind != "plain"
diagnostic(off, chromium.subgroup_matrix_uniformity);
//% endif
{%- endmacro %}

{% macro memory(u) -%}
{{ units.memory(u.unit, u.elements, 0) }}
var<workgroup> grown: vec4<u32>;
{%- endmacro %}

{% macro views(u) -%}
{{ units.views(u.unit, u.elements, 0, u.subgroups) }}
//% if u.unit.kind != "plain"
  let eights = bufferView<array<vec4<u32>, {{ u.elements // 8 }}>>(&memory, 0);
//% endif
  let strip = {{ u.strips // 2 }}u + subgroup * {{ u.rows * u.pitch }}u;
{%- endmacro %}

//# four elements of 2 bytes, from a multiple of four on
{% macro put(u, at, pair) -%}
//% if u.unit.kind != "plain"
    quads[({{ at }}) / 4u] = {{ pair }};
//% else
    memory[({{ at }}) / 2u] = {{ pair }}.x;
    memory[({{ at }}) / 2u + 1u] = {{ pair }}.y;
//% endif
{%- endmacro %}

//# eight of them, from a multiple of eight on
{% macro put_eight(u, at, quad) -%}
//% if u.unit.kind != "plain"
    eights[({{ at }}) / 8u] = {{ quad }};
//% else
{{ put(u, at, quad ~ ".xy") }}
{{ put(u, at ~ " + 4u", quad ~ ".zw") }}
//% endif
{%- endmacro %}

//# the vec4s of a block of keys or values that a thread brings, to registers and on to memory
{% macro declare(u, name, width) -%}
//% for i in range(u.keys * width // u.threads)
  var {{ name }}{{ i }} = vec2<u32>();
//% endfor
{%- endmacro %}
{% macro fetch(u, name, buffer, width, first, zero=false, base="kv * p.keys", limit="p.keys") -%}
//% for i in range(u.keys * width // u.threads)
    {
      let line = {{ first }} + (lid.x + {{ i * u.threads }}u) / {{ width }}u;
      let read = {{ buffer }}[({{ base }} + min(line, {{ limit }} - 1u)) * {{ width }}u + lid.x % {{ width }}u];
      {{ name }}{{ i }} = {{ "select(vec2<u32>(), read, line < %s)" % limit if zero else "read" }};
    }
//% endfor
{%- endmacro %}
{% macro stage(u, name, start, width) -%}
//% for i in range(u.keys * width // u.threads)
{{ put(u, "%du + (lid.x / %du + %du) * %du + lid.x %% %du * 4u" % (start, width, i * u.threads // width, width * 4 + u.pad, width), name ~ i) }}
//% endfor
{%- endmacro %}

//# where own rows i lie on their way to fragments: plain units keep them, those of a second side behind the first
{% macro left_at(u, name, i) -%}
{{ "%du + (subgroup * %du + %du) * %du" % (u.apart + (u.height * (64 + u.pad) if name == "g" else 0), u.rows, i * u.unit.m, u.pad + 64) if u.unit.kind == "plain" else "strip * 2u" }}
{%- endmacro %}

//# q<i>_<k>: this subgroup's queries, by way of its strip, as many features at a time as that has room for
{% macro queries(u, d) -%}
//% for i in range(u.rows // u.unit.m)
//% for c in range(0, d, 64)
//% set wide = [64, d - c] | min
//% set lies = left_at(u, "q", i)
//% if u.unit.kind != "plain"
  workgroupBarrier();
//% endif
  for (var at = lane; at < {{ u.unit.m * wide // 4 }}u; at += {{ u.unit.lanes }}u) {
    let line = min(row0 + subgroup * {{ u.rows }}u + {{ i * u.unit.m }}u + at / {{ wide // 4 }}u, p.queries - 1u);
    let four = in0[(head * p.queries + line) * {{ d // 4 }}u + {{ c // 4 }}u + at % {{ wide // 4 }}u];
{{ put(u, "%s + at / %du * %du + at %% %du * 4u" % (lies, wide // 4, 64 + u.pad, wide // 4), "four") }}
  }
  workgroupBarrier();
//% for k in range(0, wide, u.unit.k)
{{ units.fragment(u.unit, "q%d_%d" % (i, (c + k) // u.unit.k), "left", "%s + %du" % (lies, k), 64 + u.pad, false) }}
//% endfor
//% endfor
//% endfor
{%- endmacro %}
