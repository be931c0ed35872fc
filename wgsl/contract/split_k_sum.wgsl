//# The pieces of a contraction's sums, each as large as the result, added up.
//% extends "kernel.wgsl"
//% block body
//% set V = wgsl(acc, out_width)
  let first = ((wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (first >= p.{{ size }}) {
    return;
  }
  var total = {{ V }}(0);
  for (var at = first; at < p.{{ all }}; at += p.{{ size }}) {
    total += in0[at{{ " / 4u" if out_width == 4 }}];
  }
//% if finish
{{ ix.unravel("first", finish.coords, dims) }}
  let result = finish({{ (["total"] + finish.coords | list) | join(", ") }});
//% else
  let result = total;
//% endif
  out[first{{ " / 4u" if out_width == 4 }}] = {{ wgsl(out_dtype, out_width).store("result") }};
//% endblock
