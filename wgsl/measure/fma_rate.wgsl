//# The rate of multiply-adds: sums that stay in registers, four times a turn of the loop.
//% extends "kernel.wgsl"
//% block body
  let i = wid.x * {{ workgroup[0] }}u + lid.x;
  let x = f32(i) * p.b;
  var s{{ j }} = vec4<f32>(x + {{ j }}.0, x, p.a, p.b); //% for j in range(sums)
  for (var r = 0u; r < p.rounds; r++) {
    s{{ j }} = s{{ j }} * p.a + p.b; //% for _, j in product(range(4), range(sums))
  }
  out[i] = {% for j in range(sums) %}s{{ j }}{{ " + " if not loop.last }}{% endfor %};
//% endblock
