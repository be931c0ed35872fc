//# How often each of 16 digits occurs in a piece of a row, a workgroup a piece; counts are halves of words.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block shared
var<workgroup> counts: array<vec4<u32>, 512>;
//% endblock
//% block work
  let row = group / p.pieces;
  let piece = group % p.pieces;
  let begin = min(piece * p.piece, p.n);
  let end = min(begin + p.piece, p.n);
  var low = vec4<u32>(0u);
  var high = vec4<u32>(0u);
  for (var base = begin; base < end; base += 1024u) {
    let i{{ j }} = base + {{ j * 256 }}u + lid.x; //% for j in range(4)
    if (i{{ j }} < end) { //% same
      let at = row * p.n + i{{ j }};
      let it = {{ sorting.pair(T, "at", "i%d" % j, descending, first) }};
      let digit = (it.x >> p.shift) & 15u;
      let one = {{ sorting.mark("digit") }};
      low += select(vec4<u32>(0u), one, digit < 8u);
      high += select(one, vec4<u32>(0u), digit < 8u);
    }
  }
  counts[lid.x] = low;
  counts[lid.x + 256u] = high;
  workgroupBarrier();
  for (var half = 128u; half > 0u; half /= 2u) {
    if (lid.x < half) {
      counts[lid.x] += counts[lid.x + half];
      counts[lid.x + 256u] += counts[lid.x + 256u + half];
    }
    workgroupBarrier();
  }
  if (lid.x < 16u) {
    let words = counts[(lid.x >> 3u) * 256u];
    let word = words[(lid.x >> 1u) & 3u];
    out[(row * 16u + lid.x) * p.pieces + piece] = (word >> ((lid.x & 1u) * 16u)) & 0xffffu;
  }
//% endblock
