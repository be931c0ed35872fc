//# Sums or extremes of [outer, n, inner] over n in 64 bits, two words each: a thread a piece of a row, or (shared) a workgroup.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block shared
//% if shared
var<workgroup> sums: array<vec2<u32>, 256>;
//% endif
//% endblock
//% block work
//% set add = wgsl("u32", 1).call(join)
//# a piece by a thread: four reads under way at once, then one at a time
//% macro going_on_by(turns)
  for (; i + {{ turns - 1 }}u < end; i += {{ turns }}u) {
//% for j in range(turns)
    let at{{ j }} = first + (i + {{ j }}u) * p.inner;
    let x{{ j }} = {{ long.element("at%d" % j, functions, narrow) }};
//% endfor
//% for j in range(turns)
    sum = {{ add }}(sum, x{{ j }});
//% endfor
  }
//% endmacro
//% if shared
  let piece = group % p.pieces;
  let row = group / p.pieces;
  let first = row * p.n;
  let from_ = piece * p.piece;
  let end = min(from_ + p.piece, p.n);
  var sum = vec2<u32>({{ start[0] }}u, {{ start[1] }}u);
  for (var i = from_ + lid.x; i < end; i += 256u) {
    let at = first + i;
    sum = {{ add }}(sum, {{ long.element("at", functions, narrow) }});
  }
  sums[lid.x] = sum;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (lid.x < half) {
      sums[lid.x] = {{ add }}(sums[lid.x], sums[lid.x + half]);
    }
    workgroupBarrier();
  }
  if (lid.x == 0u) {
    out[group] = sums[0];
  }
//% else
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
  let first = row * p.n * p.inner + column;
  let end = min((piece + 1u) * p.piece, p.n);
  var sum = vec2<u32>({{ start[0] }}u, {{ start[1] }}u);
  var i = piece * p.piece;
{{ going_on_by(4) }}
{{ going_on_by(1) }}
  out[id] = sum;
//% endif
//% endblock
