//# A contraction of few rows: a thread makes every row of four columns, over its part of the summed dims; then the
//# threads of the same columns join. Columns read along the summed dims ("k") are joined lane by lane.
//# A third side: the columns of a second product of the same rows, which the epilogue reads too (acc_beside).
//# row_sums: sums over each row that its elements are computed from (norms), which every workgroup makes for itself first.
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
//% set names = (("acc", "sum"), ("acc_beside", "sum_beside"))[: sides | length - 1]
  // the columns of this thread, and its part of k
  let t = lid.x;
  let group = wid.x + wid.y * p.{{ groups }};
  let depth = group / p.{{ tiles }};
  if (depth >= p.{{ depth }}) {
    return;
  }
{{ tile.batch_and_part(parts, batch, summed) }}
  let lane = t % {{ lanes }}u;
  let strip = t / {{ lanes }}u;
  let column_0 = ((group % p.{{ tiles }}) * {{ lanes }}u + lane) * 4u; //% if b.along == "free"
  let first = begin + strip; //% same
  let column_0 = ((group % p.{{ tiles }}) * {{ workgroup[0] // lanes }}u + strip) * 4u; //% else
  let first = begin + lane * 4u; //% same
{{ skinny.row_sum(name, s, g, high, workgroup[0], wgsl, wgsl(acc, 4)) }} //% for name, s, g in row_sums
{{ side.opened(s, "0u" if loop.first else "column_0", high if loop.first else 4) }} //% for s, g in sides
{{ side.sum_from(s, "first") }} //% same
//% set sums = 1 if b.along == "free" else 4
  // sum over k
  var {{ name[0] }}{{ i }}_{{ c }} = {{ V }}(0); //% for i, c, name in product(range(high), range(sums), names)
  for (var k = begin; k < end; k += {{ reads * ga.stride }}u) {
{{ skinny.columns(b, gb, u, wgsl, ragged) }} //% for u in range(reads)
{{ skinny.columns(sides[2][0], sides[2][1], u, wgsl, ragged) if sides | length > 2 }} //% same
{{ skinny.rows(a, ga, u, high, b.along, wgsl, ragged) }} //% same
//% for u, i, c, n in product(range(reads), range(high), range(sums), range(names | length))
//% set sum = "%s%d_%d" % (names[n][0], i, c)
    {{ sum }} = {{ tile.multiply_add(V, "ax%d_%d" % (u, i), "%sx%d_%d" % (sides[n + 1][0].name, u, c), sum) }};
//% endfor
  }
  // join the threads of the same columns, and write
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
  let row_0 = 0u;
{{ tile.own_four("row", "0u", rows, 0, high, false) }}
{{ tile.own_four("column", "column_0", columns, 0, 1 if out_width == 4 else 4, false) }}
//% for i in range(high)
//% set part, from, most = ("lane", 1, lanes) if b.along == "k" else ("strip", lanes, workgroup[0] // lanes)
{{ skinny.joined(total, sum, i, b.along, V, part, from, most) }} //% for total, sum in names
  if (({{ part }} == 0u) & ({{ i }}u < p.{{ rows.total }})) {
    let start = {{ tile.row_start(parts, batch, out_places, i) }};
//% for j in range(0, 4, out_width)
    if (column_0 + {{ j }}u < p.{{ columns.total }}) {
//% set sum = tile.part("sum%d" % i, j, out_width) ~ (", " ~ tile.part("sum_beside%d" % i, j, out_width) if names | length > 1 else "")
      {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, i, j)) }}
    }
//% endfor
  }
//% endfor
//% endblock
