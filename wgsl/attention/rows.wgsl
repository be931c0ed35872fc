//# Attention without its scores in memory: a thread a query row, online softmax over blocks of keys (Dao et al., 2022).
//# Row-major q [heads, queries, d], k [kv heads, keys, d], v [kv heads, keys, e]; out [heads, queries, e]; out1 [heads,
//# queries, 2] is the row's norm, which the gradients need.
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
  let row = block * {{ workgroup[0] }}u + lid.x;
  let query = min(row, p.queries - 1u);
  let kv = head / p.group;
{{ scoring.bias_head(o) }}
{{ scoring.begin(o) }}
  let q{{ c }} = in0[(head * p.queries + query) * {{ d }}u + {{ c }}u] * p.scale; //% for c in range(d)
  var o{{ c }} = vec4<f32>(0); //% for c in range(e)
  var top = -3.4028234e38;
  var total = 0.0;
  let end = {{ "min(p.keys, (block + 1u) * %du + begin)" % workgroup[0] if o.causal else "p.keys" }};
  // one tile of keys after another
  for (var first = 0u; first < end; first += {{ tile }}u) {
    workgroupBarrier(); //% if staged
{{ at.stage("keys", "in1", d, tile, workgroup[0]) }} //% same
{{ at.stage("values", "in2", e, tile, workgroup[0]) }} //% same
    workgroupBarrier(); //% same
    {{ at.turns(tile, unroll, staged) }}
    // scores: the query times keys
{{ at.score(t, d, staged, o) }} //% for t in range(unroll)
    // online softmax: the largest score so far, and what was summed is scaled to it
      var peak = top;
      peak = max(peak, s{{ t }}); //% for t in range(unroll)
      let fade = exp(top - peak);
      top = peak;
      total *= fade;
      o{{ c }} *= fade; //% for c in range(e)
//% for t in range(unroll)
      let w{{ t }} = select(0.0, exp(s{{ t }} - top), ok{{ t }});
      total += w{{ t }};
      o{{ c }} = fma(vec4<f32>(w{{ t }}), {{ at.cell("values" if staged else "in2", t, e, c) }}, o{{ c }}); //% for c in range(e)
//% endfor
    }
  }
  // divide by the sum of the weights, and write
  if (row < p.queries) {
    let row_at = (head * p.queries + row) * {{ e }}u;
    let share = select(0.0, 1.0 / total, total > 0.0);
{{ at.store("o", e, " * share") }}
{{ scoring.norm("head * p.queries + row", "top", "total", "total <= 0.0") }}
  }
//% endblock
