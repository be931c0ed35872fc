//# y[t] = x[t] + factor[t] * y[t + 1] over the rows of a matrix, from the last row up: a thread for each column.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.columns) {
    var sum = 0.0;
    for (var t = p.rows; t > 0u; t--) {
      let at = (t - 1u) * p.columns + i;
      sum = in0[at] + in1[at] * sum;
      out[at] = sum;
    }
  }
//% endblock
