//# Elements put at places that name each of a row once.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i >= p.size) {
    return;
  }
  let x = value_at(i);
  out[i - i % p.n + u32(in0[i])] = {{ T.store("x") }};
//% endblock
