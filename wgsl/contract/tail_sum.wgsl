//# The pieces of a contraction's last tiles added up: a thread takes four neighbours of a row of a tile.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% block body
  let at = (wid.x + wid.y * p.{{ groups }}) * {{ workgroup[0] }}u + lid.x;
  if (at >= p.{{ size }}) {
    return;
  }
  var total = {{ V }}(0);
  for (var i = at; i < p.{{ all }}; i += p.{{ size }}) {
    total += in0[i];
  }
  let inside = at % {{ extent[0] * extent[1] // 4 }}u;
  let place = p.{{ whole }} + at / {{ extent[0] * extent[1] // 4 }}u;
  let line = place / p.{{ tiles[0] }};
  let batch = line / p.{{ tiles[1] }};
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
{{ tile.own_four("row", "line %% p.%s * %du + inside / %du" % (tiles[1], extent[0], extent[1] // 4), rows, 0, 1) }}
//% set column = "place %% p.%s * %du + inside %% %du * 4u" % (tiles[0], extent[1], extent[1] // 4)
{{ tile.own_four("column", column, columns, 0, 1 if out_width == 4 else 4) }}
  if (row_0 < p.{{ rows.total }}) {
    let start = {{ tile.row_start((), batch, out_places, 0) }};
//% for j in range(0, 4, out_width)
    if (column_0 + {{ j }}u < p.{{ columns.total }}) {
//% set sum = tile.part("total", j, out_width)
      {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, 0, j)) }}
    }
//% endfor
  }
//% endblock
