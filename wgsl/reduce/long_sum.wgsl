//# Sums or extremes of [outer, n, inner] over n in 64 bits, two words each: a thread a piece of a row.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block work
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  // the piece of this thread
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
  let first = row * p.n * p.inner + column;
  let end = min((piece + 1u) * p.piece, p.n);
  var sum = vec2<u32>({{ start[0] }}u, {{ start[1] }}u);
  var i = piece * p.piece;
  // reduce it: four reads are under way at once
  for (; i + {{ turns - 1 }}u < end; i += {{ turns }}u) { //% for turns in (4, 1)
    let at{{ j }} = first + (i + {{ j }}u) * p.inner; //% for j in range(turns)
    let x{{ j }} = {{ long.element("at%d" % j, functions, narrow) }}; //% same
    sum = {{ wgsl("u32", 1).call(join) }}(sum, x{{ j }}); //% for j in range(turns)
  }
  // write the result
  out[id] = sum;
//% endblock
