//# The order that sorts a few keys: each thread counts the keys before its own, and writes its place there.
//% extends "whole.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.count) {
    return;
  }
  let key = in0[i];
  var before = 0u;
  for (var k = 0u; k < p.count; k++) {
    before += u32(in0[k] < key) + u32((in0[k] == key) & (k < i));
  }
  out[before] = i32(i);
//% endblock
