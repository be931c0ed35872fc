//# The weights of attention and the gradients of its scores, both stored, tiled as attention/grad_kv_tiles.wgsl: a workgroup has a
//# block of keys (the rows of its tile) and one of queries. Lines of whole vec4s of keys, one for each query; 0 where masked.
//% extends "launch.wgsl"
//% import "attention/_tiles.wgsl" as tiles
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_load.wgsl" as rows
//% block shared
{{ tiles.memory(t) }}
//% endblock
//% block work
//% set side = {"T": wgsl(dtypes[0], 4), "width": d, "exact": d % (t.step // 4) == 0}
//% set keys = dict(side, buffer="in1", base="kv * p.keys", first="row0", limit="p.keys", rows=t.height, plain=true)
  let head = group / (p.blocks * p.spans);
  let kv = head / p.group;
  let block = group / p.spans % p.blocks;
  let first = group % p.spans * {{ t.width }}u;
{{ tiles.places(t, "block") }}
{{ scoring.begin(o) }}
{{ scoring.bias_head(o) }}
  let quads = (p.keys + 3u) / 4u;
  let key{{ h }} = vec4<u32>(row0 + 4u * (ty + {{ h * t.ty }}u)) + vec4<u32>(0u, 1u, 2u, 3u); //% for h in range(t.rows // 4)
  let seen = {{ "select(0u, p.queries, first >= row0 + %du)" % t.height if o.causal else "p.queries" }};
  let side{{ j }} = (head * p.queries + min(first + tx + {{ j * t.tx }}u, p.queries - 1u)) * 3u; //% for j in range(t.cols)
  let top{{ j }} = in4[side{{ j }}] * 1.4426950408889634; //% for j in range(t.cols)
  let total{{ j }} = in4[side{{ j }} + 1u] * 1.4426950408889634; //% for j in range(t.cols)
  var s{{ h }}_{{ j }} = vec4<f32>(0); //% for h, j in product(range(t.rows // 4), range(t.cols))
  var z{{ h }}_{{ j }} = vec4<f32>(-in4[side{{ j }} + 2u]); //% for h, j in product(range(t.rows // 4), range(t.cols))
  if ({{ "first + %du > row0" % t.width if o.causal else "true" }}) {
{{ tiles.dots("s", keys,
  dict(side, buffer="in0", base="head * p.queries", first="first", limit="p.queries", rows=t.width, plain=false), t) }}
{{ tiles.dots("z", dict(keys, buffer="in2", width=e, exact=e % (t.step // 4) == 0),
  dict(side, buffer="in3", base="head * p.queries", first="first", limit="p.queries", rows=t.width, plain=false,
    width=e, exact=e % (t.step // 4) == 0), t) }}
  }
{{ scoring.scores(t, o, "key", true) }}
  if (key{{ h }}.x < p.keys && column{{ j }} < p.queries) { //% for h, j in product(range(t.rows // 4), range(t.cols))
    let at = (head * p.queries + column{{ j }}) * quads + key{{ h }}.x / 4u;
    let weight = exp2(min(s{{ h }}_{{ j }} - top{{ j }}, vec4<f32>(0)) - total{{ j }});
    let inside = key{{ h }} < vec4<u32>(p.keys);
    out[at] = select(vec4<f32>(0), z{{ h }}_{{ j }} * weight{{ " * c%d_%d" % (h, j) if o.softcap }}, inside);
    out1[at] = select(vec4<f32>(0), weight, inside);
  }
//% endblock
