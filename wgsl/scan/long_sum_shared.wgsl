//# Sums so far of [outer, n] over n in 64 bits, two words each: a workgroup a piece of a row, 1024 elements at a time.
//# `carried`: the sums of all pieces were made before, and the pieces before a piece are added up first.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block shared
// two halves that take turns, so that each round of the tree needs one barrier
var<workgroup> sums: array<vec2<u32>, 512>;
//% endblock
//% block work
//% set add = wgsl("u32", 1).call("long_sum")
  // the piece of this workgroup
  let t = lid.x;
  let piece = group % p.pieces;
  let row = group / p.pieces;
  let first = row * p.n;
  let end = min((piece + 1u) * p.piece, p.n);
  var sum = vec2<u32>(0u);
  for (var k = 0u; k < piece; k++) { //% if carried
    sum = {{ add }}(sum, in0[row * p.pieces + k]);
  }
  // 1024 elements at a time, four a thread
  for (var base = piece * p.piece; base < end; base += 1024u) {
    let i0 = base + t * 4u;
    var run = vec2<u32>(0u);
    if (i0 + {{ j }}u < end) { //% for j in range(4)
      let at = first + i0 + {{ j }}u;
      run = {{ add }}(run, {{ long.element("at", True, narrow) }});
    }
    let run{{ j }} = run; //% same
    // sum over the threads, in rounds of a tree
    sums[t] = run;
    workgroupBarrier();
//% for round in range(8)
//% set reach, from = 2 ** round, 256 * (round % 2)
    let before{{ round }} = sums[{{ from }}u + max(t, {{ reach }}u) - {{ reach }}u];
    run = select(run, {{ add }}(before{{ round }}, run), t >= {{ reach }}u);
    sums[{{ 256 - from }}u + t] = run;
    workgroupBarrier();
//% endfor
    // join the elements before this thread, and write
    let left = sums[max(t, 1u) - 1u];
    let lead = select(sum, {{ add }}(sum, left), t > 0u);
    if (i0 + {{ j }}u < end) { //% for j in range(4)
      out[first + i0 + {{ j }}u] = {{ add }}(lead, run{{ j }});
    }
    sum = {{ add }}(sum, sums[255]);
    workgroupBarrier();
  }
//% endblock
