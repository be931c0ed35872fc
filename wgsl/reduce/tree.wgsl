//# Rows reduced by many threads each: every lane takes its turns along the row, then the lanes join in a tree. Several
//# reductions of the same elements (`ends`) are made in one go.
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//% block declarations
//% set f = functions["value"]
var<workgroup> partials{{ end.tag }}: array<{{ wgsl(end.dtype, 1) }}, {{ workgroup[0] }}>; //% for end in ends

fn element(k: u32, {% for c in coords %}{{ c }}: u32, {% endfor %}) -> {{ f.result if f.results else wgsl(f.dtype, f.width) }} {
{{ ix.unravel("k", f.coords[coords | length:], loops[1:]) }}
  return value({{ f.coords | join(", ") }});
}
//% endblock
//% block body
//% set f = functions["value"]
//% set own = (coords | join(", ") ~ ", ") if coords else ""
//% set step = lanes * f.width
  // the row of this thread, and its part of it
  let lane = {{ over("lid.x", across) if columns else modulo("lid.x", lanes) }};
  let group = wid.x + wid.y * p.{{ line }};
  let row = {{ sum_of(times("group % p." ~ blocks, across), modulo("lid.x", across) if columns else over("lid.x", lanes) if across > 1 else "0u") }};
  let part = group / p.{{ blocks }};
  let is_row = (row < p.{{ rows }}) & (part < {{ "p." ~ parts if parts else "1u" }});
{{ ix.unravel("row", coords, row_dims) }}
  let first = part * p.{{ chunk }};
  let last = select(0u, min(first + p.{{ chunk }}, p.{{ length }}), is_row);
  // {{ ends | map(attribute="op") | unique | join(" and ") }} of its part, four at a time
//% for end in ends
//% set T = wgsl(end.dtype, f.width)
  var t{{ j }}{{ end.tag }} = {{ T }}({{ combine.start[end.op](T) }}); //% for j in range(4)
//% endfor
  var k = first + lane * {{ f.width }}u;
  for (; k + {{ 3 * step + f.width - 1 }}u < last; k += {{ 4 * step }}u) {
    let x{{ j }} = element(k + {{ j * step }}u, {{ own }}); //% for j in range(4)
//% for end in ends
//% for j in range(4)
    t{{ j }}{{ end.tag }} = {{ combine.join[end.op](wgsl(end.dtype, f.width), "t%d%s" % (j, end.tag), "x%d%s" % (j, end.field)) }};
//% endfor
//% endfor
  }
  for (; k < last; k += {{ step }}u) {
    let x = element(k, {{ own }});
    let inside = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(last); //% if f.width == 4
//% for end in ends
//% set T = wgsl(end.dtype, f.width)
    let y{{ end.tag }} = select({{ T }}({{ combine.start[end.op](T) }}), x{{ end.field }}, inside); //% if f.width == 4
    let y{{ end.tag }} = x{{ end.field }}; //% if f.width != 4
    t0{{ end.tag }} = {{ combine.join[end.op](T, "t0" ~ end.tag, "y" ~ end.tag) }};
//% endfor
  }
//% for end in ends
//% set T, S = wgsl(end.dtype, f.width), wgsl(end.dtype, 1)
//% set tag = end.tag
  let t4{{ tag }} = {{ combine.join[end.op](T, "t0" ~ tag, "t1" ~ tag) }};
  let t5{{ tag }} = {{ combine.join[end.op](T, "t2" ~ tag, "t3" ~ tag) }};
  let t{{ tag }} = {{ combine.join[end.op](T, "t4" ~ tag, "t5" ~ tag) }};
  let low{{ tag }} = {{ combine.join[end.op](S, "t" ~ tag ~ ".x", "t" ~ tag ~ ".y") }}; //% if f.width == 4
  let high{{ tag }} = {{ combine.join[end.op](S, "t" ~ tag ~ ".z", "t" ~ tag ~ ".w") }}; //% if f.width == 4
  var joined{{ tag }} = {{ combine.join[end.op](S, "low" ~ tag, "high" ~ tag) if f.width == 4 else "t" ~ tag }};
//% endfor
  // join the threads of the row
//% set apart = across if columns else 1
//% for s in (128, 64, 32, 16, 8, 4, 2, 1) if s < lanes
  partials{{ end.tag }}[lid.x] = joined{{ end.tag }}; //% for end in ends
  workgroupBarrier();
  if (lane < {{ s }}u) {
//% for end in ends
//% set joined = "joined" ~ end.tag
    let other{{ end.tag }} = partials{{ end.tag }}[lid.x + {{ s * apart }}u];
    {{ joined }} = {{ combine.join[end.op](wgsl(end.dtype, 1), joined, "other" ~ end.tag) }};
//% endfor
  }
  workgroupBarrier();
//% endfor
  // write one value a row
  if (is_row & (lane == 0u)) {
//% for end in ends
    {{ "{" if ends | length > 1 }}
    let result = joined{{ end.tag }};
//% if end.finish
//% set finish = functions[end.finish]
{{ ix.unravel("row", finish.coords, end.dims, "e") }}
//% set y = "%s(%s)" % (end.finish, (["result"] + finish.coords | list) | join(", "))
    {{ end.out }}[row] = {{ wgsl(end.stored, 1).store(y) }};
//% else
//% set beside = "row" ~ (" * p." ~ parts ~ " + part" if parts else "")
//% set at = "part * p." ~ rows ~ " + row" if end.behind else beside
    {{ end.out }}[{{ at }}] = {{ wgsl(end.stored, 1).store("result") }};
//% endif
    {{ "}" if ends | length > 1 }}
//% endfor
  }
//% endblock
