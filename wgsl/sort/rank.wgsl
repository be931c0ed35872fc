//# Places of a row's elements in order, by counting what comes before each: 16 lanes an element, 256 keys at a time.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block shared
var<workgroup> keys: array<u32, 256>;
var<workgroup> counts: array<u32, 256>;
//% endblock
//% block work
  let row = group / p.pieces;
  let base = row * p.n;
  let i = group % p.pieces * 16u + (lid.x >> 4u);
  let lane = lid.x & 15u;
  var own = 0u;
  if (i < p.n) {
    own = {{ sorting.key(T, "value_at(base + i)", descending) }};
  }
  var before = 0u;
  for (var first = 0u; first < p.n; first += 256u) {
    if (first + lid.x < p.n) {
      keys[lid.x] = {{ sorting.key(T, "value_at(base + first + lid.x)", descending) }};
    }
    workgroupBarrier();
    let at{{ j }} = {{ j * 16 }}u + lane; //% for j in range(16)
    let k{{ j }} = first + at{{ j }}; //% same
    let key{{ j }} = keys[at{{ j }}]; //% same
    before += u32((k{{ j }} < p.n) & ((key{{ j }} < own) | ((key{{ j }} == own) & (k{{ j }} < i)))); //% same
    workgroupBarrier();
  }
  counts[lid.x] = before;
  workgroupBarrier();
  if ((lane == 0u) & (i < p.n)) {
    var rank = 0u;
    for (var k = 0u; k < 16u; k++) {
      rank += counts[lid.x + k];
    }
    out[base + rank] = i32(i);
  }
//% endblock
