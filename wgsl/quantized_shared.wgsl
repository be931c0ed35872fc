//# Products of one or a few vectors with rows of 8- or 4-bit weights: a workgroup brings the next part of the vectors
//# into its memory in the order in which its lanes need it, while each thread's next cells of four rows are under way.
//% extends "whole.wgsl"
//% import "weights.wgsl" as weights
//% block shared
//# first of the vectors, lanes 33 apart, then of the sums
var<workgroup> sums: array<vec4<f32>, {{ vectors * [ahead * 32 // bits * 33, lanes * lines] | max }}>;
//% endblock
//% block work
//% set X, S, per = wgsl(dtypes[0], 4), wgsl(dtypes[2], 1), 128 // bits
//% set fours, threads = per // 4, lanes * lines
  let lane = lid.x % {{ lanes }}u;
  let row = ((group % p.lines) * {{ lines }}u + lid.x / {{ lanes }}u) * 4u;
  let first = (group / p.lines) * {{ vectors }}u;
//% for r in range(4)
  let row{{ r }} = min(row + {{ r }}u, p.n - 1u);
//% endfor
//% for v in range(vectors)
  let from{{ v }} = min(first + {{ v }}u, p.m - 1u) * p.chunks * {{ per }}u;
  var acc{{ v }} = vec4<f32>();
//% endfor
  for (var chunk = 0u; chunk < p.chunks; chunk += {{ lanes * ahead }}u) {
//% for u in range(ahead)
    let ok{{ u }} = chunk + lane + {{ u * lanes }}u < p.chunks;
    let at{{ u }} = select(0u, chunk + lane + {{ u * lanes }}u, ok{{ u }});
//% for r in range(4)
    let cell{{ u }}_{{ r }} = in1[row{{ r }} * p.chunks + at{{ u }}];
//% endfor
//% for r in range(4)
    let scale{{ u }}_{{ r }} = {{ S.load("in2", "row%d * p.blocks + at%d / %du" % (r, u, each), 1) }};
//% endfor
//% endfor
    let left = (p.chunks - chunk) * {{ fours }}u;
//% for i in range(ahead * lanes * fours // threads)
    let four{{ i }} = lid.x + {{ i * threads }}u;
    let inside{{ i }} = four{{ i }} < left;
    let place{{ i }} = chunk * {{ per }}u + select(0u, four{{ i }}, inside{{ i }}) * 4u;
//% for v in range(vectors)
    let x{{ i }}_{{ v }} = select(vec4<f32>(), {{ X.load("in0", "from%d + place%d" % (v, i), 4) }}, inside{{ i }});
//% endfor
//% endfor
    workgroupBarrier();
//% for i in range(ahead * lanes * fours // threads)
    let lies{{ i }} = (four{{ i }} / {{ lanes * fours }}u * {{ fours }}u + four{{ i }} % {{ fours }}u) * 33u + four{{ i }} / {{ fours }}u % {{ lanes }}u;
//% for v in range(vectors)
    sums[lies{{ i }} + {{ v * ahead * fours * 33 }}u] = x{{ i }}_{{ v }};
//% endfor
//% endfor
    workgroupBarrier();
//% for u in range(ahead)
    {
      let scales = select(vec4<f32>(), vec4<f32>({% for r in range(4) %}scale{{ u }}_{{ r }}, {% endfor %}), ok{{ u }});
//% for v in range(vectors)
      var part{{ v }} = vec4<f32>();
//% endfor
//% for e in range(fours)
//% for r in range(4)
      let w{{ e }}_{{ r }} = {{ weights.unpacked("cell%d_%d" % (u, r), e, bits) }};
//% endfor
//% for v in range(vectors)
      let y{{ e }}_{{ v }} = sums[lane + {{ ((v * ahead + u) * fours + e) * 33 }}u];
      part{{ v }} += vec4<f32>({% for r in range(4) %}dot(w{{ e }}_{{ r }}, y{{ e }}_{{ v }}), {% endfor %});
//% endfor
//% endfor
//% for v in range(vectors)
      acc{{ v }} = fma(part{{ v }}, scales, acc{{ v }});
//% endfor
    }
//% endfor
  }
  workgroupBarrier();
{{ weights.joined(vectors, lanes, lines) }}
//% set B = wgsl(dtypes[3], 1) if dtypes | length > 3 else none
{{ weights.written(vectors, B) }}
//% endblock
