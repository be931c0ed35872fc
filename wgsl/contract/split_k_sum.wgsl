//# The pieces of a contraction's sums, each as large as the result, added up: by one thread a four of results, or by
//# `lanes` threads, which add every lanes-th piece and join in a tree.
//% extends "kernel.wgsl"
//% block declarations
var<workgroup> sums: array<{{ wgsl(acc, out_width) }}, {{ workgroup[0] }}>; //% if lanes > 1
//% endblock
//% block body
//% set V, across = wgsl(acc, out_width), workgroup[0] // lanes
//% if lanes > 1
  let lane = lid.x / {{ across }}u;
  let first = ((wid.x + wid.y * p.{{ groups }}) * {{ across }}u + lid.x % {{ across }}u) * {{ out_width }}u;
  let begin = select(p.{{ all }}, first + lane * p.{{ size }}, first < p.{{ size }});
//% else
  let first = ((wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (first >= p.{{ size }}) {
    return;
  }
  let begin = first;
//% endif
  var total = {{ V }}(0);
  for (var at = begin; at < p.{{ all }}; at += {{ times("p." ~ size, lanes) if lanes > 1 else "p." ~ size }}) {
    total += in0[at{{ " / 4u" if out_width == 4 }}];
  }
//% for s in (8, 4, 2, 1) if s < lanes
  sums[lid.x] = total;
  workgroupBarrier();
  if (lane < {{ s }}u) {
    total += sums[lid.x + {{ s * across }}u];
  }
  workgroupBarrier(); //% if s > 1
//% endfor
//% if lanes > 1
  if ((lane > 0u) | (first >= p.{{ size }})) {
    return;
  }
//% endif
//% if finish
{{ ix.unravel("first", finish.coords, dims) }}
  let result = finish({{ (["total"] + finish.coords | list) | join(", ") }});
//% else
  let result = total;
//% endif
  out[first{{ " / 4u" if out_width == 4 }}] = {{ wgsl(out_dtype, out_width).store("result") }};
//% endblock
