//# How often each number occurs: sums of integers, whose order does not matter. A workgroup counts its part of the
//# elements in its own memory, where the counters fit there, and adds what it found.
//% extends "launch.wgsl"
//% block shared
var<workgroup> counters: array<atomic<u32>, {{ cells }}>; //% if cells
//% endblock
//% block work
//% set each = 4 if fours else 1
  for (var k = lid.x; k < p.bins; k += {{ workgroup[0] }}u) { //% if cells
    atomicStore(&counters[k], 0u);
  }
  workgroupBarrier(); //% if cells
  let begin = group * p.part;
  let end = min(begin + p.part, p.n);
  for (var i = begin + lid.x * {{ each }}u; i < end; i += {{ workgroup[0] * each }}u) {
    let x = {{ "bitcast<vec4<u32>>(values_at(i))" if fours else "vec4<u32>(u32(value_at(i)))" }};
    if (x.{{ "xyzw"[j] }} < p.bins) { //% for j in range(each)
      {{ "atomicAdd(&counters[x.%s], 1u)" % "xyzw"[j] if cells else "atomicAdd(&out[x.%s], 1)" % "xyzw"[j] }};
    }
  }
  workgroupBarrier(); //% if cells
  for (var k = lid.x; k < p.bins; k += {{ workgroup[0] }}u) { //% if cells
    let found = atomicLoad(&counters[k]);
    if (found > 0u) {
      atomicAdd(&out[k], i32(found));
    }
  }
//% endblock
