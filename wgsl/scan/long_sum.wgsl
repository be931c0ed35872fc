//# Sums so far of [outer, n, inner] over n in 64 bits, two words each: a thread a piece of a row.
//# `carried`: the sums of all pieces were made before, and the pieces before a piece are added up first.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block work
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
  let first = row * p.n * p.inner + column;
  let end = min((piece + 1u) * p.piece, p.n);
  var sum = vec2<u32>(0u);
  for (var k = 0u; k < piece; k++) { //% if carried
    sum = {{ wgsl("u32", 1).call("long_sum") }}(sum, in0[(row * p.pieces + k) * p.inner + column]);
  }
  var i = piece * p.piece;
  for (; i + {{ turns - 1 }}u < end; i += {{ turns }}u) { //% for turns in (4, 1)
    let at{{ j }} = first + (i + {{ j }}u) * p.inner; //% for j in range(turns)
    let x{{ j }} = {{ long.element("at%d" % j, True, narrow) }}; //% same
    sum = {{ wgsl("u32", 1).call("long_sum") }}(sum, x{{ j }}); //% for j in range(turns)
    out[at{{ j }}] = sum; //% same
  }
//% endblock
