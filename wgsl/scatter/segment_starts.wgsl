//# Where the run of each row begins among sorted destinations: found by halving.
//% extends "launch.wgsl"
//% block work
  let row = group * {{ workgroup[0] }}u + lid.x;
  if (row > p.rows) {
    return;
  }
  var low = 0u;
  var left = p.count;
  while (left > 0u) {
    let half = left / 2u;
    let before = u32(in0[low + half]) < row;
    low = select(low, low + half + 1u, before);
    left = select(half, left - half - 1u, before);
  }
  out[row] = low;
//% endblock
