//# Attention of few rows to many keys: a workgroup takes a piece of the keys of one head and all rows that attend to them (the
//# queries of a group), so that keys and values are read once. out: each row's sums over each piece, [rows, pieces, e]; out1:
//# the largest score and the sum of weights, [rows, pieces, 2]. attention/split_keys_join.wgsl makes the result (flash decoding).
//# whole: one workgroup takes all keys, and makes the result itself; out1 is then as in attention/rows.wgsl.
//% extends "launch.wgsl"
//% import "attention/_scores.wgsl" as scoring
//% import "attention/_load.wgsl" as rows
//% block shared
var<workgroup> parts: array<array<f32, {{ f.keys * f.lanes }}>, {{ f.rows }}>;
var<workgroup> weights: array<array<f32, {{ f.keys }}>, {{ f.rows }}>;
var<workgroup> peaks: array<array<f32, 8>, {{ f.rows }}>;
var<workgroup> sums: array<vec4<f32>, {{ f.threads }}>;
//% endblock
//% block work
//% set T, each = wgsl(dtypes[0], 4), (d + f.lanes - 1) // f.lanes
//% set at_once, deep = f.threads // f.lanes, f.threads // f.across
//# values are read with the keys, so that both are under way together, where a thread's are few
//% set early, value_row = ahead if ahead <= 16 else 0, "(kv * p.keys + min(first + %s, p.keys - 1u))"
  // the piece of keys of this workgroup
  let kv = group{{ " / p.pieces" if not whole }};
  if (kv >= p.lines) {
    return;
  }
  let piece = group % p.pieces; //% if not whole
  let lane = lid.x % {{ f.lanes }}u;
  let beside = lid.x / {{ f.lanes }}u;
  let column = lid.x % {{ f.across }}u;
  let below = lid.x / {{ f.across }}u;
{{ scoring.begin(o, "kv * p.group") }}
//% set all_keys = "p.keys" if whole else "min((piece + 1u) * p.length, p.keys)"
  let end = {{ "min(%s, p.queries + begin)" % all_keys if o.causal else all_keys }};
  // the queries
//% for r in range(f.rows)
//% for c in range(each)
  let q{{ r }}_{{ c }} = {{ rows.some(T, "in0", "(kv * p.rows + min(%du, p.rows - 1u))" % r, d, "lane + %du" % (c * f.lanes),
      (c + 1) * f.lanes > d) }};
//% endfor
  var o{{ r }} = vec4<f32>(0);
  var top{{ r }} = {{ scoring.BOTTOM }};
  var total{{ r }} = 0.0;
//% endfor
  for (var first = {{ "0u" if whole else "piece * p.length" }}; first < end; first += {{ f.keys }}u) {
    // products of queries and keys
    let v{{ j }} = {{ rows.some(T, "in2", value_row % ("below + %du" % (j * deep)), e, "column", f.across > e) }}; //% for j in range(early)
    { //% for i in range(f.keys // at_once)
      let row = kv * p.keys + min(first + beside + {{ i * at_once }}u, p.keys - 1u);
      let k{{ c }} = {{ rows.some(T, "in1", "row", d, "lane + %du" % (c * f.lanes), (c + 1) * f.lanes > d) }}; //% for c in range(each)
//% for r in range(f.rows)
      var a{{ r }} = q{{ r }}_0 * k0;
      a{{ r }} = fma(q{{ r }}_{{ c }}, k{{ c }}, a{{ r }}); //% for c in range(1, each)
      parts[{{ r }}][lid.x + {{ i * f.threads }}u] = a{{ r }}.x + a{{ r }}.y + a{{ r }}.z + a{{ r }}.w;
//% endfor
    }
    workgroupBarrier();
    // scores
    for (var i = lid.x; i < {{ f.keys * f.rows }}u; i += {{ f.threads }}u) {
      let r = i / {{ f.keys }}u;
      let k = i % {{ f.keys }}u;
      var s = 0.0;
      s += parts[r][k * {{ f.lanes }}u + {{ l }}u]; //% for l in range(f.lanes)
{{ scoring.one_score(o) }}
      weights[r][k] = s;
    }
    workgroupBarrier();
    // online softmax: the largest score so far, and what was summed is scaled to it
//% set turn = "for (var i = lid.x; i < %du; i += %du)" % (8 * f.rows, f.threads)
//% set turns, at = 8 * f.rows > f.threads, "i" if 8 * f.rows > f.threads else "lid.x"
    {{ turn if turns else "if (lid.x < %du)" % (8 * f.rows) }} {
      var peak = weights[{{ at }} / 8u][{{ at }} % 8u];
      peak = max(peak, weights[{{ at }} / 8u][{{ at }} % 8u + {{ k }}u]); //% for k in range(8, f.keys, 8)
      peaks[{{ at }} / 8u][{{ at }} % 8u] = peak;
    }
    workgroupBarrier();
//% for r in range(f.rows)
    var peak{{ r }} = top{{ r }};
    peak{{ r }} = max(peak{{ r }}, peaks[{{ r }}][{{ k }}]); //% for k in range(8)
    let fade{{ r }} = exp2(top{{ r }} - peak{{ r }});
    top{{ r }} = peak{{ r }};
    total{{ r }} *= fade{{ r }};
    o{{ r }} *= fade{{ r }};
//% endfor
    // add weights times values
//% for j in range(early or 1)
{{ "{ let k = below + %du;" % (j * deep) if early else "for (var k = below; k < %du; k += %du) {" % (f.keys, deep) }}
      let value = {{ "v%d" % j if early else rows.some(T, "in2", value_row % "k", e, "column", f.across > e) }};
//% for r in range(f.rows)
      let w{{ r }} = exp2(weights[{{ r }}][k] - top{{ r }}); //% if deep <= f.keys
      let w{{ r }} = select(0.0, exp2(weights[{{ r }}][min(k, {{ f.keys - 1 }}u)] - top{{ r }}), k < {{ f.keys }}u); //% else
      total{{ r }} += w{{ r }};
      o{{ r }} = fma(vec4<f32>(w{{ r }}), value, o{{ r }});
//% endfor
    }
//% endfor
  }
  // join the threads, and write
//% for r in range(f.rows)
  workgroupBarrier();
  sums[lid.x] = o{{ r }};
  parts[0][lid.x] = total{{ r }};
  workgroupBarrier();
  if ((lid.x < {{ e }}u) & ({{ r }}u < p.rows)) {
    var y = sums[lid.x];
    var total = parts[0][0];
    for (var i = 1u; i < {{ deep }}u; i += 1u) {
      y += sums[lid.x + i * {{ f.across }}u];
      total += parts[0][i * {{ f.across }}u];
    }
//% if whole
    let row = kv * p.rows + {{ r }}u;
    let empty = total < 0.5;
    let mean = y * select(1.0 / total, 0.0, empty);
    out[row * {{ e }}u + lid.x] = {{ wgsl(out_dtype, 4).store("mean") }};
    if (lid.x == 0u) {
{{ scoring.norm("row", "top%d * 0.6931471805599453" % r, "total", "empty") }}
    }
//% else
    let at = (kv * p.rows + {{ r }}u) * p.pieces + piece;
    out[at * {{ e }}u + lid.x] = y;
    if (lid.x == 0u) {
      out1[at * 2u] = top{{ r }};
      out1[at * 2u + 1u] = total;
    }
//% endif
  }
//% endfor
//% endblock
