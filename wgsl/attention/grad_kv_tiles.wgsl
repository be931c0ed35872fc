//# attention/grad_kv_rows.wgsl for GPUs, tiled as attention/tiles.wgsl: a workgroup has rows of keys, and their gradients by key and
//# by value in one pass over the queries; the rows of a tile of scores are keys. With `stored`, the gradients of the scores go
//# out too, zero where they are masked: lines of whole vec4s of keys, one for each query.
//% extends "launch.wgsl"
//% import "attention/_tiles.wgsl" as tiles
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_load.wgsl" as rows
//% block shared
{{ tiles.memory(t) }}
//% endblock
//% block work
//% set T = wgsl(dtypes[0], 4)
//% set side = {"width": d, "exact": d % (t.step // 4) == 0, "T": T}
//% set k = dict(side, buffer="in1", base="kv * p.keys", first="row0", limit="p.keys", rows=t.height, plain=true)
//% set q = dict(k, buffer="in0", base="head * p.queries", first="first", limit="p.queries", rows=t.width, plain=false)
//% set v = dict(k, buffer="in2", width=e, exact=e % (t.step // 4) == 0)
//% set g = dict(q, buffer="in3", width=e, exact=v.exact)
//% set along_g = dict(g, quads=t.tx * t.wide, exact=e == t.tx * t.wide)
//% set along_q = dict(q, quads=t.tx * t.deep, exact=d == t.tx * t.deep)
  let kv = {{ "group % p.lines" if o.causal else "group / p.blocks" }};
  let block = {{ "group / p.lines" if o.causal else "group % p.blocks" }};
{{ tiles.places(t, "block") }}
{{ scoring.begin(o) }}
//% for r in range(t.rows)
  var x{{ r }}_{{ i }} = vec4<f32>(0); //% for i in range(t.deep)
  var y{{ r }}_{{ i }} = vec4<f32>(0); //% for i in range(t.wide)
//% endfor
  let key{{ h }} = vec4<u32>(row0 + 4u * (ty + {{ h * t.ty }}u)) + vec4<u32>(0u, 1u, 2u, 3u); //% for h in range(t.rows // 4)
  let start = {{ "row0 / %du * %du" % (t.width, t.width) if o.causal else "0u" }};
  let quads = (p.keys + 3u) / 4u; //% if stored
  for (var head = kv * p.group; head < (kv + 1u) * p.group; head += 1u) {
{{ scoring.bias_head(o) }}
  for (var query = tx; query < start; query += {{ t.tx }}u) { //% if stored and o.causal
    if (key{{ h }}.x < p.keys) { //% for h in range(t.rows // 4)
      out2[(head * p.queries + query) * quads + key{{ h }}.x / 4u] = vec4<f32>(0);
    }
  }
  for (var first = start; first < p.queries; first += {{ t.width }}u) {
    let seen = {{ "select(0u, p.queries, first >= row0 + %du)" % t.height if o.causal else "p.queries" }};
//% for j in range(t.cols)
    let side{{ j }} = (head * p.queries + min(first + tx + {{ j * t.tx }}u, p.queries - 1u)) * 3u;
    let top{{ j }} = in4[side{{ j }}] * 1.4426950408889634;
    let total{{ j }} = in4[side{{ j }} + 1u] * 1.4426950408889634;
    let delta{{ j }} = in4[side{{ j }} + 2u];
    var s{{ h }}_{{ j }} = vec4<f32>(0); //% for h in range(t.rows // 4)
    var z{{ h }}_{{ j }} = vec4<f32>(-delta{{ j }}); //% same
//% endfor
{{ tiles.dots("s", k, q, t) }}
{{ scoring.scores(t, o, "key", true) }}
//% for h, j in product(range(t.rows // 4), range(t.cols))
    s{{ h }}_{{ j }} = exp2(min(s{{ h }}_{{ j }} - top{{ j }}, vec4<f32>(0)) - total{{ j }});
//% endfor
{{ tiles.sums("y", "s", along_g, t) }}
{{ tiles.dots("z", v, g, t) }}
    z{{ h }}_{{ j }} *= s{{ h }}_{{ j }}{{ " * c%d_%d" % (h, j) if o.softcap }}; //% for h, j in product(range(t.rows // 4), range(t.cols))
    if (key{{ h }}.x < p.keys && column{{ j }} < p.queries) { //% for h, j in product(range(t.rows // 4 * stored), range(t.cols))
      out2[(head * p.queries + column{{ j }}) * quads + key{{ h }}.x / 4u] = select(vec4<f32>(0), z{{ h }}_{{ j }}, key{{ h }} < vec4<u32>(p.keys));
    }
{{ tiles.sums("x", "z", along_q, t) }}
  }
  }
  if ({{ of_four("key", r) }} < p.keys) { //% for r in range(t.rows)
    let row = kv * p.keys + {{ of_four("key", r) }};
{{ rows.store_row("out", "row * %du + tx" % d, "x%d" % r, " * p.scale", t.deep, d, t, T) }}
{{ rows.store_row("out1", "row * %du + tx" % e, "y%d" % r, "", t.wide, e, t, T) }}
  }
//% endblock
