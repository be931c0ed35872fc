//# Every element by itself: a thread makes four neighbours, at once where they lie side by side in every buffer; of a
//# large value several fours, a workgroup's width apart, all read before one is written: so more reads are under way.
//% extends "kernel.wgsl"
//% import "map/_write.wgsl" as mapping
//% block body
//% set f = functions["value"]
  let group = wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u);
//% if several > 1
  let first = group * {{ workgroup[0] * several }}u + lid.x;
  let i_{{ j }} = min((first + {{ j * workgroup[0] }}u) * 4u, (p.{{ size }} - 1u) / 4u * 4u); //% for j in range(several)
{{ ix.unravel("i_%d" % j, f.coords | map("suffix", "_%d" % j) | list, dims[1:]) }} //% same
  let y{{ j }} = value({{ f.coords | map("suffix", "_%d" % j) | join(", ") }}); //% same
  if ((first + {{ j * workgroup[0] }}u) * 4u < p.{{ size }}) { //% for j in range(several)
    out[first + {{ j * workgroup[0] }}u] = {{ wgsl(out_dtype, 4).store("y%d" % j) }};
  }
//% else
  let i = (group * {{ workgroup[0] }}u + lid.x) * {{ out_width }}u;
  if (i >= p.{{ size }}) {
    return;
  }
{{ mapping.write("value", f, dims, outs | map("first") | list, out_width, wgsl) }}
//% endif
//% endblock
