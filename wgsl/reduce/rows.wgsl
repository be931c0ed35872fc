//# Several reductions over the same rows, and the ops on their results. The lanes of a row hold its elements, or read
//# them again in each phase (reads_held = 0).
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//% import "reduce/_row.wgsl" as r
//# declares the variable of a reduction in a lane, with its start value
{% macro begun(s) -%}
  var {{ s.name }}_all = {{ r.empty(s.op, wgsl(s.dtype, width)) }};
{{ combine.begin_blocks(wgsl(s.dtype, width), s.name ~ "_all") if blocks(s) }}
  var {{ s.name }}_from = {{ r.finite(wgsl(s.dtype, width), s.top ~ "_all") }}; //% if s.top
{%- endmacro %}

//# whether it is added up in blocks
{% macro blocks(s) -%}{{ r.in_blocks(s, lanes, wgsl) if not reads_held }}{%- endmacro %}

//# joins the elements of a turn along the row to it
{% macro added(reductions) -%}
//% for mark, _ in places
{{ r.add(s, functions[s.function], along, mark, wgsl, width, "_all_of_8" if blocks(s) else "_all") }} //% for s in reductions | rejectattr("top")
//% endfor
{{ r.follow(s, places, wgsl, width) }} //% for s in reductions | selectattr("top")
{{ combine.add_blocks(wgsl(s.dtype, width), s.name ~ "_all", "(%s + 1u)" % over("k", turn)) }} //% for s in reductions if blocks(s)
{%- endmacro %}

//# reduces it to one value of the lane after all turns
{% macro ended(s) -%}
{{ combine.end_blocks(s.name ~ "_all") if blocks(s) }}
{{ r.scale(s, s.name ~ "_all", s.name ~ "_from", s.top, wgsl(s.dtype, width)) if s.top }}
{{ r.narrow(s, wgsl, width) }}
  let {{ s.name }}_lane = {{ r.finite(wgsl(s.dtype, 1), s.top) }}; //% if s.top
{%- endmacro %}

//# what all lanes of a row have of it
{% macro joined(reductions, is_first) -%}
  // join the threads of the row
  workgroupBarrier(); //% if not is_first
{{ r.tree(reductions | rejectattr("top") | list, steps, across, wgsl) }}
{{ r.scale(s, s.name, s.name ~ "_lane", s.top, wgsl(s.dtype, 1)) }} //% for s in reductions | selectattr("top")
{{ r.tree([s], steps, across, wgsl) }} //% same
{%- endmacro %}

//# the reductions of a phase
{% macro reduced(reductions, is_first) -%}
  // {{ reductions | map(attribute="op") | join(" and ") }} of the row
{{ begun(s) }} //% for s in reductions
{{ begin_turns() if not reads_held }}
{{ added(reductions) }}
  } //% if not reads_held
{{ ended(s) }} //% for s in reductions
{{ joined(reductions, is_first) if lanes > 1 }}{%- endmacro %}

//# a loop along the row, and the places that a turn reads
{% macro begin_turns() -%}
  for (var k = 0u; k < p.{{ length }}; k += {{ turn }}u) {
{{ r.places("k", mark, ahead, lanes, width, length, along, dims) }} //% for mark, ahead in places
{%- endmacro %}
//% block declarations
var<workgroup> {{ name }}: array<{{ wgsl(dtype, 1) }}, {{ workgroup[0] }}>; //% for name, dtype in partials
//% endblock
//% block body
  // the row of this thread{{ ", of which it is one of %d" % lanes if lanes > 1 }}
  let lane = {{ modulo("lid.x", lanes) if across > 1 else "lid.x" }}; //% if lanes > 1
  let place = {{ sum_of(times("wid.x + wid.y * p." ~ line, across), over("lid.x", lanes) if across > 1 else "0u") }};
  let is_row = place < p.{{ rows }};
  let row = min(place, p.{{ rows }} - 1u);
{{ ix.unravel("row", own, row_dims) }}
{{ r.places("", mark, ahead, lanes, width, length, along, dims) }} //% for mark, ahead in (places if reads_held else ())
//% for values, reductions in phases
  // hold elements of the row //% if values
  let {{ name }}{{ mark }} = {{ r.call(function, functions[function], along, mark) }}; //% for (name, function), (mark, _) in product(values, places)
{{ reduced(reductions, loop.first) if reductions }}
//% endfor
  // write the row //% if full
{{ begin_turns() if full and not reads_held }}
  if ({{ "is_row & is%s" % mark if mark else "is_row" }}) { //% for mark, _ in (places if full else ())
    let at{{ mark }} = row * p.{{ length }} + k{{ mark }};
//% for out, function in full
//% set f = functions[function]
    {{ out }}[{{ over("at%s" % mark, width) }}] = {{ wgsl(f.dtype, width).store(r.call(function, f, along, mark)) }};
//% endfor
  }
  } //% if full and not reads_held
  // write one value for the row //% if single
  if ({{ "is_row & (lane == 0u)" if lanes > 1 else "is_row" }}) { //% if single
//% for out, function in single
//% set f = functions[function]
    {{ out }}[row] = {{ wgsl(f.dtype, 1).store(r.call(function, f, along, none)) }};
//% endfor
  }
//% endblock
