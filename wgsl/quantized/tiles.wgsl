//# Products of many vectors with rows of 8- or 4-bit weights: a workgroup unpacks 64 rows' next 32 weights into its
//# memory once for 64 vectors, over one piece of the rows. A thread turns 4 x 4 of each side, and makes 8 vectors x 4 rows of the result.
//% extends "launch.wgsl"
//% import "quantized/_unpack.wgsl" as weights
//% block shared
var<workgroup> xs: array<vec4<f32>, 512>;
var<workgroup> ws: array<vec4<f32>, 512>;
//% endblock
//% block work
//% set X, S = wgsl(dtypes[0], 4), wgsl(dtypes[2], 1)
  // the vectors and rows of this workgroup
  let top = (group % p.lines) * 64u;
  let first = (group / p.lines % p.columns) * 64u;
  let part = group / (p.lines * p.columns);
  if (part >= p.parts) {
    return;
  }
  // the words that this thread unpacks, and its place in the tile of results
  let own = (lid.x / 8u) * 4u;
  let along = (lid.x % 8u) * 4u;
  let tx = lid.x % 16u;
  let ty = lid.x / 16u;
  let k = p.words * {{ 32 // bits }}u;
  let x{{ j }} = min(first + own + {{ j }}u, p.m - 1u) * k + along; //% for j in range(4)
  let row{{ j }} = min(top + own + {{ j }}u, p.n - 1u); //% same
  var acc{{ v }} = vec4<f32>(); //% for v in range(8)
  // 32 weights of each row at a time
  for (var k0 = part * p.long; k0 < min(part * p.long + p.long, k); k0 += 32u) {
    workgroupBarrier();
    // unpack them, and load as much of the vectors
    {
      let block = k0 / p.block;
      let a{{ j }} = {{ X.load("in0", "x%d + k0" % j, 4) }}; //% for j in range(4)
      let word{{ j }} = in1[row{{ j }} * p.words + (k0 + along) / {{ 32 // bits }}u]{{ " >> ((along & 4u) * 4u)" if bits == 4 }}; //% same
      let scale{{ j }} = {{ S.load("in2", "row%d * p.blocks + block" % j, 1) }}; //% same
      let w{{ j }} = ({{ weights.four("word%d" % j, 0, bits) }}) * scale{{ j }}; //% same
      xs[(along + {{ loop.index0 }}u) * 16u + own / 4u] = vec4<f32>({% for j in range(4) %}a{{ j }}.{{ c }}, {% endfor %}); //% for c in "xyzw"
      ws[(along + {{ loop.index0 }}u) * 16u + own / 4u] = vec4<f32>({% for j in range(4) %}w{{ j }}.{{ c }}, {% endfor %}); //% same
    }
    workgroupBarrier();
    // multiply
    { //% for s in range(32)
      let u = xs[ty * 2u + {{ s * 16 }}u];
      let v = xs[ty * 2u + {{ s * 16 + 1 }}u];
      let w = ws[tx + {{ s * 16 }}u];
      acc{{ loop.index0 }} = fma(vec4<f32>(u.{{ c }}), w, acc{{ loop.index0 }}); //% for c in "xyzw"
      acc{{ loop.index0 + 4 }} = fma(vec4<f32>(v.{{ c }}), w, acc{{ loop.index0 + 4 }}); //% same
    }
  }
  // write 8 vectors x 4 rows a thread
  let row = top + tx * 4u;
  if (row + {{ r }}u < p.n) { //% for r in range(4)
//% set bias = " + " + wgsl(dtypes[3], 1).load("in3", "row + %du" % r, 1) if biased else ""
    if (first + ty * 8u + {{ v }}u < p.m) { //% for v in range(8)
      out[(part * p.m + first + ty * 8u + {{ v }}u) * p.n + row + {{ r }}u] = acc{{ v }}.{{ "xyzw"[r] }}{{ bias }};
    }
  }
//% endblock
