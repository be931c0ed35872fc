//# attention_tiles.wgsl on matrix units: each subgroup has u.rows queries as fragments, and each of its lanes a row of scores.
//# What a weight is relative to (`top`) moves only when a row's best score has grown far beyond it, since results lie in
//# fragments, which no lane can scale. Keys and values are fetched to registers a block ahead; three barriers a block.
//% extends "whole.wgsl"
//% import "attend_units.wgsl" as on
//% import "attend_products.wgsl" as products
//% import "attend_units_rows.wgsl" as by_row
//% import "attend_scores.wgsl" as scoring
//% import "attend_rows.wgsl" as rows
//% import "units.wgsl" as units
//% block enables
{{ on.enables(u) }}
//% endblock
//% block builtins
{{ units.builtins(u.unit) }}
//% endblock
//% block shared
{{ on.memory(u) }}
//% endblock
//% block work
//% set T = wgsl(dtypes[0], 4)
  let head = {{ "group % p.lines" if o.causal else "group / p.blocks" }};
  let block = {{ "p.blocks - 1u - group / p.lines" if o.causal else "group % p.blocks" }};
  let kv = head / p.group;
  let row0 = block * {{ u.height }}u;
{{ on.views(u) }}
{{ scoring.bias_head(o) }}
{{ scoring.begin(o) }}
  let query = row0 + subgroup * {{ u.rows }}u + lane;
  let own = strip + lane * {{ u.pitch }}u;
//% for i in range(u.rows // u.unit.m)
//% for j in range(0, 4 * e, u.unit.n)
{{ units.result(u.unit, "o%d_%d" % (i, j)) }}
//% endfor
//% endfor
  var top = {{ scoring.BOTTOM }};
  var total = 0.0;
  let end = {{ "min(p.keys, row0 + %du + begin)" % u.height if o.causal else "p.keys" }};
  let seen = {{ "min(p.keys, row0 + 1u + begin)" if o.causal else "p.keys" }};
{{ on.declare(u, "k", d) }}
{{ on.declare(u, "v", e) }}
{{ on.fetch(u, "k", "in1", d, "0u") }}
{{ on.stage(u, "k", 0, d) }}
{{ on.fetch(u, "k", "in1", d, "%du" % u.keys) }}
{{ on.fetch(u, "v", "in2", e, "0u", zero=true) }}
{{ on.queries(u, 4 * d) }}
  for (var first = 0u; first < end; first += {{ u.keys }}u) {
//# the keys of this block are in memory; its values and the next keys are on their way
    {
{{ products.dots(u, 4 * d) }}
{{ products.keep(u) }}
    }
    workgroupBarrier();
{{ on.stage(u, "k", 0, d) }}
{{ on.stage(u, "v", u.values, e) }}
{{ on.fetch(u, "k", "in1", d, "first + %du" % (2 * u.keys)) }}
{{ on.fetch(u, "v", "in2", e, "first + %du" % u.keys, zero=true) }}
    var fade = 1.0;
    {
{{ by_row.scores(u, o, scoring.MASKED) }}
{{ by_row.peak(u) }}
      if (peak > top + {{ u.growth }}) {
        if (total > 0.0) {
          grown.x = first + 1u;
          fade = exp2(top - peak);
          total *= fade;
        }
        top = peak;
      }
//% for c in range(u.keys // 4)
      s{{ c }} = exp2(s{{ c }} - top);
//% endfor
      let adds = {% for c in range(u.keys // 4) %}{{ " + " if c }}s{{ c }}{% endfor %};
      total += adds.x + adds.y + adds.z + adds.w;
{{ by_row.weights(u) }}
    }
    let far = workgroupUniformLoad(&grown).x == first + 1u;
    {
{{ products.weights(u) }}
    if (far) {
{{ by_row.shrink(u, 4 * e) }}
    }
{{ products.sums(u, 4 * e, u.values) }}
    }
//% if u.unit.kind == "plain"
    workgroupBarrier();
//% endif
  }
  let share = select(1.0 / total, 0.0, total < 0.5);
  if (query < p.queries) {
    out1[head * p.queries + query] = select((top + log2(total)) * 0.6931471805599453, 3.4028234e38, total < 0.5);
  }
//% for j in range(0, 4 * e, u.unit.n)
{{ products.through(u, j) }}
  if (query < p.queries) {
    let place = (head * p.queries + query) * {{ e }}u + {{ j // 4 }}u;
//% for c in range(u.unit.n // 4)
{{ rows.store("out", "place + %du" % c, "%s * share" % units.sums(u.unit, "(own + %du)" % (4 * c), 4), T, "") }}
//% endfor
  }
//% endfor
//% endblock
