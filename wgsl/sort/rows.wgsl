//# Rows sorted in workgroup memory by digits of four bits, a workgroup a row: a thread has neighbours of the row in
//# registers, counts their digits, and all exchange them for the next digit.
//% extends "launch.wgsl"
//% import "sort/_radix.wgsl" as sorting
//# a word of padding every 32 words: threads that are `each` words apart meet few banks twice
{% macro cell(at) %}cells[{{ at }} + ({{ at }} >> 5u)]{% endmacro %}
//% block shared
var<workgroup> cells: array<u32, {{ cells }}>;
var<workgroup> sums: array<u32, 512>;
var<workgroup> totals: array<u32, 8>;
var<workgroup> starts: array<u32, 16>;

fn half_of(word: u32, digit: u32) -> u32 {
  return (word >> ((digit & 1u) * 16u)) & 0xffffu;
}
//% endblock
//% block work
//% set T = wgsl(dtype, 1)
  let t = lid.x;
  let base = group * p.n;
  let own = t * {{ each }}u;
// neighbouring threads read neighbours; places past the end are the last of all keys
//% for j in range(each)
  let i{{ j }} = t + {{ j * 256 }}u;
  var read{{ j }} = 0xffffffffu;
  if (i{{ j }} < p.n) {
    read{{ j }} = {{ sorting.key(T, "value_at(base + i%d)" % j, descending) }};
  }
  {{ cell("i%d" % j) }} = read{{ j }};
//% endfor
  workgroupBarrier();
//% for j in range(each)
  let own{{ j }} = own + {{ j }}u;
  var key{{ j }} = {{ cell("own%d" % j) }};
  var place{{ j }} = own{{ j }};
//% endfor
  for (var shift = 0u; shift < p.bits; shift += 4u) {
    var low = vec4<u32>(0u);
    var high = vec4<u32>(0u);
//% for j in range(each)
    let d{{ j }} = (key{{ j }} >> shift) & 15u;
    let one{{ j }} = {{ sorting.mark("d%d" % j) }};
    let now{{ j }} = select(high, low, d{{ j }} < 8u) * min(one{{ j }}, vec4<u32>(1u));
    let rank{{ j }} = half_of(now{{ j }}.x + now{{ j }}.y + now{{ j }}.z + now{{ j }}.w, d{{ j }});
    low += select(vec4<u32>(0u), one{{ j }}, d{{ j }} < 8u);
    high += select(one{{ j }}, vec4<u32>(0u), d{{ j }} < 8u);
//% endfor
    workgroupBarrier();
// what all threads before this one counted: eight words a thread, then the 32 threads of a word
    cells[t + (t >> 5u) + {{ f * 264 }}u] = {{ "low" if f < 4 else "high" }}.{{ "xyzw"[f % 4] }}; //% for f in range(8)
    workgroupBarrier();
    var sum = 0u;
//% for k in range(8)
    let before{{ k }} = sum;
    sum += cells[t * 8u + (t >> 2u) + {{ k }}u];
//% endfor
    let counted = sum;
//% for r in range(5)
    sums[t + {{ r % 2 * 256 }}u] = sum;
    workgroupBarrier();
    sum += select(0u, sums[max(t, {{ 2 ** r }}u) - {{ 2 ** r }}u + {{ r % 2 * 256 }}u], (t & 31u) >= {{ 2 ** r }}u);
//% endfor
    cells[t * 8u + (t >> 2u) + {{ k }}u] = sum - counted + before{{ k }}; //% for k in range(8)
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
    let to{{ j }} = starts[d{{ j }}] + half_of(cells[(d{{ j }} >> 1u) * 264u + t + (t >> 5u)], d{{ j }}) + rank{{ j }}; //% for j in range(each)
    workgroupBarrier();
    {{ cell("to%d" % j) }} = key{{ j }}; //% for j in range(each)
    workgroupBarrier();
    key{{ j }} = {{ cell("own%d" % j) }}; //% for j in range(each)
    workgroupBarrier();
    {{ cell("to%d" % j) }} = place{{ j }}; //% for j in range(each)
    workgroupBarrier();
    place{{ j }} = {{ cell("own%d" % j) }}; //% for j in range(each)
  }
// the last exchange left the places in order
//% for j in range(each)
  if (i{{ j }} < p.n) {
    out[base + i{{ j }}] = i32({{ cell("i%d" % j) }});
  }
//% endfor
//% endblock
