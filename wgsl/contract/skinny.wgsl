//# A contraction of few rows: a thread makes every row of four columns, over its part of the summed dims; then the
//# threads of the same columns join. Columns read along the summed dims ("k") are joined lane by lane.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_operand.wgsl" as side
//% import "contract/_skinny.wgsl" as skinny
//% block declarations
var<workgroup> partials: array<{{ wgsl(acc, 4) }}, {{ workgroup[0] }}>;
//% endblock
//% block body
//% set a, ga = sides[0]
//% set b, gb = sides[1]
  // the columns of this thread, and its part of k
  let t = lid.x;
  let group = wid.x + wid.y * p.{{ groups }};
  let depth = group / p.{{ tiles }};
  if (depth >= p.{{ depth }}) {
    return;
  }
  let batch = depth % p.{{ batch.total }}; //% if parts
  let begin = (depth / p.{{ batch.total }}) * p.{{ parts[0] }}; //% same
  let end = min(begin + p.{{ parts[0] }}, p.{{ summed }}); //% same
  let batch = depth; //% else
  let begin = 0u; //% same
  let end = p.{{ summed }}; //% same
  let lane = t % {{ lanes }}u;
  let strip = t / {{ lanes }}u;
  let column_0 = ((group % p.{{ tiles }}) * {{ lanes }}u + lane) * 4u; //% if b.along == "free"
  let first = begin + strip; //% same
  let column_0 = ((group % p.{{ tiles }}) * {{ workgroup[0] // lanes }}u + strip) * 4u; //% else
  let first = begin + lane * 4u; //% same
{{ side.opened(s, "0u" if loop.first else "column_0", high if loop.first else 4) }} //% for s, g in sides
{{ side.sum_from(s, "first") }} //% same
//% set sums = 1 if b.along == "free" else 4
  // sum over k
  var acc{{ i }}_{{ c }} = {{ V }}(0); //% for i, c in product(range(high), range(sums))
  for (var k = begin; k < end; k += {{ reads * ga.stride }}u) {
{{ skinny.columns(b, gb, u, wgsl, ragged) }} //% for u in range(reads)
{{ skinny.rows(a, ga, u, high, b.along, wgsl, ragged) }} //% same
//% for u, i, c in product(range(reads), range(high), range(sums))
    acc{{ i }}_{{ c }} = {{ tile.multiply_add(V, "ax%d_%d" % (u, i), "bx%d_%d" % (u, c), "acc%d_%d" % (i, c)) }};
//% endfor
  }
  // join the threads of the same columns, and write
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
  let row_0 = 0u;
{{ tile.own_four("row", "0u", rows, 0, high, false) }}
{{ tile.own_four("column", "column_0", columns, 0, 1 if out_width == 4 else 4, false) }}
//% for i in range(high)
  var sum{{ i }} = acc{{ i }}_0; //% if b.along == "free"
  var sum{{ i }} = {{ V }}({% for c in range(4) %}{{ "a.x + a.y + a.z + a.w" | replace("a", "acc%d_%d" % (i, c)) }}, {% endfor %}); //% else
//% set part, from = ("lane", 1) if b.along == "k" else ("strip", lanes)
  partials[t] = sum{{ i }}; //% for far in (64, 32, 16, 8, 4, 2, 1) if far < (lanes if b.along == "k" else workgroup[0] // lanes)
  workgroupBarrier(); //% same
  if ({{ part }} < {{ far }}u) { //% same
    sum{{ i }} += partials[t + {{ far * from }}u];
  }
  workgroupBarrier(); //% same
  if (({{ part }} == 0u) & ({{ i }}u < p.{{ rows.total }})) {
    let start = {{ tile.row_start(parts, batch, out_places, i) }};
//% for j in range(0, 4, out_width)
    if (column_0 + {{ j }}u < p.{{ columns.total }}) {
//% set sum = tile.part("sum%d" % i, j, out_width)
      {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, i, j)) }}
    }
//% endfor
  }
//% endfor
//% endblock
