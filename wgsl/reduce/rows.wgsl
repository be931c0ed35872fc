//# Rows with several reductions and what is made of them. The lanes of a row hold its elements, or read it in each
//# phase anew (reads_held = 0).
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//% import "reduce/_row.wgsl" as r
//# what a lane has of a reduction before it read anything
{% macro begun(s) -%}
  var {{ s.name }}_all = {{ r.empty(s.op, wgsl(s.dtype, width)) }};
{{ combine.begin_blocks(wgsl(s.dtype, width), s.name ~ "_all") if blocks(s) }}
  {{ "var %s_from = %s;" % (s.name, r.finite(wgsl(s.dtype, width), s.top ~ "_all")) if s.top }}
{%- endmacro %}

//# whether it is added up in blocks
{% macro blocks(s) -%}{{ r.in_blocks(s, lanes, wgsl) if not reads_held }}{%- endmacro %}

//# what a turn along the row adds to it
{% macro added(reductions) -%}
//% set reads = reads_held or prefetch
//% for j in range(reads)
//% for s in reductions | rejectattr("top")
{{ r.add(s, functions[s.function], along, j, wgsl, width, "_all_of_8" if blocks(s) else "_all") }}
//% endfor
//% endfor
{{ r.follow(s, reads, wgsl, width) }} //% for s in reductions | selectattr("top")
//% for s in reductions if blocks(s)
{{ combine.add_blocks(wgsl(s.dtype, width), s.name ~ "_all", "(k / %du + 1u)" % (reads * lanes * width)) }}
//% endfor
{%- endmacro %}

//# what a lane has of it after all turns
{% macro ended(s) -%}
{{ combine.end_blocks(s.name ~ "_all") if blocks(s) }}
{{ r.scale(s, s.name ~ "_all", s.name ~ "_from", s.top, wgsl(s.dtype, width)) if s.top }}
{{ r.narrow(s, wgsl, width) }}
  {{ "let %s_lane = %s;" % (s.name, r.finite(wgsl(s.dtype, 1), s.top)) if s.top }}
{%- endmacro %}

//# what all lanes of a row have of it
{% macro joined(reductions, is_first) -%}
  {{ "workgroupBarrier();" if not is_first }}
{{ r.tree(reductions | rejectattr("top") | list, steps, wgsl) }}
//% for s in reductions | selectattr("top")
{{ r.scale(s, s.name, s.name ~ "_lane", s.top, wgsl(s.dtype, 1)) }}
{{ r.tree([s], steps, wgsl) }}
//% endfor
{%- endmacro %}

//# the reductions of a phase
{% macro reduced(reductions, is_first) -%}
{{ begun(s) }} //% for s in reductions
{{ begin_turns() }} //% if not reads_held
{{ added(reductions) }}
  {{ "}" if not reads_held }}
{{ ended(s) }} //% for s in reductions
{{ joined(reductions, is_first) if lanes > 1 }}
{%- endmacro %}

//# a loop along the row, and the places that a turn reads
{% macro begin_turns() -%}
//% set reads = reads_held or prefetch
  for (var k = 0u; k < p.{{ length }}; k += {{ reads * lanes * width }}u) {
{{ r.places("k + ", j, lanes, width, length, along, dims) }} //% for j in range(reads)
{%- endmacro %}
//% block declarations
var<workgroup> {{ name }}: array<{{ wgsl(dtype, 1) }}, {{ workgroup[0] }}>; //% for name, dtype in partials
//% endblock
//% block body
//% set reads = reads_held or prefetch
  let lane = lid.x % {{ lanes }}u;
  let place = (wid.x + wid.y * p.{{ line }}) * {{ across }}u + lid.x / {{ lanes }}u;
  let is_row = place < p.{{ rows }};
  let row = min(place, p.{{ rows }} - 1u);
{{ ix.unravel("row", own, row_dims) }}
//% if reads_held
{{ r.places("", j, lanes, width, length, along, dims) }} //% for j in range(reads)
//% endif
//% for values, reductions in phases
//% for (name, function), j in product(values, range(reads))
  let {{ name }}_{{ j }} = {{ r.call(function, functions[function], along, j) }};
//% endfor
{{ reduced(reductions, loop.first) if reductions }}
//% endfor
{{ begin_turns() if full and not reads_held }}
//% for j in range(reads if full else 0)
  if (is_row & is_{{ j }}) {
    let at_{{ j }} = row * p.{{ length }} + k_{{ j }};
//% for out, function in full
//% set f = functions[function]
    {{ out }}[at_{{ j }}{{ " / 4u" if width == 4 }}] = {{ wgsl(f.dtype, width).store(r.call(function, f, along, j)) }};
//% endfor
  }
//% endfor
  } //% if full and not reads_held
//% if single
  if (is_row & (lane == 0u)) {
//% for out, function in single
//% set f = functions[function]
    {{ out }}[row] = {{ wgsl(f.dtype, 1).store(r.call(function, f, along, none)) }};
//% endfor
  }
//% endif
//% endblock
