//# The gradient of attention by its keys (`of` = "key") or values: a thread a key row, over all queries of its heads.
//# Inputs as in attention/grad_q_rows.wgsl.
//% extends "launch.wgsl"
//% import "attention/_rows.wgsl" as at
//% import "attention/_scores.wgsl" as scoring
//% block shared
var<workgroup> queries: array<vec4<f32>, {{ tile * d }}>; //% if staged
var<workgroup> slopes: array<vec4<f32>, {{ tile * e }}>; //% if staged
//% endblock
//% block work
//% set wanted = d if of == "key" else e
  // the key of this thread
  let kv = group / p.blocks;
  let block = group % p.blocks;
{{ scoring.begin(o) }}
  let row = block * {{ workgroup[0] }}u + lid.x;
  let key = min(row, p.keys - 1u);
  let place = kv * p.keys + key;
  let k{{ c }} = in1[place * {{ d }}u + {{ c }}u]; //% for c in range(d)
  let v{{ c }} = in2[place * {{ e }}u + {{ c }}u]; //% for c in range(e if of == "key" else 0)
  var y{{ c }} = vec4<f32>(0); //% for c in range(wanted)
  let start = {{ "block * %du / %du * %du" % (workgroup[0], tile, tile) if o.causal else "0u" }};
  // all queries of its heads
  for (var head = kv * p.group; head < (kv + 1u) * p.group; head += 1u) {
{{ scoring.bias_head(o) }}
    for (var first = start; first < p.queries; first += {{ tile }}u) {
      workgroupBarrier(); //% if staged
{{ at.stage("queries", "in0", d, tile, workgroup[0], "queries", "head") }} //% same
{{ at.stage("slopes", "in3", e, tile, workgroup[0], "queries", "head") }} //% same
      workgroupBarrier(); //% same
      // one tile of queries after another
      {{ at.turns(tile, unroll, staged) }}
//% for t in range(unroll)
        let query{{ t }} = min(first + j + {{ t }}u, p.queries - 1u);
{{ at.row(t, staged, "queries", "head") }}
        var a{{ t }} = k0 * {{ at.cell("queries" if staged else "in0", t, d, 0) }};
        a{{ t }} = fma(k{{ c }}, {{ at.cell("queries" if staged else "in0", t, d, c) }}, a{{ t }}); //% for c in range(1, d)
        a{{ t }} *= p.scale;
{{ at.finish(t, "a%d" % t, "key", "query%d" % t, o) }}
        ok{{ t }} = ok{{ t }} & (first + j + {{ t }}u < p.queries);
        let side{{ t }} = (head * p.queries + query{{ t }}) * 3u;
        let top{{ t }} = in4[side{{ t }}];
        let total{{ t }} = in4[side{{ t }} + 1u];
//% if of == "key"
        let delta{{ t }} = in4[side{{ t }} + 2u];
        var h{{ t }} = v0 * {{ at.cell("slopes" if staged else "in3", t, e, 0) }};
        h{{ t }} = fma(v{{ c }}, {{ at.cell("slopes" if staged else "in3", t, e, c) }}, h{{ t }}); //% for c in range(1, e)
{{ at.slope(t, o, "top%d" % t, "total%d" % t, "delta%d" % t) }}
//% else
        let z{{ t }} = {{ at.weight(t, "top%d" % t, "total%d" % t) }};
//% endif
        y{{ c }} = fma(vec4<f32>(z{{ t }}), {{ at.cell(("queries" if of == "key" else "slopes") if staged //% for c in range(wanted)
            else ("in0" if of == "key" else "in3"), t, wanted, c) }}, y{{ c }}); //% same
//% endfor
      }
    }
  }
  // write the gradient of the key or value
  if (row < p.keys) {
    let row_at = place * {{ wanted }}u;
{{ at.store("y", wanted, " * p.scale" if of == "key" else "") }}
  }
//% endblock
