//# The skeleton that every kernel extends: Params, bindings, the entry point. No other template writes a binding.
//% import "lib/index.wgsl" as ix
//% import "lib/function.wgsl" as chain
// {{ head }}
//% block enables
//% endblock
struct Params {
  {{ name }}: {{ type }}, //% for name, type in params
}
@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding({{ loop.index }}) var<storage, read> in{{ loop.index0 }}: array<{{ vec(stored, words) }}>; //% for stored, words in bindings
//% for name, stored, words in outs
//% set type = "atomic<" ~ stored ~ ">" if atomics else vec(stored, words)
@group(0) @binding({{ bindings | length + loop.index }}) var<storage, read_write> {{ name }}: array<{{ type }}>;
//% endfor
@group(0) @binding({{ bindings | length + outs | length + 1 }}) var<storage, read_write> faults: array<vec4<u32>>; //% if checks

{{ chain.function(name, f, wgsl) }} //% for name, f in functions.items()
//% block declarations
//% endblock
@compute @workgroup_size({{ workgroup | join(", ") }})
fn main({% block builtins %}{% endblock %}@builtin(workgroup_id) {{ "wid_here" if ranged else "wid" }}: vec3<u32>,
  {{- " " }}@builtin(local_invocation_id) lid: vec3<u32>) {
// a range of the workgroups of a kernel that takes long: see src/flambeau/runtime/pipeline.py //% if ranged
  var wid = wid_here; //% if ranged
  wid.{{ ranged }} += p.first_group; //% if ranged
//% block body
//% endblock
}
