//# A contraction in tiles of workgroup memory: each thread makes high x across results; the next tile is on its way
//# in registers while this one is multiplied.
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_staging.wgsl" as staging
//% block declarations
var<workgroup> tile_{{ s.name }}: array<{{ V }}, {{ step * g.pitch }}>; //% for s, g in sides
//% endblock
//% block body
  // the tile of this workgroup, and its part of k
  let t = lid.x;
  let group = wid.x + wid.y * p.{{ groups }};
//% if tail
// the first tiles whole, one after another; then pieces of the others, the first piece of each first
  if (group >= p.{{ tail[3] }}) {
    return;
  }
  let cut = group >= p.{{ tail[0] }};
  let piece = select(0u, (group - p.{{ tail[0] }}) / p.{{ tail[1] }}, cut);
  let place = group - piece * p.{{ tail[1] }};
  let line = place / p.{{ tiles[0] }};
  let depth = line / p.{{ tiles[1] }};
//% else
  let place = group;
  let line = group / p.{{ tiles[0] }};
  let depth = line / p.{{ tiles[1] }};
  if (depth >= p.{{ depth }}) {
    return;
  }
//% endif
  let column0 = (place % p.{{ tiles[0] }}) * {{ sides[1][1].extent }}u;
  let row0 = (line % p.{{ tiles[1] }}) * {{ sides[0][1].extent }}u;
//% if tail and not parts
  let batch = depth;
  let begin = piece * p.{{ tail[2] }};
  let end = select(p.{{ summed }}, min(begin + p.{{ tail[2] }}, p.{{ summed }}), cut);
//% else
{{ tile.batch_and_part(parts, batch, summed) }}
//% endif
  // load the first tile of both sides
//% for s, g in sides
{{ staging.begin(s, g, "row0" if loop.first else "column0", "begin") }}
  var {{ s.name }}r{{ i }} = {{ V }}(0); //% for i in range(g.loads * (4 if s.along == "k" and not g.singly else 1))
//% endfor
{{ staging.fetch(s, g, wgsl, ragged) }} //% for s, g in sides
{{ staging.stage(s, g, V) }} //% for s, g in sides
  // the results of this thread in the tile
  let tx = t % {{ across // 4 }}u;
  let ty = t / {{ across // 4 }}u;
  var acc{{ i }}_{{ j }} = {{ V }}(0); //% for i, j in product(range(high), range(wide // 4))
  workgroupBarrier();
  // multiply tile by tile: the next is on its way in registers
  for (var k0 = begin; k0 < end; k0 += {{ step }}u) {
    let more = k0 + {{ step }}u < end;
    if (more) {
{{ staging.fetch(s, g, wgsl, ragged) }} //% for s, g in sides
    }
//# the same lines for each k
//% set products
//% for i, j in product(range(high), range(wide // 4))
      acc{{ i }}_{{ j }} = {{ tile.multiply_add(V, "u%d.%s" % (i // 4, "xyzw"[i % 4]), "v%d" % j, "acc%d_%d" % (i, j)) }};
//% endfor
//% endset
    { //% for k in range(step)
      let u{{ i }} = tile_a[ty + {{ k * sides[0][1].pitch + i * down // 4 }}u]; //% for i in range(high // 4)
      let v{{ j }} = tile_b[tx + {{ k * sides[1][1].pitch + j * across // 4 }}u]; //% for j in range(wide // 4)
{{ products }}
    }
    workgroupBarrier();
    if (more) {
{{ staging.stage(s, g, V) }} //% for s, g in sides
    }
    workgroupBarrier();
  }
//% if tail
  if (cut) {
    let aside = (group - p.{{ tail[0] }}) * {{ sides[0][1].extent * sides[1][1].extent // 4 }}u + ty * {{ sides[1][1].extent }}u + tx;
//% for i, j in product(range(high), range(wide // 4))
    out1[aside + {{ (i // 4 * down + i % 4) * sides[1][1].extent // 4 + j * across // 4 }}u] = acc{{ i }}_{{ j }};
//% endfor
    return;
  }
//% endif
  // write the results{{ ": finish is the epilogue" if functions.get("finish") }}
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
//% for j in range(wide // 4)
{{ tile.own_four("column", "column0 + (tx + %du) * 4u" % (j * across // 4), columns, j * 4, 1 if out_width == 4 else 4) }}
//% endfor
{{ tile.own_four("row", "row0 + (ty + %du) * 4u" % (i // 4 * down // 4), rows, i, 4) }} //% for i in range(0, high, 4)
//% for i in range(high)
  if (row_{{ i // 4 * 4 }} + {{ i % 4 }}u < p.{{ rows.total }}) {
    let start = {{ tile.row_start(parts, batch, out_places, i) }};
//% for j in range(0, wide, out_width)
    if (column_{{ j // 4 * 4 }} + {{ j % 4 }}u < p.{{ columns.total }}) {
//% set sum = tile.part("acc%d_%d" % (i, j // 4), j, out_width)
      {{ tile.store(Out, "start + " ~ index_of(out_places[2], "_%d" % j), tile.result(finish, sum, rows, columns, i, j)) }}
    }
//% endfor
  }
//% endfor
//% endblock
