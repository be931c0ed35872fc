//# Several values of the same elements: each thread computes all of them before it writes any, so that each may be
//# written over what it was made of.
//% extends "kernel.wgsl"
//% block body
//% set f = functions[0][1]
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
  let i = (group * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (i >= p.{{ size }}) {
    return;
  }
//% if f.width == out_width
{{ ix.unravel("i", f.coords, dims[1:]) }}
  let y = values({{ f.coords | join(", ") }});
//% for result, dtype in f.results
  let y_{{ result }} = y.{{ result }};
//% endfor
//% else
{{ ix.unravel("i", f.coords | map("suffix", "_0") | list, dims[1:]) }}
//% for j in range(1, out_width)
{{ ix.next(f.coords, dims, j) }}
//% endfor
//% for j in range(out_width)
  let y{{ j }} = values({{ f.coords | map("suffix", "_%d" % j) | join(", ") }});
//% endfor
//% for result, dtype in f.results
  let y_{{ result }} = {{ wgsl(dtype, out_width) }}(y0.{{ result }}, y1.{{ result }}, y2.{{ result }}, y3.{{ result }});
//% endfor
//% endif
//% for result, dtype in f.results
  {{ outs[loop.index0][0] }}[{{ "i / 4u" if out_width == 4 else "i" }}] = {{ wgsl(dtype, out_width).store("y_" ~ result) }};
//% endfor
//% endblock
