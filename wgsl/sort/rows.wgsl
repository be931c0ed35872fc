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
// sixteen counters of a byte each
    var counts = vec4<u32>(0u);
//% for j in range(each)
    let d{{ j }} = (key{{ j }} >> shift) & 15u;
    let byte{{ j }} = (d{{ j }} & 3u) * 8u;
    let of{{ j }} = vec4<u32>(d{{ j }} >> 2u) == vec4<u32>(0u, 1u, 2u, 3u);
    let rank{{ j }} = (select(select(counts.z, counts.w, of{{ j }}.w), select(counts.x, counts.y, of{{ j }}.y), d{{ j }} < 8u) >> byte{{ j }}) & 255u;
    counts += select(vec4<u32>(0u), vec4<u32>(1u << byte{{ j }}), of{{ j }});
//% endfor
    workgroupBarrier();
// what all threads before this one counted, two digits a word: eight words a thread, then the 32 threads of a word
//% for f in range(8)
//% set pair = "counts." ~ "xyzw"[f // 2] ~ (" >> 16u" if f % 2 else "")
    cells[t + (t >> 5u) + {{ f * 264 }}u] = (({{ pair }}) & 255u) | ((({{ pair }}) << 8u) & 0xff0000u);
//% endfor
    workgroupBarrier();
    var sum = 0u;
//% for k in range(8)
    let before{{ k }} = sum;
    sum += cells[t * 8u + (t >> 2u) + {{ k }}u];
//% endfor
    let counted = sum;
//% for reach, half in ((1, 0), (4, 256), (16, 0))
    sums[t + {{ half }}u] = sum;
    workgroupBarrier();
//% for far in (1, 2, 3) if far * reach < 32
    sum += select(0u, sums[max(t, {{ far * reach }}u) - {{ far * reach }}u + {{ half }}u], (t & 31u) >= {{ far * reach }}u);
//% endfor
//% endfor
    if ((t & 31u) == 31u) {
      totals[t >> 5u] = sum;
    }
    workgroupBarrier();
// where the digits of this thread's word begin
    var start = 0u;
//% for w in range(8)
    let total{{ w }} = totals[{{ w }}u];
    start += select(0u, (total{{ w }} & 0xffffu) + (total{{ w }} >> 16u), (t >> 5u) > {{ w }}u);
//% endfor
    let begins = start | ((start + (totals[t >> 5u] & 0xffffu)) << 16u);
    cells[t * 8u + (t >> 2u) + {{ k }}u] = begins + sum - counted + before{{ k }}; //% for k in range(8)
    workgroupBarrier();
    let to{{ j }} = half_of(cells[(d{{ j }} >> 1u) * 264u + t + (t >> 5u)], d{{ j }}) + rank{{ j }}; //% for j in range(each)
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
