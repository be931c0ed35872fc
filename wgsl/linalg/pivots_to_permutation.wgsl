//# Pivots (from 1, int32) [swaps] -> the order of rows [rows] that their swaps make: a thread a matrix.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.count) {
    return;
  }
  let base = i * p.rows;
  for (var r = 0u; r < p.rows; r++) {
    out[base + r] = i32(r);
  }
  for (var k = 0u; k < p.swaps; k++) {
    let row = base + u32(clamp(in0[i * p.swaps + k] - 1, 0, i32(p.rows) - 1));
    let here = out[base + k];
    out[base + k] = out[row];
    out[row] = here;
  }
//% endblock
