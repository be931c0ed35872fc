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
  let pairs = bufferView<array<vec2<u32>, {{ u.elements // 4 }}>>(&memory, 0);
  let quads = bufferView<array<vec4<u32>, {{ u.elements // 8 }}>>(&memory, 0);
//% endif
  let strip = {{ u.strips // 2 }}u + subgroup * {{ u.rows * u.pitch }}u;
{%- endmacro %}

//# four elements of 2 bytes, from a multiple of four on
{% macro put(u, at, pair) -%}
//% if u.unit.kind != "plain"
    pairs[({{ at }}) / 4u] = {{ pair }};
//% else
    memory[({{ at }}) / 2u] = {{ pair }}.x;
    memory[({{ at }}) / 2u + 1u] = {{ pair }}.y;
//% endif
{%- endmacro %}

//# eight of them, from a multiple of eight on
{% macro put_eight(u, at, quad) -%}
//% if u.unit.kind != "plain"
    quads[({{ at }}) / 8u] = {{ quad }};
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
{% macro fetch(u, name, buffer, width, first, zero=false) -%}
//% for i in range(u.keys * width // u.threads)
    {
      let line = {{ first }} + (lid.x + {{ i * u.threads }}u) / {{ width }}u;
      let read = {{ buffer }}[(kv * p.keys + min(line, p.keys - 1u)) * {{ width }}u + lid.x % {{ width }}u];
      {{ name }}{{ i }} = {{ "select(vec2<u32>(), read, line < p.keys)" if zero else "read" }};
    }
//% endfor
{%- endmacro %}
{% macro stage(u, name, start, width) -%}
//% for i in range(u.keys * width // u.threads)
{{ put(u, "%du + (lid.x / %du + %du) * %du + lid.x %% %du * 4u" % (start, width, i * u.threads // width, width * 4 + u.pad, width), name ~ i) }}
//% endfor
{%- endmacro %}

//# where rows i of the queries lie on their way to fragments
{% macro queries_at(u, i) -%}
{{ "%du + (subgroup * %du + %du) * %du" % (u.apart, u.rows, i * u.unit.m, u.pad + 64) if u.unit.kind == "plain" else "strip * 2u" }}
{%- endmacro %}

//# q<i>_<k>: this subgroup's queries, by way of its strip, as many features at a time as that has room for
{% macro queries(u, d) -%}
//% for i in range(u.rows // u.unit.m)
//% for c in range(0, d, 64)
//% set wide = [64, d - c] | min
//% set lies = queries_at(u, i)
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

//# s<i>_<j>: the products of queries and the keys in memory; zeroed in words, since compilers do not at each turn of a loop
{% macro dots(u, d) -%}
//% for j in range(0, u.keys, u.unit.n)
//% for i in range(u.rows // u.unit.m)
{{ units.result(u.unit, "s%d_%d" % (i, j)) }}
  s{{ i }}_{{ j }} = {{ "subgroup_matrix_result<f32, %d, %d>" % (u.unit.n, u.unit.m) if u.unit.kind != "plain" else "Fragment" }}();
//% endfor
//% for k in range(0, d, u.unit.k)
    {
{{ units.fragment(u.unit, "side", "right", "%du" % (j * (d + u.pad) + k), d + u.pad, true) }}
//% for i in range(u.rows // u.unit.m)
{{ units.multiply(u.unit, "s%d_%d" % (i, j), "q%d_%d" % (i, k // u.unit.k), "side") }}
//% endfor
    }
//% endfor
//% endfor
{%- endmacro %}
{% macro keep(u) -%}
//% for i in range(u.rows // u.unit.m)
//% for j in range(0, u.keys, u.unit.n)
{{ units.store(u.unit, "s%d_%d" % (i, j), "strip + %du" % (i * u.unit.m * u.pitch + j), u.pitch) }}
//% endfor
//% endfor
{%- endmacro %}

//# o<i>_<j> plus the weights in the strip by the values in memory; rows shrink by `fade` first where one grew
{% macro sums(u, e, turn) -%}
//% for i in range(u.rows // u.unit.m)
//% for k in range(0, u.keys, u.unit.k)
{{ units.fragment(u.unit, "p%d_%d" % (i, k), "left", "(strip + %du) * 2u + %du" % (i * u.unit.m * u.pitch, k), 2 * u.pitch, false) }}
//% endfor
//% endfor
//% if u.unit.kind != "plain"
//# nothing promises that a subgroup's lanes are in step: the strip's next use waits for these loads
    workgroupBarrier();
//% endif
{{ caller() }}
//% for j in range(0, e, u.unit.n)
//% for k in range(0, u.keys, u.unit.k)
    {
{{ units.fragment(u.unit, "side", "right", "%du" % (u.values + k * (e + u.pad) + j), e + u.pad, false) }}
//% for i in range(u.rows // u.unit.m)
{{ units.multiply(u.unit, "o%d_%d" % (i, j), "p%d_%d" % (i, k), "side") }}
//% endfor
    }
//% endfor
//% endfor
{%- endmacro %}

//# a fragment of weights that outlives its strip's rows, and those rows i of weights into it
{% macro left(u, name) -%}
//% if u.unit.kind != "plain"
  var {{ name }}: subgroup_matrix_left<f16, {{ u.unit.k }}, {{ u.unit.m }}>;
//% else
  var {{ name }} = vec3<u32>();
//% endif
{%- endmacro %}
{% macro weights_of(u, i) -%}
//% if u.unit.kind != "plain"
    {
{{ units.fragment(u.unit, "read", "left", "(strip + %du) * 2u" % (i * u.unit.m * u.pitch), 2 * u.pitch, false) }}
      p{{ i }}_0 = read;
    }
//% else
    for (var w = 0u; w < {{ u.keys // 2 }}u; w++) {
      memory[{{ u.copies // 2 }}u + (subgroup * {{ u.rows }}u + lane) * {{ u.keys // 2 }}u + w] = memory[own + w];
    }
    p{{ i }}_0 = vec3<u32>({{ u.copies }}u + (subgroup * {{ u.rows }}u + {{ i * u.unit.m }}u) * {{ u.keys }}u, {{ u.keys }}u, 1u);
//% endif
{%- endmacro %}

//# a lane's share of a row, behind what its row of the strip holds of the result
{% macro keep_share(u) -%}
  workgroupBarrier();
  {{ "memory" if u.unit.kind == "plain" else "sums" }}[own + {{ u.unit.n }}u] = {{ "bitcast<u32>(share)" if u.unit.kind == "plain" else "share" }};
{%- endmacro %}

//# columns j on of the result to the strip
{% macro through(u, j) -%}
  workgroupBarrier();
//% for i in range(u.rows // u.unit.m)
{{ units.store(u.unit, "o%d_%d" % (i, j), "strip + %du" % (i * u.unit.m * u.pitch), u.pitch) }}
//% endfor
  workgroupBarrier();
{%- endmacro %}
