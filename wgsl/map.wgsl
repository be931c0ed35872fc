//# Every element by itself: a thread makes four neighbours, at once where they lie side by side in every buffer.
//% extends "kernel.wgsl"
//% block body
//% set f = functions[0][1]
//% set T = wgsl(out_dtype, 1)
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
  let i = (group * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (i >= p.{{ size }}) {
    return;
  }
//% if f.width == out_width
{{ ix.unravel("i", f.coords, dims[1:]) }}
  let y = value({{ f.coords | join(", ") }});
//% else
{{ ix.unravel("i", f.coords | map("suffix", "_0") | list, dims[1:]) }}
//% for j in range(1, out_width)
{{ ix.next(f.coords, dims, j) }}
//% endfor
//% for j in range(out_width)
  let y{{ j }} = value({{ f.coords | map("suffix", "_%d" % j) | join(", ") }});
//% endfor
  let y = vec4<{{ T }}>(y0, y1, y2, y3);
//% endif
  out[{{ "i / 4u" if out_width == 4 else "i" }}] = {{ wgsl(out_dtype, out_width).store("y") }};
//% endblock
