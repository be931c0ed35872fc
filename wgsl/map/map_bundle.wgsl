//# Several maps side by side: each has a range of the workgroups.
//% extends "kernel.wgsl"
//% import "map/_write.wgsl" as mapping
//% block declarations
fn segment{{ loop.index0 }}(place: u32) { //% for name, size, dims, names, width in segments
  let i = place * {{ width }}u;
  if (i >= p.{{ size }}) {
    return;
  }
{{ mapping.write(name, functions[name], dims, names, width, wgsl) }}
}
//% endblock
//% block body
  {{ "} else " if loop.index0 }}{{ "if (wid.x < p." ~ ends[loop.index0] ~ ") {" if not loop.last else "{" }} //% for s in segments
    segment{{ loop.index0 }}((wid.x - {{ "p." ~ ends[loop.index0 - 1] if loop.index0 else "0u" }}) * {{ workgroup[0] }}u + lid.x); //% same
  }
//% endblock
