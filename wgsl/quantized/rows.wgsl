//# Products of a few vectors with rows of 8- or 4-bit weights: a thread unpacks cells of four rows in registers.
//# A cell is a vec4 of words, 16 or 32 weights; it is multiplied by up to 8 vectors.
//% extends "launch.wgsl"
//% import "quantized/_unpack.wgsl" as weights
//% block work
//% set X, S, B, per = wgsl(dtypes[0], 4), wgsl(dtypes[2], 1), wgsl(dtypes[3], 1) if biased else none, 128 // bits
  let lane = 0u;
  let row = ((group % p.lines) * {{ workgroup[0] }}u + lid.x) * 4u;
  let first = (group / p.lines) * {{ vectors }}u;
  let row{{ r }} = min(row + {{ r }}u, p.n - 1u); //% for r in range(4)
  let from{{ v }} = min(first + {{ v }}u, p.m - 1u) * p.chunks * {{ per }}u; //% for v in range(vectors)
  var acc{{ v }} = vec4<f32>(); //% same
  for (var j = 0u; j < p.chunks; j++) {
    let block = j / p.each;
    let cell{{ r }} = in1[row{{ r }} * p.chunks + j]; //% for r in range(4)
    let scale{{ r }} = {{ S.load("in2", "row%d * p.blocks + block" % r, 1) }}; //% same
    var part{{ v }} = vec4<f32>(); //% for v in range(vectors)
//% for e in range(per // 4)
    let w{{ e }}_{{ r }} = {{ weights.unpacked("cell%d" % r, e, bits) }}; //% for r in range(4)
    let x{{ e }}_{{ v }} = {{ X.load("in0", "from%d + j * %du + %du" % (v, per, 4 * e), 4) }}; //% for v in range(vectors)
    part{{ v }} += vec4<f32>({% for r in range(4) %}dot(w{{ e }}_{{ r }}, x{{ e }}_{{ v }}), {% endfor %}); //% same
//% endfor
    acc{{ v }} += part{{ v }} * vec4<f32>({% for r in range(4) %}scale{{ r }}, {% endfor %}); //% for v in range(vectors)
  }
{{ weights.written(vectors, B) }}
//% endblock
