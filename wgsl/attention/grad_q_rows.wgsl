//# The gradient of attention by its queries: a thread a query row; the scores are computed again (Dao et al., 2022).
//# in0 q, in1 k, in2 v, in3 the result's gradient [heads, queries, e], in4 [heads, queries, 3]: the row's norm, and the
//# sum of result * gradient.
//% extends "launch.wgsl"
//% import "attention/_rows.wgsl" as at
//% import "attention/_scores.wgsl" as scoring
//% block shared
var<workgroup> keys: array<vec4<f32>, {{ tile * d }}>; //% if staged
var<workgroup> values: array<vec4<f32>, {{ tile * e }}>; //% if staged
//% endblock
//% block work
  // the query of this thread
  let head = group / p.blocks;
  let block = group % p.blocks;
{{ scoring.begin(o) }}
  let row = block * {{ workgroup[0] }}u + lid.x;
  let query = min(row, p.queries - 1u);
  let kv = head / p.group;
{{ scoring.bias_head(o) }}
  let place = head * p.queries + query;
  // its norm, and the sum of result * gradient
  let top = in4[place * 3u];
  let total = in4[place * 3u + 1u];
  let delta = in4[place * 3u + 2u];
  let q{{ c }} = in0[place * {{ d }}u + {{ c }}u] * p.scale; //% for c in range(d)
  var y{{ c }} = vec4<f32>(0); //% same
  let g{{ c }} = in3[place * {{ e }}u + {{ c }}u]; //% for c in range(e)
  let end = {{ "min(p.keys, (block + 1u) * %du)" % workgroup[0] if o.causal else "p.keys" }};
  // one tile of keys after another
  for (var first = 0u; first < end; first += {{ tile }}u) {
    workgroupBarrier(); //% if staged
{{ at.stage("keys", "in1", d, tile, workgroup[0]) }} //% same
{{ at.stage("values", "in2", e, tile, workgroup[0]) }} //% same
    workgroupBarrier(); //% same
    {{ at.turns(tile, unroll, staged) }}
//% for t in range(unroll)
{{ at.score(t, d, staged, o) }}
      var h{{ t }} = g0 * {{ at.cell("values" if staged else "in2", t, e, 0) }};
      h{{ t }} = fma(g{{ c }}, {{ at.cell("values" if staged else "in2", t, e, c) }}, h{{ t }}); //% for c in range(1, e)
{{ at.slope(t, o) }}
      y{{ c }} = fma(vec4<f32>(z{{ t }}), {{ at.cell("keys" if staged else "in1", t, d, c) }}, y{{ c }}); //% for c in range(d)
//% endfor
    }
  }
  // write its gradient
  if (row < p.queries) {
    let row_at = place * {{ d }}u;
{{ at.store("y", d, " * p.scale") }}
  }
//% endblock
