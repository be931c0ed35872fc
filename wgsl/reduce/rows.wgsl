//# Rows with several reductions and what is made of them. The lanes of a row hold its elements, or read it in each
//# phase anew (reads_held = 0).
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//% import "reduce/_row.wgsl" as r
//% block declarations
//% for name, dtype in boxes
var<workgroup> {{ name }}: array<{{ wgsl(dtype, 1) }}, {{ workgroup[0] }}>;
//% endfor
//% endblock
//% block body
//% set reads = reads_held or prefetch
//% set turn = reads * lanes * width
  let lane = lid.x % {{ lanes }}u;
  let place = (wid.x + wid.y * p.{{ line }}) * {{ across }}u + lid.x / {{ lanes }}u;
  let is_row = place < p.{{ rows }};
  let row = min(place, p.{{ rows }} - 1u);
{{ ix.unravel("row", own, row_dims) }}
//% if reads_held
//% for j in range(reads)
{{ r.places("", j, lanes, width, length, along, dims) }}
//% endfor
//% endif
//% for values, reductions in phases
//% set is_first = loop.first
//% for name, function in values
//% for j in range(reads)
  let {{ name }}_{{ j }} = {{ r.call(function, functions[function], along, j) }};
//% endfor
//% endfor
//% for s in reductions
  var {{ s.name }}_all = {{ r.empty(s.op, wgsl(s.dtype, width)) }};
//% if not reads_held and r.in_blocks(s, lanes, wgsl)
{{ combine.begin_blocks(wgsl(s.dtype, width), s.name ~ "_all") }}
//% endif
//% if s.top
  var {{ s.name }}_from = {{ r.finite(wgsl(s.dtype, width), s.top ~ "_all") }};
//% endif
//% endfor
//% if reductions and not reads_held
  for (var k = 0u; k < p.{{ length }}; k += {{ turn }}u) {
//% for j in range(reads)
{{ r.places("k + ", j, lanes, width, length, along, dims) }}
//% endfor
//% endif
//% for j in range(reads)
//% for s in reductions | rejectattr("top")
{{ r.add(s, functions[s.function], along, j, wgsl, width, "_all_few" if not reads_held and r.in_blocks(s, lanes, wgsl) else "_all") }}
//% endfor
//% endfor
//% for s in reductions | selectattr("top")
{{ r.follow(s, reads, wgsl, width) }}
//% endfor
//% for s in reductions
//% if not reads_held and r.in_blocks(s, lanes, wgsl)
{{ combine.add_blocks(wgsl(s.dtype, width), s.name ~ "_all", "(k / %du + 1u)" % turn) }}
//% endif
//% endfor
//% if reductions and not reads_held
  }
//% endif
//% for s in reductions
//% if not reads_held and r.in_blocks(s, lanes, wgsl)
{{ combine.end_blocks(s.name ~ "_all") }}
//% endif
//% if s.top
{{ r.scale(s, s.name ~ "_all", s.name ~ "_from", s.top, wgsl(s.dtype, width)) }}
//% endif
{{ r.narrow(s, wgsl, width) }}
//% if s.top
  let {{ s.name }}_lane = {{ r.finite(wgsl(s.dtype, 1), s.top) }};
//% endif
//% endfor
//% if reductions and lanes > 1
//% if not is_first
  workgroupBarrier();
//% endif
{{ r.tree(reductions | rejectattr("top") | list, steps, wgsl) }}
//% for s in reductions | selectattr("top")
{{ r.scale(s, s.name, s.name ~ "_lane", s.top, wgsl(s.dtype, 1)) }}
{{ r.tree([s], steps, wgsl) }}
//% endfor
//% endif
//% endfor
//% if full and not reads_held
  for (var k = 0u; k < p.{{ length }}; k += {{ turn }}u) {
//% for j in range(reads)
{{ r.places("k + ", j, lanes, width, length, along, dims) }}
//% endfor
//% endif
//% for j in range(reads if full else 0)
  if (is_row & is_{{ j }}) {
    let at_{{ j }} = row * p.{{ length }} + k_{{ j }};
//% for out, function in full
    {{ out }}[at_{{ j }}{{ " / 4u" if width == 4 }}] = {{ wgsl(functions[function].dtype, width).store(r.call(function, functions[function], along, j)) }};
//% endfor
  }
//% endfor
//% if full and not reads_held
  }
//% endif
//% if single
  if (is_row & (lane == 0u)) {
//% for out, function in single
    {{ out }}[row] = {{ wgsl(functions[function].dtype, 1).store(r.call(function, functions[function], along, none)) }};
//% endfor
  }
//% endif
//% endblock
