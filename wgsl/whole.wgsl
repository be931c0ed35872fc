//# What an op that is written as whole kernels extends: `group` is the workgroup's place in a line of them.
//% extends "kernel.wgsl"
//% block declarations
//% if functions
fn value_at(i: u32) -> {{ wgsl(functions[0][1].dtype, 1) }} {
{{ ix.unravel("i", functions[0][1].coords, dims[1:]) }}
  return value({{ functions[0][1].coords | join(", ") }});
}
//% endif
//% block shared
//% endblock
//% endblock
//% block body
  let group = wid.x + wid.y * p.{{ across }};
//% block work
//% endblock
//% endblock
