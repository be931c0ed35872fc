//# The pieces of a contraction's sums, each as large as the result, added up: by one thread a four of results, or by
//# `lanes` threads, which add every lanes-th piece and join in a tree.
//% extends "kernel.wgsl"
//% block declarations
var<workgroup> sums: array<{{ wgsl(acc, out_width) }}, {{ workgroup[0] }}>; //% if lanes > 1
//% endblock
//% block body
//% set V, across = wgsl(acc, out_width), workgroup[0] // lanes
  let lane = lid.x / {{ across }}u; //% if lanes > 1
  let first = ((wid.x + wid.y * p.{{ groups }}) * {{ across }}u + lid.x % {{ across }}u) * {{ out_width }}u; //% same
  let begin = select(p.{{ all }}, first + lane * p.{{ size }}, first < p.{{ size }}); //% same
  let first = ((wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u; //% else
  if (first >= p.{{ size }}) { //% same
    return;
  }
  let begin = first; //% same
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
  if ((lane > 0u) | (first >= p.{{ size }})) { //% if lanes > 1
    return;
  }
{{ ix.unravel("first", finish.coords, dims) }} //% if finish
  let result = finish({{ (["total"] + finish.coords | list) | join(", ") }}); //% same
  let result = total; //% else
  out[first{{ " / 4u" if out_width == 4 }}] = {{ wgsl(out_dtype, out_width).store("result") }};
//% endblock
