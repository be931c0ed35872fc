//# attention/rows.wgsl for GPUs: a workgroup holds a tile of scores and a tile of the result in its threads' registers.
//% extends "launch.wgsl"
//% import "attention/_tiles.wgsl" as tiles
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_load.wgsl" as rows
//% block shared
{{ tiles.memory(t) }}
//% endblock
//% block work
//% set q = {"buffer": "in0", "base": "head * p.queries", "first": "row0", "limit": "p.queries", "rows": t.height, "plain": true,
    "width": d, "exact": d % (t.step // 4) == 0, "T": wgsl(dtypes[0], 4)}
//% set k = dict(q, buffer="in1", base="kv * p.keys", first="first", limit="p.keys", rows=t.width, plain=false)
//% set v = dict(k, buffer="in2", width=e, quads=t.tx * t.wide, exact=e == t.tx * t.wide)
  // the head of this workgroup, and its block of queries
  let head = {{ "group % p.lines" if o.causal else "group / p.blocks" }};
  let block = {{ "p.blocks - 1u - group / p.lines" if o.causal else "group % p.blocks" }};
  let kv = head / p.group;
{{ tiles.places(t, "block") }}
{{ scoring.bias_head(o) }}
{{ scoring.begin(o) }}
  var o{{ r }}_{{ i }} = vec4<f32>(0); //% for r, i in product(range(t.rows), range(t.wide))
  var top{{ h }} = vec4<f32>({{ scoring.BOTTOM }}); //% for h in range(t.rows // 4)
  var total{{ h }} = vec4<f32>(0); //% same
  let query{{ h }} = vec4<u32>(row0 + 4u * (ty + {{ h * t.ty }}u)) + vec4<u32>(0u, 1u, 2u, 3u); //% same
  let end = {{ "min(p.keys, row0 + %du + begin)" % t.height if o.causal else "p.keys" }};
  let seen = {{ "min(p.keys, row0 + 1u + begin)" if o.causal else "p.keys" }};
{{ tiles.start_dots(q, dict(k, first="0u"), t) }} //% if t.ahead == 2
  // one tile of keys after another
  for (var first = 0u; first < end; first += {{ t.width }}u) {
    var s{{ h }}_{{ j }} = vec4<f32>(0); //% for h, j in product(range(t.rows // 4), range(t.cols))
    // scores: queries times keys
{{ tiles.dots("s", q, k, t, t.ahead == 2) }}
{{ tiles.start_sums(v, t) }} //% if t.ahead == 2
{{ scoring.scores(t, o) }}
    // online softmax: the largest score so far, and what was summed is scaled to it
//% for h in range(t.rows // 4)
    var peak{{ h }} = s{{ h }}_0;
    peak{{ h }} = max(peak{{ h }}, s{{ h }}_{{ j }}); //% for j in range(1, t.cols)
//% endfor
{{ tiles.share("peak", t) }}
//% for h in range(t.rows // 4)
    peak{{ h }} = max(peak{{ h }}, left[{{ x }}][ty + {{ h * t.ty }}u]); //% for x in range(t.tx)
    peak{{ h }} = max(peak{{ h }}, top{{ h }});
    let fade{{ h }} = exp2(top{{ h }} - peak{{ h }});
    top{{ h }} = peak{{ h }};
    total{{ h }} *= fade{{ h }};
    s{{ h }}_{{ j }} = exp2(s{{ h }}_{{ j }} - top{{ h }}); //% for j in range(t.cols)
    total{{ h }} += s{{ h }}_{{ j }}; //% same
//% endfor
    o{{ r }}_{{ i }} *= {{ of_four("fade", r) }}; //% for r, i in product(range(t.rows), range(t.wide))
    // add weights times values
{{ tiles.sums("o", "s", v, t, t.ahead == 2) }}
  }
  // divide by the sum of the weights, and write
{{ tiles.share("total", t) }}
//% for h in range(t.rows // 4)
  var whole{{ h }} = left[0][ty + {{ h * t.ty }}u];
  whole{{ h }} += left[{{ x }}][ty + {{ h * t.ty }}u]; //% for x in range(1, t.tx)
  let share{{ h }} = select(1.0 / whole{{ h }}, vec4<f32>(0), whole{{ h }} < vec4<f32>(0.5));
  let best{{ h }} = top{{ h }} * 0.6931471805599453;
//% endfor
  if ({{ of_four("query", r) }} < p.queries) { //% for r in range(t.rows)
    if (tx == 0u) {
{{ scoring.norm("head * p.queries + " ~ of_four("query", r), of_four("best", r), of_four("whole", r), of_four("whole", r) ~ " < 0.5") }}
    }
    let place = (head * p.queries + {{ of_four("query", r) }}) * {{ e }}u + tx;
{{ rows.store_row("out", "place", "o%d" % r, " * " ~ of_four("share", r), t.wide, e, t, q.T) }}
  }
//% endblock
