//# Every element by itself: a thread makes four neighbours, at once where they lie side by side in every buffer; of a
//# large value several fours, a workgroup's width apart, all read before one is written: so more reads are under way.
//% extends "kernel.wgsl"
//% block body
//% set f = functions["value"]
//% set T = wgsl(out_dtype, 1)
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
//% if several > 1
  let first = group * {{ workgroup[0] * several }}u + lid.x;
//% for j in range(several)
  let i{{ j }} = min((first + {{ j * workgroup[0] }}u) * 4u, (p.{{ size }} - 1u) / 4u * 4u);
{{ ix.unravel("i%d" % j, f.coords | map("suffix", "_%d" % j) | list, dims[1:]) }}
  let y{{ j }} = value({{ f.coords | map("suffix", "_%d" % j) | join(", ") }});
//% endfor
//% for j in range(several)
  if ((first + {{ j * workgroup[0] }}u) * 4u < p.{{ size }}) {
    out[first + {{ j * workgroup[0] }}u] = {{ wgsl(out_dtype, 4).store("y%d" % j) }};
  }
//% endfor
//% else
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
//% endif
//% endblock
