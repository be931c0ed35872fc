//# The sum of the pieces of products, and the bias.
//% extends "launch.wgsl"
//% block work
  let i = group * {{ workgroup[0] }}u + lid.x;
  if (i < p.size) {
    var sum = in0[i];
    for (var part = 1u; part < p.parts; part++) {
      sum += in0[part * p.size + i];
    }
    out[i] = sum{{ " + " + wgsl(dtypes[1], 1).load("in1", "i % p.n", 1) if dtypes | length > 1 }};
  }
//% endblock
