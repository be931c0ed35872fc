//# Rows reduced by many threads each: every lane takes its turns along the row, then the lanes join in a tree.
//% extends "kernel.wgsl"
//% import "combine.wgsl" as combine
//% set f = functions[0][1]
//% set T = wgsl(acc, f.width)
//% set S = wgsl(acc, 1)
//% set own = coords | join(", ")
//% block declarations
//% set f = functions[0][1]
//% set S = wgsl(acc, 1)
var<workgroup> box: array<{{ S }}, {{ workgroup[0] }}>;

fn element(k: u32, {% for c in coords %}{{ c }}: u32, {% endfor %}) -> {{ wgsl(f.dtype, f.width) }} {
{{ ix.unravel("k", f.coords[coords | length:], loops[1:]) }}
  return value({{ f.coords | join(", ") }});
}
//% endblock
//% block body
//% set f = functions[0][1]
//% set T = wgsl(acc, f.width)
//% set S = wgsl(acc, 1)
//% set own = (coords | join(", ") ~ ", ") if coords else ""
//% set empty = T ~ "(" ~ combine.start[op](T) ~ ")"
//% set step = lanes * f.width
  let lane = lid.x {{ "/ %du" % across if columns else "%% %du" % lanes }};
  let group = wid.x + wid.y * p.{{ line }};
  let row = (group % p.{{ blocks }}) * {{ across }}u + lid.x {{ "%% %du" % across if columns else "/ %du" % lanes }};
  let part = group / p.{{ blocks }};
  let is_row = (row < p.{{ rows }}) & (part < {{ "p." ~ parts if parts else "1u" }});
{{ ix.unravel("row", coords, row_dims) }}
  let first = part * p.{{ chunk }};
  let last = select(0u, min(first + p.{{ chunk }}, p.{{ length }}), is_row);
//% for j in range(4)
  var t{{ j }} = {{ empty }};
//% endfor
  var k = first + lane * {{ f.width }}u;
  for (; k + {{ 3 * step + f.width - 1 }}u < last; k += {{ 4 * step }}u) {
//% for j in range(4)
    let x{{ j }} = element(k + {{ j * step }}u, {{ own }});
//% endfor
//% for j in range(4)
    t{{ j }} = {{ combine.join[op](T, "t%d" % j, "x%d" % j) }};
//% endfor
  }
  for (; k < last; k += {{ step }}u) {
//% if f.width == 4
    let inside = vec4<u32>(k) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(last);
    let x = select({{ empty }}, element(k, {{ own }}), inside);
//% else
    let x = element(k, {{ own }});
//% endif
    t0 = {{ combine.join[op](T, "t0", "x") }};
  }
  let t4 = {{ combine.join[op](T, "t0", "t1") }};
  let t5 = {{ combine.join[op](T, "t2", "t3") }};
  let t = {{ combine.join[op](T, "t4", "t5") }};
//% if f.width == 4
  let low = {{ combine.join[op](S, "t.x", "t.y") }};
  let high = {{ combine.join[op](S, "t.z", "t.w") }};
  var joined = {{ combine.join[op](S, "low", "high") }};
//% else
  var joined = t;
//% endif
//% set apart = across if columns else 1
//% for s in (128, 64, 32, 16, 8, 4, 2, 1)
//% if s < lanes
  box[lid.x] = joined;
  workgroupBarrier();
  if (lane < {{ s }}u) {
    let other = box[lid.x + {{ s * apart }}u];
    joined = {{ combine.join[op](S, "joined", "other") }};
  }
  workgroupBarrier();
//% endif
//% endfor
  if (is_row & (lane == 0u)) {
    let result = joined;
//% if functions | length > 1
    let e = row;
{{ ix.unravel("e", functions[1][1].coords, e_dims) }}
    out[row] = {{ wgsl(out_dtype, 1).store("finish(" ~ (["result"] + functions[1][1].coords | list) | join(", ") ~ ")") }};
//% else
    out[{{ "part * p." ~ rows ~ " + row" if behind else "row" ~ (" * p." ~ parts ~ " + part" if parts else "") }}] = {{ wgsl(out_dtype, 1).store("result") }};
//% endif
  }
//% endblock
