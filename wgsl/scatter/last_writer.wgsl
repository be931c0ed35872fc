//# Which source is the last to name each place: a maximum, so that the order of threads does not matter.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) {
    atomicMax(&out[u32(value_at(i))], i32(i));
  }
//% endblock
