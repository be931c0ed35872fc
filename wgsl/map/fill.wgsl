//# A result filled with one number, which later launches go on with.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) {
    out[i] = {{ Out }}({{ value }});
  }
//% endblock
