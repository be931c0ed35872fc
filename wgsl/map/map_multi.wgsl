//# Several values of the same elements: each thread computes all of them before it writes any, so that each may be
//# written over its inputs.
//% extends "kernel.wgsl"
//% import "map/_write.wgsl" as mapping
//% block body
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
  let i = (group * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (i >= p.{{ size }}) {
    return;
  }
{{ mapping.write("values", functions["values"], dims, outs | map("first") | list, out_width, wgsl) }}
//% endblock
