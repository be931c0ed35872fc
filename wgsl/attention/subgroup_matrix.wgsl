//# attention/tiles.wgsl on matrix units: each subgroup has u.rows queries as fragments, and each of its lanes a row of scores.
//# What a weight is relative to (`top`) moves only when a row's best score has grown far beyond it, since results lie in
//# fragments, which no lane can scale: that ends the inner loop, for then compilers move no fragments within it. Keys and
//# values are fetched to registers as a block begins, and staged when its scores are made.
//# Scores go by 16 keys to the subgroup's strip of workgroup memory, where a lane has a row, and the weights come
//# back over the same place as float16. `top` moves when a best has grown by 2^10. Rows 8 apart meet the same
//# banks, so their lanes read a row's pairs of columns in other orders. There are two barriers a block, and two
//# that ask whether a row grew.
//% extends "launch.wgsl"
//% import "attention/_subgroup_memory.wgsl" as on
//% import "attention/_subgroup_store.wgsl" as lines
//% import "attention/_subgroup_products.wgsl" as products
//% import "attention/_subgroup_softmax.wgsl" as by_row
//% import "attention/_scores.wgsl" as scoring
//% import "lib/subgroup_matrix.wgsl" as units
//% block enables
{{ on.enables(u) }}
//% endblock
//% block builtins
{{ units.builtins(u.unit) }}
//% endblock
//% block shared
{{ on.memory(u) }}
//% endblock
//# o<i>_<j> plus the weights by the values in memory; what is there before is first brought to the new `top`
{% macro values(far=false) -%}
    {
{{ products.weights(u) }}
//% if u.unit.kind != "plain"
//# nothing promises that a subgroup's lanes are in step: the strip's next use waits for these loads
    workgroupBarrier();
//% endif
{{ by_row.shrink(u, 4 * e) }} //% if far
{{ products.sums(u, 4 * e, u.values) }}
    }
    workgroupBarrier(); //% if u.unit.kind == "plain"
{%- endmacro %}
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
{{ units.result(u.unit, "o%d_%d" % (i, j)) }} //% for i, j in product(range(u.rows // u.unit.m), range(0, 4 * e, u.unit.n))
  var top = {{ scoring.BOTTOM }};
  var total = 0.0;
  var highest = top;
  let end = {{ "min(p.keys, row0 + %du + begin)" % u.height if o.causal else "p.keys" }};
  let seen = {{ "min(p.keys, row0 + 1u + begin)" if o.causal else "p.keys" }};
{{ on.declare(u, "k", d) }}
{{ on.declare(u, "v", e) }}
//% set of_v = "k" if d == e else "v"
{{ on.places(u, "k", d, "kv * p.keys", "0u", "p.keys") }}
{{ on.places(u, "v", e, "kv * p.keys", "0u", "p.keys") }} //% if d != e
//% set queries = {"name": "q", "buffer": "in0", "base": "head * p.queries", "limit": "p.queries", "width": 4 * d}
{{ on.bring(u, "k", "k", "in1", d) }}
{{ on.ask(u, queries) }}
{{ on.stage(u, "k", 0, d) }}
{{ on.hold(u, queries) }}
  workgroupBarrier();
  var fade = 1.0;
  var first = 0u;
  while (first < end) {
    loop {
{{ on.bring(u, "k", "k", "in1", d, u.keys) }}
{{ on.bring(u, "v", of_v, "in2", e) }}
{{ on.end(u, "v", of_v, e) }}
    {
{{ products.dots(u, 4 * d) }}
{{ products.keep(u) }}
    }
    workgroupBarrier();
    {
//# the scores before the stores of keys and values: compilers keep that order, and they are waited for
{{ by_row.read(u) }}
{{ on.stage(u, "k", 0, d) }}
{{ on.stage(u, "v", u.values, e) }}
{{ on.next(u, "k", d) }}
{{ on.next(u, "v", e) }} //% if d != e
{{ by_row.scores(u, o, scoring.MASKED) }}
      let best = {{ by_row.tree("max", 0, u.keys // 2) }};
      let peak = max(best.x, best.y);
      highest = max(highest, peak);
      fade = 1.0;
      if (peak > top + {{ u.growth }}) {
        if (total > 0.0) {
          grown.x = first + 1u;
          fade = exp2(top - peak);
          total *= fade;
        }
        top = peak;
      }
      s{{ c }} = exp2(s{{ c }} - top); //% for c in range(u.keys // 2)
{{ by_row.weights(u) }}
      let adds = {{ by_row.tree("+", 0, u.keys // 2) }};
      total += adds.x + adds.y;
    }
    if (workgroupUniformLoad(&grown).x == first + 1u) {
      break;
    }
{{ values() }}
    first += {{ u.keys }}u;
    if (first >= end) {
      break;
    }
    }
    if (first < end) {
{{ values(true) }}
      first += {{ u.keys }}u;
    }
  }
  let share = select(1.0 / total, 0.0, total < 0.5);
  if (query < p.queries) {
{{ scoring.norm("head * p.queries + query", "highest * 0.6931471805599453", "(total * exp2(top - highest))", "total < 0.5") }}
  }
//# shares lie behind the columns of their rows, which results pass through
  {{ "memory[own + %du] = bitcast<u32>(share)" % u.unit.n if u.unit.kind == "plain" else "sums[own + %du] = share" % u.unit.n }};
  workgroupBarrier();
//% for n in range(lines.steps(u) | int)
  let share{{ n }} = {{ units.sums(u.unit, "strip + (%s) * %du + %du" % (lines.row(u, n), u.pitch, u.unit.n), 1) }};
//% endfor
{{ products.through(u, j) }} //% for j in range(0, 4 * e, u.unit.n)
{{ lines.write(u, T, "head * p.queries", "p.queries", e, j, "share", true) }} //% same
//% endblock
