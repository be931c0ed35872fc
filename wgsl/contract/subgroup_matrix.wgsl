//# A contraction on matrix units: four subgroups stage tiles of both sides as float16 where they lie, rows or columns
//# innermost, and multiply them by fragments; `split` makes two float16 of each float32, and three products.
//# A workgroup makes 128 x 128 results (64 x 64 where those are too few). Tiles come by _staging.wgsl, as those of
//# contract/tiles.wgsl do, so views, batches, paddings and prologues are the same. Lines are 8 elements further
//# apart than they need to be, or all of a fragment's lines would start in one bank. Rows and columns past the edge
//# are read from the last one and not stored.
//# Sums go from the units to workgroup memory (of their own; with `split` the tiles', or a core would hold one
//# workgroup where it held two), and from there, four neighbours a thread, through the epilogue; 16-bit results are
//# packed there.
//# A device that checks indices clamps each that its compiler can't bound, and tests each fragment. Tint follows
//# lid, +, *, /, % and min into arrays and views of known length: so views have one, and the subgroup's number is
//# min(.., 3).
//% extends "kernel.wgsl"
//% import "contract/_tile.wgsl" as tile
//% import "contract/_staging.wgsl" as staging
//% import "lib/subgroup_matrix.wgsl" as units
//% import "contract/_f16_tiles.wgsl" as f16 with context
//# a thread's cells of both sides' tiles: the registers that hold them, from memory to these, from these to tiles
{% macro registers() -%}
{{ f16.registers(s, g, direct[loop.index0], converted) }} //% for s, g in sides
{%- endmacro %}
{% macro fetched() -%}
//% for s, g in sides
//% set lies = direct[loop.index0]
{{ f16.fetch_converted(s, g, converted[loop.index0][0]) }} //% if converted
{{ f16.fetch_direct(s, g, lies, ragged, walked[loop.index0]) }} //% elif lies
{{ staging.fetch(s, g, wgsl, ragged) }} //% else
//% endfor
{%- endmacro %}
{% macro staged() -%}
//% for s, g in sides
{{ f16.stage_converted(s, g, loop.index0) }} //% if converted
{{ f16.stage(s, g, loop.index0, direct[loop.index0] and s.dtype == "f16") }} //% if not converted
//% endfor
    workgroupBarrier();{%- endmacro %}
{% macro multiplied() -%}
//% for kk in range(0, step, unit.k)
{{ f16.products(left, rights, kk) }} //% for left, rights in (((1, (0,)), (0, (1, 0))) if split else ((0, (0,)),))
//% endfor
{%- endmacro %}
//% block enables
{{ units.enables(unit) }}
//% endblock
//% block builtins
{{ units.builtins(unit) }}
//% endblock
//% block declarations
//% set strip = unit.n if unit.kind == "subgroup" else across
{{ units.memory(unit, f16.all() | int, workgroup[0] // unit.lanes * unit.m * strip) }}
//% endblock
//% block body
//% set strip = unit.n if unit.kind == "subgroup" else across
  let t = lid.x;
//% set subgroups = workgroup[0] // unit.lanes
{{ units.views(unit, f16.all() | int, subgroups * unit.m * strip, subgroups) }}
  let group = wid.x + wid.y * p.{{ groups }};
  let depth = group / (p.{{ tiles[0] }} * p.{{ tiles[1] }});
  if (depth >= p.{{ depth }}) {
    return;
  }
// workgroups next to each other share columns of {{ band }} tile rows, so that both sides stay in the cache
  let place = group % (p.{{ tiles[0] }} * p.{{ tiles[1] }});
  let band = place / (p.{{ tiles[0] }} * {{ band }}u) * {{ band }}u;
  let inside = place % (p.{{ tiles[0] }} * {{ band }}u);
  let high = min(p.{{ tiles[1] }} - band, {{ band }}u);
  let column0 = inside / high * {{ sides[1][1].extent }}u;
  let row0 = (band + inside % high) * {{ sides[0][1].extent }}u;
  let down = subgroup / {{ abreast }}u * {{ down }}u;
  let right = subgroup % {{ abreast }}u * {{ across }}u;
{{ tile.batch_and_part(parts, batch, summed) }}
//% for s, g in sides
{{ f16.begin_converted(s, g, "row0" if loop.first else "column0", converted[loop.index0]) }} //% if converted
{{ staging.begin(s, g, "row0" if loop.first else "column0", "begin") }} //% else
{{ f16.begin_direct(s, g, walked[loop.index0]) if direct[loop.index0] }} //% same
  let {{ s.name }}_shift = i32({{ scales[loop.index0] }}[0]); //% if scales
  {{ "let %s_scale = bitcast<f32>(u32(%s_shift + 127) << 23u);" % (s.name, s.name) if not converted }} //% same
//% endfor
{{ units.result(unit, "acc%d_%d" % (i, j)) }} //% for i, j in product(range(down // unit.m), range(across // unit.n))
  let unshift = -(a_shift + b_shift); //% if scales
  let half_shift = unshift / 2; //% same
  let unscale_left = bitcast<f32>(u32(half_shift + 127) << 23u); //% same
  let unscale_right = bitcast<f32>(u32(unshift - half_shift + 127) << 23u); //% same
{{ registers() }} //% if prefetch
{{ fetched() }} //% same
  for (var k0 = begin; k0 < end; k0 += {{ step }}u) { //% same
    workgroupBarrier();
{{ staged() }}
// while these are multiplied the next tile is on its way
    if (k0 + {{ step }}u < end) {
{{ fetched() }}
    }
{{ multiplied() }}
  }
  for (var k0 = begin; k0 < end; k0 += {{ step * turns }}u) { //% else
    { //% for part in range(turns)
{{ registers() }}
    workgroupBarrier();
{{ fetched() }}
{{ staged() }}
{{ multiplied() }}
    }
  }
{{ ix.unravel("batch", batch.coords, batch.sizes[1:]) }}
//% for i, j in product(range(down // unit.m), range(0, across, strip))
  workgroupBarrier();
{{ units.store(unit, "acc%d_%d" % (i, (j + f) // unit.n), "subgroup * %du + %du" % (unit.m * strip, f), strip) }} //% for f in range(0, strip, unit.n)
  workgroupBarrier();
  for (var e = lane * {{ out_width }}u; e < {{ unit.m * strip }}u; e += {{ unit.lanes * out_width }}u) {
{{ tile.own_four("row", "row0 + down + %du + e / %du" % (i * unit.m, strip), rows, 0, 1) }}
{{ tile.own_four("column", "column0 + right + %du + e %% %du" % (j, strip), columns, 0, 1) }}
    if ((row_0 < p.{{ rows.total }}) & (column_0 < p.{{ columns.total }})) {
      let at = subgroup * {{ unit.m * strip }}u + e;
      let sum = {{ units.sums(unit, "at", out_width) }}{{ " * unscale_left * unscale_right" if scales }};
      let start = {{ tile.row_start(parts, batch, out_places, 0) }} + {{ index_of(out_places[2], "_0") }};
//% set y = wgsl(out_dtype, out_width).store(tile.result(finish, "sum", rows, columns, 0, 0))
      out[{{ "start / 4u" if out_width == 4 else "start" }}] = {{ y }};
    }
  }
//% endfor
//% endblock
