//# Sums so far of [outer, n, inner] over n in 64 bits, two words each: a thread a piece of a row, or (shared) a workgroup.
//# `carried`: the sums of all pieces were made before, and the pieces before a piece are added up first.
//% extends "launch.wgsl"
//% import "lib/long.wgsl" as long
//% block shared
//% if shared
//# two halves that take turns, so that each round of the tree needs one barrier
var<workgroup> sums: array<vec2<u32>, 512>;
//% endif
//% endblock
//% block work
//% set add = wgsl("u32", 1).call("long_sum")
//# a piece by a thread: four reads under way at once, then one at a time
//% macro going_on_by(turns)
  for (; i + {{ turns - 1 }}u < end; i += {{ turns }}u) {
//% for j in range(turns)
    let at{{ j }} = first + (i + {{ j }}u) * p.inner;
    let x{{ j }} = {{ long.element("at%d" % j, True, narrow) }};
//% endfor
//% for j in range(turns)
    sum = {{ add }}(sum, x{{ j }});
    out[at{{ j }}] = sum;
//% endfor
  }
//% endmacro
//% if shared
  let t = lid.x;
  let column = 0u;
  let piece = group % p.pieces;
  let row = group / p.pieces;
//% else
  let id = group * {{ workgroup[0] }}u + lid.x;
  if (id >= p.threads) {
    return;
  }
  let column = id % p.inner;
  let piece = (id / p.inner) % p.pieces;
  let row = id / (p.inner * p.pieces);
//% endif
//% set inner = "1u" if shared else "p.inner"
  let first = row * p.n * {{ inner }} + column;
  let end = min((piece + 1u) * p.piece, p.n);
  var sum = vec2<u32>(0u);
//% if carried
  for (var k = 0u; k < piece; k++) {
    sum = {{ add }}(sum, in0[(row * p.pieces + k) * {{ inner }} + column]);
  }
//% endif
//% if shared
  for (var base = piece * p.piece; base < end; base += 1024u) {
    let i0 = base + t * 4u;
    var run = vec2<u32>(0u);
//% for j in range(4)
    if (i0 + {{ j }}u < end) {
      let at = first + i0 + {{ j }}u;
      run = {{ add }}(run, {{ long.element("at", True, narrow) }});
    }
    let run{{ j }} = run;
//% endfor
    sums[t] = run;
    workgroupBarrier();
//% for round in range(8)
//% set reach = 2 ** round
//% set from = 256 * (round % 2)
    let before{{ round }} = sums[{{ from }}u + max(t, {{ reach }}u) - {{ reach }}u];
    run = select(run, {{ add }}(before{{ round }}, run), t >= {{ reach }}u);
    sums[{{ 256 - from }}u + t] = run;
    workgroupBarrier();
//% endfor
    let left = sums[max(t, 1u) - 1u];
    let lead = select(sum, {{ add }}(sum, left), t > 0u);
//% for j in range(4)
    if (i0 + {{ j }}u < end) {
      out[first + i0 + {{ j }}u] = {{ add }}(lead, run{{ j }});
    }
//% endfor
    sum = {{ add }}(sum, sums[255]);
    workgroupBarrier();
  }
//% else
  var i = piece * p.piece;
{{ going_on_by(4) }}
{{ going_on_by(1) }}
//% endif
//% endblock
