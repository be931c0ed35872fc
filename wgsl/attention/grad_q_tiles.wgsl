//# attention/grad_q_rows.wgsl for GPUs, tiled as attention/tiles.wgsl.
//% extends "launch.wgsl"
//% import "attention/_tiles.wgsl" as tiles
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_load.wgsl" as rows
//% block shared
{{ tiles.memory(t) }}
//% endblock
//% block work
//% set T, quads = wgsl(dtypes[0], 4), t.tx * t.wide
//% set side = {"width": d, "exact": d % (t.step // 4) == 0, "T": T}
//% set q = dict(side, buffer="in0", base="head * p.queries", first="row0", limit="p.queries", rows=t.height, plain=true)
//% set k = dict(q, buffer="in1", base="kv * p.keys", first="first", limit="p.keys", rows=t.width, plain=false)
//% set g = dict(q, buffer="in3", width=e, exact=e % (t.step // 4) == 0)
//% set v = dict(k, buffer="in2", width=e, exact=g.exact)
//% set along = dict(k, quads=quads, exact=d == quads)
  // the block of queries of this workgroup
  let head = {{ "group % p.lines" if o.causal else "group / p.blocks" }};
  let block = {{ "p.blocks - 1u - group / p.lines" if o.causal else "group % p.blocks" }};
  let kv = head / p.group;
{{ tiles.places(t, "block") }}
{{ scoring.begin(o) }}
{{ scoring.bias_head(o) }}
  var o{{ r }}_{{ i }} = vec4<f32>(0); //% for r, i in product(range(t.rows), range(t.wide))
//% for h in range(t.rows // 4)
  let query{{ h }} = vec4<u32>(row0 + 4u * (ty + {{ h * t.ty }}u)) + vec4<u32>(0u, 1u, 2u, 3u);
  let row{{ h }}{{ c }} = (head * p.queries + min(query{{ h }}.{{ c }}, p.queries - 1u)) * 3u; //% for c in "xyzw"
  let top{{ h }} = 1.4426950408889634 * vec4<f32>({% for c in "xyzw" %}{{ ", " if c != "x" }}in4[row{{ h }}{{ c }}]{% endfor %});
  let total{{ h }} = 1.4426950408889634 * vec4<f32>({% for c in "xyzw" %}{{ ", " if c != "x" }}in4[row{{ h }}{{ c }} + 1u]{% endfor %});
  let delta{{ h }} = vec4<f32>({% for c in "xyzw" %}{{ ", " if c != "x" }}in4[row{{ h }}{{ c }} + 2u]{% endfor %});
//% endfor
  let end = {{ "min(p.keys, row0 + %du)" % t.height if o.causal else "p.keys" }};
  let seen = {{ "min(p.keys, row0 + 1u)" if o.causal else "p.keys" }};
  // one tile of keys after another
  for (var first = 0u; first < end; first += {{ t.width }}u) {
    var s{{ h }}_{{ j }} = vec4<f32>(0); //% for h, j in product(range(t.rows // 4), range(t.cols))
    var z{{ h }}_{{ j }} = -delta{{ h }}; //% same
    // scores: queries times keys
{{ tiles.dots("s", q, k, t) }}
{{ scoring.scores(t, o, slope=true) }}
    // gradients of the weights: those of the result times values
{{ tiles.dots("z", g, v, t) }}
//% for h, j in product(range(t.rows // 4), range(t.cols))
    z{{ h }}_{{ j }} *= exp2(min(s{{ h }}_{{ j }} - top{{ h }}, vec4<f32>(0)) - total{{ h }}){{ " * c%d_%d" % (h, j) if o.softcap }};
//% endfor
    // add gradients of the scores times keys
{{ tiles.sums("o", "z", along, t) }}
  }
  // write the gradient of the queries
  if ({{ of_four("query", r) }} < p.queries) { //% for r in range(t.rows)
    let place = (head * p.queries + {{ of_four("query", r) }}) * {{ d }}u + tx;
{{ rows.store_row("out", "place", "o%d" % r, " * p.scale", t.wide, d, t, T) }}
  }
//% endblock
