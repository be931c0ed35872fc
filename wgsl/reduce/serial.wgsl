//# Rows reduced by a thread each; with `parts`, neighbouring threads share a row, taking turns along one of its dims.
//# Floats are added up in blocks, so that no long sum takes in small numbers one by one.
//% extends "kernel.wgsl"
//% import "lib/monoids.wgsl" as combine
//% block body
//% set f, end = functions["value"], ends[0]
//% set op, T = end.op, wgsl(end.dtype, f.width)
//% set inner, in_blocks = loops | length - 1, op == "sum" and T.kind == "f"
  // the row of this thread
//% set i = "i" if parts else "row"
  let {{ i }} = (wid.x + wid.y * (p.{{ span }} / {{ workgroup[0] }}u)) * {{ workgroup[0] }}u + lid.x;
  if ({{ i }} >= p.{{ size }}) {
    return;
  }
  let row = i / p.{{ parts }}; //% if parts
  let part = i % p.{{ parts }}; //% if parts
{{ ix.unravel("row", coords, row_dims) }}
  // {{ op }} of the row
  var total = {{ T }}({{ combine.start[op](T) }});
{{ combine.begin_blocks(T, "total") }} //% if in_blocks
  var turn = 0u; //% if in_blocks
//% for n in loops
//% set step = 4 if loop.last and f.width == 4 else 1
//% set shared = parts and loop.index0 == cut
//% set r, first = "r%d" % loop.index0, times("part", step) if shared else "0u"
  for (var {{ r }} = {{ first }}; {{ r }} < p.{{ n }}; {{ r }} += {{ times("p." ~ parts, step) if shared else "%du" % step }}) {
//% endfor
    let lanes = vec4<u32>(r{{ inner }}) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(p.{{ loops[-1] }}); //% if f.width == 4
    let x = select({{ T }}({{ combine.start[op](T) }}), value({{ f.coords | join(", ") }}), lanes); //% if f.width == 4
    let x = value({{ f.coords | join(", ") }}); //% if f.width != 4
    total_of_8 += x; //% if in_blocks
    turn += 1u; //% if in_blocks
{{ combine.add_blocks(T, "total", "turn") }} //% if in_blocks
    total = {{ combine.join[op](T, "total", "x") }}; //% if not in_blocks
  } //% for n in loops
  // join the partial results, and write
{{ combine.end_blocks("total") }} //% if in_blocks
  let low = {{ combine.join[op](T.scalar, "total.x", "total.y") }}; //% if f.width == 4
  let high = {{ combine.join[op](T.scalar, "total.z", "total.w") }}; //% if f.width == 4
  let result = {{ combine.join[op](T.scalar, "low", "high") if f.width == 4 else "total" }};
//% if end.finish
//% set finish = functions[end.finish]
{{ ix.unravel("row", finish.coords, end.dims, "e") }}
  out[{{ i }}] = {{ wgsl(end.stored, 1).store(end.finish ~ "(" ~ (["result"] + finish.coords | list) | join(", ") ~ ")") }};
//% else
  out[{{ i }}] = {{ wgsl(end.stored, 1).store("result") }};
//% endif
//% endblock
