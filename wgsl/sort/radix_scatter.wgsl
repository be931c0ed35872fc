//# Elements moved to where their digits' counts say, a workgroup a piece of a row, 2048 at a time and in order.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//% block shared
var<workgroup> cells: array<u32, 2112>;
var<workgroup> sums: array<u32, 256>;
var<workgroup> totals: array<u32, 8>;
var<workgroup> starts: array<u32, 16>;
var<workgroup> bases: array<u32, 16>;

fn half_of(word: u32, digit: u32) -> u32 {
  return (word >> ((digit & 1u) * 16u)) & 0xffffu;
}
//% endblock
//% block work
//% set table = "in0" if first else "in1"
  let t = lid.x;
  let row = group / p.pieces;
  let piece = group % p.pieces;
  let begin = min(piece * p.piece, p.n);
  let end = min(begin + p.piece, p.n);
  if (t < 16u) {
    bases[t] = row * p.n + {{ sorting.begin_of("t", "row", "piece", table) }};
  }
  for (var base = begin; base < end; base += 2048u) {
// count the digits of eight neighbours; those past the end count as the last digit, after all others
    var low = vec4<u32>(0u);
    var high = vec4<u32>(0u);
//% for j in range(8)
    let i{{ j }} = base + t * 8u + {{ j }}u;
    var it{{ j }} = vec2<u32>(0xffffffffu);
    if (i{{ j }} < end) {
      let at = row * p.n + i{{ j }};
      it{{ j }} = {{ sorting.pair(T, "at", "i%d" % j, descending, first) }};
    }
    let d{{ j }} = select(15u, (it{{ j }}.x >> p.shift) & 15u, i{{ j }} < end);
    let one{{ j }} = {{ sorting.mark("d%d" % j) }};
    let now{{ j }} = select(high, low, d{{ j }} < 8u) * min(one{{ j }}, vec4<u32>(1u));
    let rank{{ j }} = half_of(now{{ j }}.x + now{{ j }}.y + now{{ j }}.z + now{{ j }}.w, d{{ j }});
    low += select(vec4<u32>(0u), one{{ j }}, d{{ j }} < 8u);
    high += select(one{{ j }}, vec4<u32>(0u), d{{ j }} < 8u);
//% endfor
// what all threads before this one counted: eight words a thread, then the 32 threads of a word
    cells[t + (t >> 5u) + {{ f * 264 }}u] = {{ "low" if f < 4 else "high" }}.{{ "xyzw"[f % 4] }}; //% for f in range(8)
    workgroupBarrier();
    var sum = 0u;
    let before{{ k }} = sum; //% for k in range(8)
    sum += cells[t * 8u + (t >> 2u) + {{ k }}u]; //% same
    sums[t] = sum;
    workgroupBarrier();
    let own = sum;
    for (var reach = 1u; reach < 32u; reach *= 2u) {
      sum += select(0u, sums[max(t, reach) - reach], (t & 31u) >= reach);
      workgroupBarrier();
      sums[t] = sum;
      workgroupBarrier();
    }
    cells[t * 8u + (t >> 2u) + {{ k }}u] = sum - own + before{{ k }}; //% for k in range(8)
    if ((t & 31u) == 31u) {
      totals[t >> 5u] = sum;
    }
    workgroupBarrier();
    if (t < 16u) {
      var start = 0u;
      for (var d = 0u; d < t; d++) {
        start += half_of(totals[d >> 1u], d);
      }
      starts[t] = start;
    }
    workgroupBarrier();
    let to{{ j }} = starts[d{{ j }}] + half_of(cells[(d{{ j }} >> 1u) * 264u + t + (t >> 5u)], d{{ j }}) + rank{{ j }}; //% for j in range(8)
    workgroupBarrier();
// sorted here first, so that neighbours are written side by side
    cells[to{{ j }}] = it{{ j }}.x; //% for j in range(8)
    workgroupBarrier();
    let key{{ j }} = cells[t + {{ j * 256 }}u]; //% for j in range(8)
    let digit{{ j }} = (key{{ j }} >> p.shift) & 15u; //% same
    let at{{ j }} = bases[digit{{ j }}] + t + {{ j * 256 }}u - starts[digit{{ j }}]; //% same
    workgroupBarrier();
    cells[to{{ j }}] = it{{ j }}.y; //% for j in range(8)
    workgroupBarrier();
    if (t + {{ j * 256 }}u < end - base) { //% for j in range(8)
      let place = cells[t + {{ j * 256 }}u];
      out[at{{ j }}] = {{ "i32(place)" if last else "vec2<u32>(key%d, place)" % j }};
    }
    workgroupBarrier();
    if (t < 16u) {
      bases[t] += half_of(totals[t >> 1u], t);
    }
  }
//% endblock
