//# A contraction in register tiles: each thread makes a tile of the result, with no barrier and no shared memory.
//# The tile is 8 x 8, less where the result has fewer rows or columns, 16 rows for much work, and 16 columns where
//# columns are read one by one: on a software adapter reads are expensive and registers are not. All loops inside
//# the tile are unrolled here, because dynamically indexed private arrays end up in memory. Workgroups are 64
//# threads in one of four shapes.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
{% macro result(j) -%}
  {% if out_width == 4 %}{{ tile.result_four(finish, "y%d" % (j // 4), rows, columns, "r", j, wgsl(out_dtype, 4)) }}
  {%- else %}{{ tile.result(finish, tile.part("y%d" % (j // 4), j, 1), rows, columns, "r", j) }}{% endif %}{%- endmacro %}
//% block body
//# the loops over summed dims, unless one loop counts on through all of them
//% set nested = () if flat else summed.coords
  // the tile of this thread: its first row and column, and the matrix of the batch
  let group = wid.x + wid.y * p.{{ groups }};
  let column_0 = ((group % p.{{ tiles[0] }}) * {{ workgroup[0] }}u + lid.x) * {{ tile_columns }}u;
  let line = group / p.{{ tiles[0] }};
  let row_0 = ((line % p.{{ tiles[1] }}) * {{ workgroup[1] }}u + lid.y) * {{ tile_rows }}u;
  let b = line / p.{{ tiles[1] }};
  if (row_0 >= p.{{ rows.total }} || column_0 >= p.{{ columns.total }} || b >= p.{{ batch.total }}) {
    return;
  }
{{ ix.unravel("b", batch.coords, batch.sizes[1:]) }}
{{ tile.coordinates("row_0", rows, j) }} //% for j in range(tile_rows)
{{ tile.coordinates("column_0", columns, j) }} //% for j in range(tile_columns)
  // where its rows (u) and columns (v) begin
{{ tile.origin("u", a, j) if j % 4 == 0 or a.along != "free" }} //% for j in range(tile_rows)
{{ tile.origin("v", b, j) if j % 4 == 0 or b.along != "free" }} //% for j in range(tile_columns)
  var acc{{ i }}_{{ j }} = {{ V }}(0); //% for i, j in product(range(tile_rows), range(tile_columns // 4))
//# several summed dims are one loop on software adapters: their compilers pass every sum from one loop to the next
  // sum over k
  var {{ c }} = 0u; //% for c in summed.coords if flat
  for (var turn = 0u; turn < p.{{ summed.total }}; turn += {{ step }}u) { //% if flat
  for (var {{ c }} = 0u; {{ c }} < p.{{ summed.sizes[loop.index0] }}; {{ c }} += {{ step if loop.last else 1 }}u) { //% for c in nested
{{ tile.read("u", a, tile_rows, step, wgsl, summed) }}
{{ tile.read("v", b, tile_columns, step, wgsl, summed) }}
//% for s in range(step)
    let w{{ s }}_{{ j }} = {{ tile.four(b, j, s, V) }}; //% for j in range(0 if b.along == "free" else tile_columns // 4)
//% for i, j in product(range(tile_rows), range(tile_columns // 4))
    acc{{ i }}_{{ j }} = {{ tile.multiply_add(V, tile.one("u", a, i, s), tile.four_name(b, j, s), "acc%d_%d" % (i, j)) }};
//% endfor
//% endfor
{{ tile.count_on(summed, step) if flat }}
  } //% for loop_ in (["turn"] if flat else nested)
  // write the tile, row by row{{ ": finish is the epilogue" if finish }}
//# One row's code, for one row after the other: written out for all of them it is nine tenths of what a compiler
//# works through. (An array of rows is no way: drivers unroll the loops over it.)
  let last = min(row_0 + {{ tile_rows }}u, p.{{ rows.total }});
  for (var row_r = row_0; row_r < last; row_r += 1u) {
{{ ix.unravel("row_r", rows.coords | map("suffix", "_r") | list, rows.sizes[1:]) }}
    let start = {{ sum_of(index_of(out[0]), index_of(out[1], "_r")) }};
    var y{{ j }} = acc0_{{ j }}; //% for j in range(tile_columns // 4)
//% for i in range(1, tile_rows)
    let is{{ i }} = row_r == row_0 + {{ i }}u;
    y{{ j }} = select(y{{ j }}, acc{{ i }}_{{ j }}, is{{ i }}); //% for j in range(tile_columns // 4)
//% endfor
    if ({{ plus("column_0", j) }} < p.{{ columns.total }}) { //% for j in range(0, tile_columns, out_width)
      {{ tile.store(wgsl(out_dtype, out_width), "start + " ~ index_of(out[2], "_%d" % j), result(j)) }}
    }
  }
//% endblock
