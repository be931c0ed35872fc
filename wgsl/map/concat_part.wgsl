//# One of several tensors as its columns of the result's rows, four neighbours a thread where all sizes allow.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  // its place in the result
  let x = {{ "values_at(i * 4u)" if out_width == 4 else "value_at(i)" }};
  out[i / p.width * p.whole + p.before + i % p.width] = {{ Out.store("x") }};
//% endblock
