//# How often each number occurs in a part of the elements: sums of integers, whose order does not matter.
//% extends "whole.wgsl"
//% block shared
var<workgroup> counters: array<atomic<u32>, {{ cells }}>;
//% endblock
//% block work
  for (var k = lid.x; k < p.bins; k += 256u) {
    atomicStore(&counters[k], 0u);
  }
  workgroupBarrier();
  let begin = group * p.part;
  let end = min(begin + p.part, p.n);
  for (var i = begin + lid.x; i < end; i += 256u) {
    let x = u32(value_at(i));
    if (x < p.bins) {
      atomicAdd(&counters[x], 1u);
    }
  }
  workgroupBarrier();
  for (var k = lid.x; k < p.bins; k += 256u) {
    out[group * p.bins + k] = i32(atomicLoad(&counters[k]));
  }
//% endblock
