//# Two words an element, side by side: a thread makes both.
//% extends "kernel.wgsl"
//% block body
//% set f = functions["values"]
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.{{ size }}) {
    return;
  }
{{ ix.unravel("i", f.coords, dims[1:]) }}
  let y = values({{ f.coords | join(", ") }});
  out[i] = {{ wgsl(out_dtype, 2) }}(y.{{ words[0] }}, y.{{ words[1] }});
//% endblock
