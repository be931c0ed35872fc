//# Products of a few vectors with rows of 8- or 4-bit weights: 32 threads side by side read neighbouring words of
//# four rows, so that what they read of the vectors lies side by side too; several words are on their way at once.
//# Neighbouring words meet neighbouring parts of the vectors.
//% extends "launch.wgsl"
//% import "quantized/_unpack.wgsl" as weights
//% block shared
var<workgroup> sums: array<vec4<f32>, {{ vectors * lanes * lines }}>;
//% endblock
//% block work
//% set X, S, B, per = wgsl(dtypes[0], 4), wgsl(dtypes[2], 1), wgsl(dtypes[3], 1) if biased else none, 32 // bits
  // the rows and vectors of this thread
  let lane = lid.x % {{ lanes }}u;
  let row = ((group % p.lines) * {{ lines }}u + lid.x / {{ lanes }}u) * 4u;
  let first = (group / p.lines) * {{ vectors }}u;
  let row{{ r }} = min(row + {{ r }}u, p.n - 1u); //% for r in range(4)
  let from{{ v }} = min(first + {{ v }}u, p.m - 1u) * p.words * {{ per }}u; //% for v in range(vectors)
  var acc{{ v }} = vec4<f32>(); //% same
  // a word of weights at a time
  for (var j = lane; j < p.words; j += {{ lanes * ahead }}u) {
//% for u in range(ahead)
    let ok{{ u }} = j + {{ u * lanes }}u < p.words;
    let at{{ u }} = select(0u, j + {{ u * lanes }}u, ok{{ u }});
    let word{{ u }}_{{ r }} = in1[row{{ r }} * p.words + at{{ u }}]; //% for r in range(4)
    let scale{{ u }}_{{ r }} = {{ S.load("in2", "row%d * p.blocks + at%d / p.each" % (r, u), 1) }}; //% for r in range(4)
//% endfor
    { //% for u in range(ahead)
      let scales = select(vec4<f32>(), vec4<f32>({% for r in range(4) %}scale{{ u }}_{{ r }}, {% endfor %}), ok{{ u }});
      var part{{ v }} = vec4<f32>(); //% for v in range(vectors)
//% for e in range(per // 4)
      let w{{ e }}_{{ r }} = {{ weights.four("word%d_%d" % (u, r), e * 16, bits) }}; //% for r in range(4)
      let x{{ e }}_{{ v }} = {{ X.load("in0", "from%d + at%d * %du + %du" % (v, u, per, 4 * e), 4) }}; //% for v in range(vectors)
      part{{ v }} += vec4<f32>({% for r in range(4) %}dot(w{{ e }}_{{ r }}, x{{ e }}_{{ v }}), {% endfor %}); //% same
//% endfor
      acc{{ v }} = fma(part{{ v }}, scales, acc{{ v }}); //% for v in range(vectors)
    }
  }
  // join the threads of a row, and write
{{ weights.joined(vectors, lanes, lines) }}
{{ weights.written(vectors, B) }}
//% endblock
