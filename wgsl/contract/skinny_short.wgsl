//# A contraction of few rows and short sums: a thread makes every row of four columns by itself. They are neighbours
//# where four are read at once; else each is a neighbour of the next thread's.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_operand.wgsl" as side
//% block body
//% set V = wgsl(acc, 4 if sides[1][0].wide else 1)
//% set a, ga = sides[0]
//% set b, gb = sides[1]
//% set count = 1 if b.wide else 4
  let group = wid.x + wid.y * p.{{ groups }};
  let batch = group / p.{{ tiles }};
  if (batch >= p.{{ depth }}) {
    return;
  }
  let end = p.{{ summed }};
  let first = (group % p.{{ tiles }}) * {{ workgroup[0] * 4 }}u + lid.x{{ " * 4u" if b.wide }};
{{ side.opened(a, "0u", high) }}
{{ side.sum_from(a, "0u") }}
{{ side.opened(b, "first + %du" % (j * workgroup[0]), 1, j) }} //% for j in range(count)
{{ side.sum_from(b, "0u") }}
  var acc{{ i }}_{{ j }} = {{ V }}(0); //% for i, j in product(range(high), range(count))
  for (var k = 0u; k < end; k++) {
    var x{{ i }} = {{ wgsl(a.dtype, 1) }}(0); //% for i in range(high)
    {
{{ side.along(a, 0, false) }}
    x{{ i }} = {{ side.value(a, i, 0, wgsl(a.dtype, 1), false) }}; //% for i in range(high)
{{ side.advance(a, ga) }}
    }
    {
{{ side.along(b, 0, false) }}
//% for j in range(count)
    let y{{ j }} = {{ side.value(b, j, 0, wgsl(b.dtype, 1), false) }};
    acc{{ i }}_{{ j }} = {{ tile.multiply_add(V, "x%d" % i, "y%d" % j, "acc%d_%d" % (i, j)) }}; //% for i in range(high)
//% endfor
{{ side.advance(b, gb) }}
    }
  }
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
  let row_0 = 0u;
{{ tile.own_four("row", "0u", rows, 0, high, false) }}
//% if b.wide
{{ tile.own_four("column", "first", columns, 0, 1 if out_width == 4 else 4) }}
//% else
{{ tile.own_four("column", "first + %du" % (j * workgroup[0]), columns, j, 1) }} //% for j in range(4)
//% endif
//% for i in range(high)
  if ({{ i }}u < p.{{ rows.total }}) {
    let start = {{ index_of(out_places[0]) }} + {{ index_of(out_places[1], "_%d" % i) }};
//% for j in range(0, 4, out_width)
    if ({{ "column_0 + %du" % j if b.wide else "column_%d" % j }} < p.{{ columns.total }}) {
//% set sum = tile.part("acc%d_0" % i, j, out_width) if b.wide else "acc%d_%d" % (i, j)
      {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, i, j)) }}
    }
//% endfor
  }
//% endfor
//% endblock
