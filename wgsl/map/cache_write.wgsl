//# Rows written into a longer table at a place that is on the device; `only` where the rest of it is there already. Cells are
//# elements, or four of them.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
//% if only
  let begin = u32(max(in1[0], 0));
  if (i < p.size) {
    let row = i / p.width % p.rows;
    if ((begin < p.length) & (row < p.length - min(begin, p.length))) {
      out[(i / p.width / p.rows * p.length + begin + row) * p.width + i % p.width] = in0[i];
    }
  }
//% else
  let begin = u32(max(in2[0], 0));
  if (i < p.size) {
    let row = i / p.width % p.length - begin;
    if (row < p.rows) {
      out[i] = in1[(i / p.width / p.length * p.rows + row) * p.width + i % p.width];
    } else {
      out[i] = in0[i];
    }
  }
//% endif
//% endblock
