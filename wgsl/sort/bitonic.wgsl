//# Short rows sorted in workgroup memory (Batcher's bitonic network, all steps upwards), several to a workgroup.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block shared
var<workgroup> keys: array<u32, {{ span }}>;
var<workgroup> places: array<u32, {{ span }}>;

fn order(a: u32, b: u32) {
  let x = keys[a];
  let y = keys[b];
  let i = places[a];
  let j = places[b];
  if ((y < x) | ((y == x) & (j < i))) {
    keys[a] = y;
    keys[b] = x;
    places[a] = j;
    places[b] = i;
  }
}
//% endblock
//% block work
//% set T, step = wgsl(dtype, 1), workgroup[0]
  let mask = p.wide - 1u;
  for (var e = lid.x; e < {{ span }}u; e += {{ step }}u) {
    let row = (group * {{ span }}u + e) / p.wide;
    let i = e & mask;
    keys[e] = 0xffffffffu;
    places[e] = i;
    if ((row < p.rows) & (i < p.n)) {
      let x = value_at(row * p.n + i);
      keys[e] = {{ sorting.key(T, "x", descending) }};
    }
  }
  workgroupBarrier();
  for (var k = 2u; k <= p.wide; k *= 2u) {
    let half = k / 2u;
    for (var c = lid.x; c < {{ span // 2 }}u; c += {{ step }}u) {
      let off = c & (half - 1u);
      let start = (c - off) * 2u;
      order(start + off, start + k - 1u - off);
    }
    workgroupBarrier();
    for (var j = half / 2u; j > 0u; j /= 2u) {
      for (var c = lid.x; c < {{ span // 2 }}u; c += {{ step }}u) {
        let off = c & (j - 1u);
        let start = (c - off) * 2u + off;
        order(start, start + j);
      }
      workgroupBarrier();
    }
  }
  for (var e = lid.x; e < {{ span }}u; e += {{ step }}u) {
    let row = (group * {{ span }}u + e) / p.wide;
    let i = e & mask;
    if ((row < p.rows) & (i < p.n)) {
      out[row * p.n + i] = i32(places[e]);
    }
  }
//% endblock
