//# What an op that is written as opaque kernels extends: `group` is the workgroup's place in a line of them.
//% extends "kernel.wgsl"
//% block declarations
fn value{{ "s" if f.width == 4 }}_at(i: u32) -> {{ wgsl(f.dtype, f.width) }} { //% for f in functions.values()
{{ ix.unravel("i", f.coords, dims[1:]) }}
  return value({{ f.coords | join(", ") }});
}
fn values_at(i: u32) -> {{ wgsl(f.dtype, 4) }} { //% for f in functions.values() if fours and f.width == 1
  return {{ wgsl(f.dtype, 4) }}(value_at(i), value_at(i + 1u), value_at(i + 2u), value_at(i + 3u));
}
{% block shared %}{% endblock %}
//% endblock
//% block body
  let group = wid.x + wid.y * p.{{ across }};
//# a line folded into two dims is rounded up
  if (group >= p.{{ folded }}) { //% if folded
    return;
  }
{% block work %}{% endblock %}
//% endblock
