//# Sums or extremes of [outer, n] over n in 64 bits, two words each: a workgroup a piece of a row.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block shared
var<workgroup> sums: array<vec2<u32>, 256>;
//% endblock
//% block work
//% set add = wgsl("u32", 1).call(join)
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
//% endblock
