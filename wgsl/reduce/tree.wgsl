//# Rows reduced by many threads each: every lane takes its turns along the row, then the lanes join in a tree. Several
//# reductions of the same elements (`ends`) are made in one go.
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//# the value that a reduction begins with, and a and b joined
{% macro start(end, width) -%}{{ wgsl(end.dtype, width) }}({{ combine.start[end.op](wgsl(end.dtype, width)) }}){%- endmacro %}
{% macro join(end, width, a, b) -%}{{ combine.join[end.op](wgsl(end.dtype, width), a, b) }}{%- endmacro %}

//# what a thread has joined to one value
{% macro join_own(end, width, tag) -%}
  let t4{{ tag }} = {{ join(end, width, "t0" ~ tag, "t1" ~ tag) }};
  let t5{{ tag }} = {{ join(end, width, "t2" ~ tag, "t3" ~ tag) }};
  let t{{ tag }} = {{ join(end, width, "t4" ~ tag, "t5" ~ tag) }};
  let low{{ tag }} = {{ join(end, 1, "t%s.x" % tag, "t%s.y" % tag) }}; //% if width == 4
  let high{{ tag }} = {{ join(end, 1, "t%s.z" % tag, "t%s.w" % tag) }}; //% same
  var joined{{ tag }} = {{ join(end, 1, "low" ~ tag, "high" ~ tag) if width == 4 else "t" ~ tag }};{%- endmacro %}

//# the values of s lanes joined to those of s others, `far` threads on
{% macro join_lanes(s, far) -%}
  partials{{ end.tag }}[lid.x] = joined{{ end.tag }}; //% for end in ends
  workgroupBarrier();
  if (lane < {{ s }}u) {
    let other{{ end.tag }} = partials{{ end.tag }}[lid.x + {{ far }}u]; //% for end in ends
    joined{{ end.tag }} = {{ join(end, 1, "joined" ~ end.tag, "other" ~ end.tag) }}; //% same
  }
  workgroupBarrier();{%- endmacro %}

//# a row's result, finished by the epilogue, or a part of it for a second kernel
{% macro write(end, finish) -%}
    {{ "{" if ends | length > 1 }}
    let result = joined{{ end.tag }};
{{ ix.unravel("row", finish.coords, end.dims, "e") }} //% if finish
    {{ end.out }}[row] = {{ wgsl(end.stored, 1).store(call(end, finish)) }}; //% same
    {{ end.out }}[{{ part_at(end) }}] = {{ wgsl(end.stored, 1).store("result") }}; //% else
    {{ "}" if ends | length > 1 }}{%- endmacro %}
{% macro call(end, finish) -%}{{ end.finish }}({{ (["result"] + finish.coords | list) | join(", ") }}){%- endmacro %}
{% macro part_at(end) -%}
  {{ "part * p.%s + row" % rows if end.behind else "row * p.%s + part" % parts if parts else "row" }}{%- endmacro %}
//% block declarations
//% set f = functions["value"]
var<workgroup> partials{{ end.tag }}: array<{{ wgsl(end.dtype, 1) }}, {{ workgroup[0] }}>; //% for end in ends

fn element(k: u32, {% for c in coords %}{{ c }}: u32, {% endfor %}) -> {{ f.result if f.results else wgsl(f.dtype, f.width) }} {
{{ ix.unravel("k", f.coords[coords | length:], loops[1:]) }}
  return value({{ f.coords | join(", ") }});
}
//% endblock
//% block body
//% set f = functions["value"]
//% set own = (coords | join(", ") ~ ", ") if coords else ""
//% set step = lanes * f.width
  // the row of this thread, and its part of it
  let lane = {{ over("lid.x", across) if columns else modulo("lid.x", lanes) }};
  let group = wid.x + wid.y * p.{{ line }};
  let row = {{ sum_of(times("group % p." ~ blocks, across), modulo("lid.x", across) if columns else over("lid.x", lanes) if across > 1 else "0u") }};
  let part = group / p.{{ blocks }};
  let is_row = (row < p.{{ rows }}) & (part < {{ "p." ~ parts if parts else "1u" }});
{{ ix.unravel("row", coords, row_dims) }}
  let first = part * p.{{ chunk }};
  let last = select(0u, min(first + p.{{ chunk }}, p.{{ length }}), is_row);
  // {{ ends | map(attribute="op") | unique | join(" and ") }} of its part, four at a time
  var t{{ j }}{{ end.tag }} = {{ start(end, f.width) }}; //% for end, j in product(ends, range(4))
  var k = first + lane * {{ f.width }}u;
  for (; k + {{ 3 * step + f.width - 1 }}u < last; k += {{ 4 * step }}u) {
    let x{{ j }} = element(k + {{ j * step }}u, {{ own }}); //% for j in range(4)
    t{{ j }}{{ end.tag }} = {{ join(end, f.width, "t%d%s" % (j, end.tag), "x%d%s" % (j, end.field)) }}; //% for end, j in product(ends, range(4))
  }
  for (; k < last; k += {{ step }}u) {
    let x = element(k, {{ own }});
    let inside = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(last); //% if f.width == 4
    let y{{ end.tag }} = {{ "select(%s, x%s, inside)" % (start(end, 4), end.field) if f.width == 4 else "x" ~ end.field }}; //% for end in ends
    t0{{ end.tag }} = {{ join(end, f.width, "t0" ~ end.tag, "y" ~ end.tag) }}; //% same
  }
{{ join_own(end, f.width, end.tag) }} //% for end in ends
  // join the threads of the row
{{ join_lanes(s, s * across if columns else s) }} //% for s in (128, 64, 32, 16, 8, 4, 2, 1) if s < lanes
  // write one value a row
  if (is_row & (lane == 0u)) {
{{ write(end, functions[end.finish] if end.finish else none) }} //% for end in ends
  }
//% endblock
